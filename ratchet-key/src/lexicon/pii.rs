//! R004: data that identifies or contacts a person.

use crate::finding::Code;
use crate::lexicon::Category;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Entities whose addresses and numbers are not those of a person.
const THINGS: List = "\
    memory, contract, product, warehouse, via, vendor, supplier, store, support, board, deck, region, \
    file, boat, css, camera, template, gift, server, mac, location, business, campaign, from";

/// Entities whose cards are made of paper.
const GAMES: List = "board, deck, game, hand, kanban, gift";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R004,
    category: Some(Category::DirectPii),
    neutral_tails: "address, addr, number, num, no, nr, value, raw, normalized, lower, text, str, line",
    rules: &[
        Rule {
            scope: Scope::Unless(THINGS),
            phrases: "\
                email, emails, e mail, phone, telephone, phonenumber, msisdn, mobile number, cell number, \
                cell phone, fax number, whatsapp number, remote addr, ip, ipaddress, ipv, client ip, \
                user agent, useragent, shipping address, billing address, home address, current address, \
                permanent address, street address, address line, mailing address, postal address, correo, \
                telefono, telefone, strasse, plz",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                first name, firstname, last name, lastname, given name, family name, middle name, \
                maiden name, full name, fullname, surname, nickname, username, user name, nachname, \
                vorname, nom de famille, prenom, cardholder name, name on card, consignee, pax, ssn, \
                social security, passport number, passport no, national id, tax id, driver license, \
                driving licence, license number, nino, cpf, curp, dni, rut, bsn, pesel, aadhaar, \
                codice fiscale, dob, date of birth, birth date, birthdate, birthday, geburtsdatum, gender, \
                ethnicity, nationality, religion, license plate, licence plate, plate number, reg plate, \
                salary, facebook id, google id, github id, steam id, openid identifier, vin, latitude, \
                longitude, iban, cardnumber, pan no, cc num, cc number, credit card, debit card, card exp, \
                card exp month, card exp year, account number, acct no, bank account, routing number, \
                diagnosis, blood type, blood group, medical record number, health insurance number",
        },
        Rule { scope: Scope::Unless(GAMES), phrases: "card number" },
        // Two readings, a card number and a tax number, both of a person.
        Rule { scope: Scope::Alone, phrases: "pan" },
        Rule { scope: Scope::Of("account"), phrases: "handle" },
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                name, display name, legal name, address, city, street, zip, zip code, zipcode, \
                postal code, postcode, mobile, tel, cell, fax, age, sex, location, fname, lname, login, \
                handle, pan, image, photo, avatar, marital status, designation, job title, dx, ua, \
                country, district, province",
        },
        // Carbon copies and recipients of a message are addresses.
        Rule {
            scope: Scope::Of("email, mail, message, sms"),
            phrases: "to, cc, bcc, recipient, recipients, sender, absender",
        },
    ],
    why: "is personal data, and keys are copied into logs, error reports and the records of the destination, where \
          it cannot be erased",
    help: "an opaque id from your own records, such as `<customer_id>`, tells records apart as well",
};
