//! Names of persons, and what reaches them.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::{ADDRESSES, PERSON_OR_NOT, SENDINGS, THINGS};
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Forms in which the same datum is kept; `e` is what is left of `phone_e164`.
const FORMS: List = "\
    address, addr, number, num, no, nr, numero, nummer, value, raw, normalized, lower, lowercase, \
    canonical, text, str, line, encrypted, enc, ciphertext, bidx, hash, hashed, digest, masked, plain, \
    original, primary, secondary, formatted, latin, kana, local, international, home, work, biz, cell, \
    mobile, office, contact, day, evening, other, direct, main, alt, ext, fax, phonetic, constraint, \
    partial, cipher, addresses, numbers, e";

/// Mail and telephone.
const CONTACTS: List = "\
    email, emails, e mail, emailaddress, useremail, phone, phones, telephone, phonenumber, msisdn, \
    mobile number, mobile no, mobilephone, cell number, cellphone, fax number, whatsapp, \
    contact number, contact no, contact mobile, correo, correo electronico, telefono, telefone, \
    celular, movil, telefon, telefonnummer, handynummer, mobilnummer, courriel, adresse mail, telefoon, \
    telefoonnummer, cellulare, numer telefonu, telephones, fone, telefonnr, handynr, emailadres, \
    email adresse, e mail adresse, emailid, phonecell, phonehome, phonework, reg mail";

/// Where a person lives or has things sent.
const HOMES: List = "\
    shipping address, billing address, delivery address, home address, current address, \
    permanent address, present address, residential address, address number, street address, \
    street name, street one, street two, address street, address line, addressline, mailing address, \
    postal address, ship to address, bill to address, street number, house number, apartment number, \
    hausnummer, hausnr, strasse, straße, strassenname, logradouro, straatnaam, huisnummer, \
    adres zamieszkania";

/// Logins of programs at other programs.
const PROGRAMS: List = "\
    smtp, imap, pop, ftp, sftp, ssh, db, database, sql, mysql, postgres, proxy, http, registry, mqtt, \
    ldap, redis, kafka, amqp, service, server, bot, repository, warehouse, host, gateway, connector";

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::DirectPii,
    FORMS,
    &[
        Rule { scope: Scope::NotOf(THINGS), phrases: CONTACTS },
        Rule { scope: Scope::NotOf(THINGS), phrases: HOMES },
        Rule { scope: Scope::Of(SENDINGS), phrases: "address, street" },
        // Who wrote a mail, and to whom.
        Rule {
            scope: Scope::Unless(
                "template, campaign, mailing, server, settings, setting, config, smtp, default",
            ),
            phrases: "\
                email from, email to, email cc, email bcc, to email, to emails, cc email, cc emails",
        },
        Rule {
            scope: Scope::Of(
                "incoming email, inbound email, received email, email log, email message, mail log",
            ),
            phrases: "from, from address, from addresses, to addresses, cc addresses, from name",
        },
        // Parts of a person's name.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                first name, firstname, last name, lastname, given name, givenname, family name, \
                familyname, nick name, middle name, middlename, maiden name, \
                surname, surnames, forename, patronymic, name first, name last, name middle, \
                given names, family name prefix, family name suffix, nicename, alternatename, \
                firstnamephonetic, lastnamephonetic, first names, last names",
        },
        Rule {
            scope: Scope::Unless("repo, repository, project, package, module, class, type, workflow"),
            phrases: "full name, full names, fullname",
        },
        // The same in other languages.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                nachname, vorname, familienname, geburtsname, nom de famille, prenom, prénom, apellido, \
                apellidos, sobrenome, cognome, nazwisko, imie, imię, voornaam, achternaam, \
                tussenvoegsel, nombre completo, apellido paterno, apellido materno, nome mae, nome pai, \
                nome completo",
        },
        // Blocks with name, address and mail in one.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                customer details, billing details, shipping details, contact details, contact info, \
                personal details, guest details, payer details, passenger details",
        },
        // Names of persons in a role.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                mothersname, fathersname, guardiansname, mothers name, fathers name, cardholder name, \
                card holder, cardholder, name on card, account holder, holder name, contact name, \
                contact person, person to be contacted, emergency contact, next of kin, \
                next of kin name, guarantor name, sender name, recipient name, receiver name, \
                consignee, pax, billing name, shipping name, ship to name, bill to name, ship name, \
                by name, attention to, attn, name on account, spouse complete name, comment author, \
                cc owner, cc holder, author name, employee name, applicant name, person name, \
                patient name, doctor name, owner name, membername, customername, patientname, \
                studentname, employeename, contactname",
        },
        // Programs sign in too.
        Rule {
            scope: Scope::Unless(PROGRAMS),
            phrases: "\
                username, user name, userid name, loginname, login name, login id, screen name, \
                usernames, nom utilisateur, nombre usuario, nombre de usuario, nome utente, \
                benutzername, gebruikersnaam, nazwa uzytkownika",
        },
        // Numbers of identity papers and licences.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                national id, national identity, nationalid, identification id, passport id, \
                identity number, identity card number, personal id, id card number, idcard, id card no, \
                id document number, personal identification number, passport, driver license, \
                drivers license, driver licence, drivers licence, driving license, driving licence, \
                dl number, voter id, visa no, visa number, permit no, work permit number, \
                residence permit number, military id",
        },
        // Numbers that hospitals and health insurances give.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                bpjs number, bpjs health number, medical record number, mrn, nhs number, \
                insurance policy number, insurance number, insurance id number, medicare number, \
                patient identifier",
        },
        // Numbers of single states, for tax and social security.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                nino, taxvat, cpf, cpf cnpj, rg number, nik, npwp, cnic, nric, hkid, bvn, snils, tckn, \
                personnummer, jmbg, oib, egn, ppsn, ahv number, kra pin, emirates id, iqama, curp, dni, \
                nie, nif, rut, cedula, bsn, pesel, aadhaar, aadhar, codice fiscale, steuer id, \
                steuernummer, personalausweisnummer, reisepassnummer, sozialversicherungsnummer, \
                sv nummer, rv nr, numero de securite sociale, numero securite sociale, \
                burgerservicenummer, pan number, pan card, uan number, provident fund account",
        },
        // Numbers for tax and social security.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                ssn, social security, social num, social no, social number, sin number, sin num, \
                sin no, tin number, federaltaxid, itin, national insurance, ssnid, sinid, tax id, \
                taxpayer id",
        },
        Rule {
            scope: Scope::Unless(
                "trade, business, company, corporate, software, product, vehicle, facility, store",
            ),
            phrases: "license number, licence number, license no, licence no",
        },
        // Two readings, a card number and a tax number, both of a person.
        Rule { scope: Scope::Alone, phrases: "pan, nickname" },
        Rule { scope: Scope::Of("taxpayer"), phrases: "pan, pan no" },
        Rule { scope: Scope::Of(PERSON_OR_NOT), phrases: "handle, display name, mobile, nickname" },
        // What a bare word means if it is said of a person.
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                name, names, fname, lname, mname, display name, displayname, legal name, \
                preferred name, alias, aliases, initials, address, addresses, street, mobile, tel, \
                cell, fax, login, handle, skype, skype id, personal email, company email, office email, \
                business email, office phone, company phone, email id, work email, suffix name, \
                nickname, account name, first, last, pseudo, mail, family members, spouse, spouse name",
        },
        // The same in other languages.
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                nom, nombre, nome, naam, adresse, adres, direccion, endereco, indirizzo, anschrift, \
                domicilio, calle, rua, rue, via, straat, ulica, nombres, portable, handy",
        },
        // Numbers that are a person's only if said of one.
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                pan, ss, id number, id no, identification number, rg, document number, doc number, \
                doc no, nin, inn, tax number, tax no, tax code, rfc, nss, cuit, cuil, numero documento, \
                documento, policy number",
        },
        Rule {
            scope: Scope::OfBut(ADDRESSES, THINGS),
            phrases: "\
                name, street, address, address line, phone, company phone, recipient, contact, \
                full address, alternative phone, apartment, house, care of",
        },
        Rule {
            scope: Scope::Of("credit card, debit card, bank card, payment card, stored card"),
            phrases: "name, holder",
        },
        Rule { scope: Scope::Of("human name, person name"), phrases: "family, given, text" },
        Rule {
            scope: Scope::Of("shipment, parcel, package, postcard, letter, consignment"),
            phrases: "recipient, receiver, addressee",
        },
        Rule { scope: Scope::Of("account, login"), phrases: "mail" },
        Rule { scope: Scope::After("sms, reminder, emergency, whatsapp", ""), phrases: "number, no" },
        Rule {
            scope: Scope::Of("insurance, insurance data, coverage, insurance policy"),
            phrases: "policy number, member number, subscriber number, member id, subscriber id",
        },
        // Carbon copies and recipients of a message are addresses.
        Rule {
            scope: Scope::Of("email, mail, message, sms, outbound"),
            phrases: "to, cc, bcc, recipient, recipients, sender, absender, to address",
        },
        Rule {
            scope: Scope::Of("patient identifier, client identifier, person identifier, identity document"),
            phrases: "identifier, document key",
        },
    ],
);

/// Links to an account that is known by its mail address, as in the Frappe framework.
pub(in crate::lexicon) const ACCOUNT_LINKS: Topic = topic(
    Category::DirectPii,
    "id",
    &[Rule {
        scope: Scope::Anywhere,
        phrases: "\
            user, users, interviewer, approver, assigned to, assign to, allocated to, recruiter, \
            responsible person, sender, email",
    }],
);
