//! What is said of a person: where they are, their birth, body, pay, work, devices and accounts elsewhere.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::{
    ADDRESSES, CAREER, INVENTED, MACHINES, PERSON_OR_NOT, PERSONNEL_RECORDS, SENDINGS, THINGS, WORKERS,
};
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Where other accounts of a person are.
const PLATFORMS: List = "\
    facebook, fb, google, github, gitlab, bitbucket, apple, steam, discord, twitter, linkedin, \
    telegram, whatsapp, slack, instagram, tiktok, twitch, wechat, qq, weibo, kakao, naver, vk, reddit, \
    spotify, microsoft, azure, xbox, psn, playstation, nintendo, epic, gamecenter, game center, \
    facebook instant game, instant game, oauth, openid, oidc, saml, sso, ldap, keycloak, okta, orcid, \
    skype, snapchat, pinterest, youtube, viber, dropbox, paypal, yahoo, clerk, supabase, firebase, \
    huawei, garena, zalo, mastodon, bluesky, roblox, riot, minecraft, battlenet, patreon, strava, \
    fitbit, garmin, zoom, github com, google play";

/// What is on a platform without being a person.
const POSTS: List = "\
    story, post, message, comment, page, ad, campaign, channel, server, guild, group, event, thread, \
    media, video, product, order, repository, repo, issue, webhook, integration, app, application, bot, \
    company, organization, shop, store, invoice, payment, subscription, deployment, build, commit, \
    installation, workspace, team, topic";

/// Where a person is: the parts of an address that do not reach the door.
const WHEREABOUTS: List = "\
    city, town, village, town village, suburb, district, county, county district, city village, state, \
    state province, province, region, country, country code, country iso, country name, state code, \
    state name, province code, city name, zip, zip code, zipcode, postal code, postalcode, postcode, \
    pincode, neighborhood, neighbourhood, building, landmark, municipality, prefecture, locality, \
    sublocality, hometown, location, current location, last location, coordinates, coords, geo, \
    geolocation, geopoint, point, parish, ciudad, cidade, ville, ort, stadt, wohnort, plz, \
    postleitzahl, code postal, codigo postal, cep, cap, citta, città, miasto, kod pocztowy, woonplaats, \
    land, pais, país, pays, bairro, estado, cp, commune, localite, localidad, municipio, provincia, \
    comune, departamento, canton, emirate, miejscowosc, plus four, zip plus four, city code, \
    city locality";

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::IndirectPii,
    "\
        value, raw, str, text, address, addr, url, uri, path, file, hash, number, no, num, nr, \
        encrypted, remote, cooked, nummer, amount, cents, usd, eur, ciphertext, cipher, bidx, enc",
    &[
        // Networks and devices.
        Rule {
            scope: Scope::Unless(MACHINES),
            phrases: "\
                ip, ips, ipaddress, ipv, remote addr, remoteaddr, lastip, lastloginip, clientip, \
                userip, loginip, ipaddr, remoteip, ip adresse",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                client ip, user ip, customer ip, visitor ip, user agent, useragent, \
                browser fingerprint, device fingerprint, browser info, forwarded for, advertising id, \
                idfa, gaid, imei, imsi, iccid, device info, user location, client hostname",
        },
        Rule {
            scope: Scope::OfPerson,
            phrases: "ua, mac address, browser, device model, device name, last ip, ip",
        },
        // Birth and death.
        Rule {
            scope: Scope::Unless(INVENTED),
            phrases: "\
                dob, date of birth, dateofbirth, birth date, birthdate, birthday, birth day, \
                birth month, birth year, year of birth, birthtime, place of birth, birth place, \
                birthplace, country of birth, city of birth, born on, born at, date of death, \
                death date, deceased date, deceased at, date deceased, deceased datetime, \
                birthdate estimated value",
        },
        // The same in other languages.
        Rule {
            scope: Scope::Unless(INVENTED),
            phrases: "\
                geburtsdatum, geburtsjahr, ddn, geburtstag, geburtsort, date de naissance, \
                date naissance, lieu de naissance, fecha de nacimiento, fecha nacimiento, \
                data nascimento, data de nascimento, data di nascita, data nascita, geboortedatum, \
                data urodzenia, geschlecht, sexe, sexo, sesso, genero, plec, płeć, geslacht, \
                staatsangehoerigkeit, nationalite, nacionalidad, nacionalidade, estado civil, \
                familienstand",
        },
        // Gender, descent and belief.
        Rule {
            scope: Scope::Unless(INVENTED),
            phrases: "\
                sex, sex code, sex id, gender, gender code, gender identity, gender identity code, \
                gender cv id, gender id, pronouns, sexual orientation, ethnicity, ethnicity id, \
                ethnicity code, ethnic group, ethnoracial, race code, race color, skin color, \
                nation code, nationality, nationality code, nationality id, citizenship, religion, \
                religion id, caste, political affiliation, political party, marital status, \
                maritalstatus, marital status id, marital status cv id, profession cv id, \
                occupation cv id, marital, civil status, mother tongue, native language, \
                immigration status, veteran status, visa status, visa type",
        },
        // Position on the map.
        Rule {
            scope: Scope::Unless(THINGS),
            phrases: "\
                latitude, longitude, geolocation, lat, lng, lon, latlng, gps, gps coordinates, \
                gps position, gps location",
        },
        // Vehicles lead to their owners.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                license plate, licence plate, vehicle no, vehicle number, plate number, plate no, \
                number plate, reg plate, registration plate, vehicle registration, vehicle plate, vin, \
                chassis no, chassis number, kennzeichen, matricula, immatriculation, targa",
        },
        // Pay.
        Rule {
            scope: Scope::Unless(
                "range, publish, opening, template, structure, component, min, max, company",
            ),
            phrases: "\
                salary, salaries, wage, wages, ctc, net pay, gross pay, take home pay, base pay, \
                pay rate, annual income, monthly income, household income, gehalt, lohn, einkommen, \
                salary expected, salary proposed, expected pay, salario, sueldo, salaire, stipendio, \
                nomina, wynagrodzenie, salaris",
        },
        // Accounts elsewhere.
        Rule {
            scope: Scope::After(PLATFORMS, POSTS),
            phrases: "\
                id, uid, user id, userid, user uid, username, user name, handle, sub, subject, \
                account id, openid, identifier, profile id, user, profile, login, nickname, member id, \
                player id",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                openid identifier, social link, social links, social profile, social profiles, \
                federated user id, federated username, linkedin profile, linkedin url, unionid, openid, \
                identity provider id, provider user id, provider account id, provider uid, \
                external account id",
        },
        Rule {
            scope: Scope::Of(
                "\
                    identity, authentication, user authentication, external login, user identity, \
                    social account, linked account, federated identity, oauth account, user oauth, \
                    user login",
            ),
            phrases: "\
                uid, provider uid, provider user id, provider account id, external uid, provider key, \
                subject, extern uid, user name",
        },
        // Family.
        Rule {
            scope: Scope::Unless("entity, field, table, type"),
            phrases: "\
                reln, reln cv id, relationship cv id, relation to patient, relationship to patient, \
                kinship, relationship to applicant, relationship to employee",
        },
        Rule { scope: Scope::Of("relationship"), phrases: "relationship, relationship type" },
        Rule {
            scope: Scope::OfPerson,
            phrases: "relationship, relation, relationship type, relation type, relationship code",
        },
        // Pictures and bodies.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                selfie, fingerprint template, face embedding, faceprint, voiceprint, retina scan, \
                signature image, profile picture, profile photo, profile image, profile pic, headshot, \
                passport photo, id photo",
        },
        Rule {
            scope: Scope::Of("=proof, proof of delivery, delivery proof"),
            phrases: "data, raw data, photo, signature",
        },
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                image, photo, avatar, picture, avatar url, gravatar, userpic, foto, signature, \
                message signature, email signature, bio, biography, about me, about, portrait",
        },
        Rule {
            scope: Scope::OfBut(PERSON_OR_NOT, THINGS),
            phrases: "avatar, photo, gender, birthday, bio, location, city, headline",
        },
        // Work and school.
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                graduation year, graduation month, admission year, years of experience, steuerklasse, \
                cargo, puesto, poste, profissao, profesion, registration number, reg no, age, \
                age group, age range, race, title, salutation, honorific, prefix, suffix, degree, \
                position, designation, job title, jobtitle, job title code, title code, job, \
                occupation, occupation category, profession, expertise, specialty, speciality, \
                specialization, employer, employer name, workplace, work experience, work history, \
                experience, education, qualification, highest qualification, university, school, \
                college, skills, resume, resume link, resume attachment, resume url, cv, cover letter, \
                headline, income, income range, income bracket, income level, military service, \
                military status, housing, accommodation type, family size, homeless, institute, major, \
                blood relation, family background, num children, number of children, household size, \
                beruf, anrede, titel, hobbies, interests, linkedin, linkedin url, twitter, \
                twitter handle, facebook, instagram, github, website, homepage, personal website",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                accession number, badge number, badge no, badge id, employee number, employee no, \
                emp no, empno, employee code, emp code, staff code, personnel number, payroll number, \
                personalnummer, personal nr, personalnr, academic id, roll number, roll no, \
                enrollment number, matrikelnummer, student number, matriculation number, staff number, \
                attendance device id, work permit, cover letter, resume link, resume attachment, \
                curriculum vitae, reason for leaving, exit reason, applicant rating, performance rating",
        },
        Rule {
            scope: Scope::Unless("opening, posting, vacancy, requisition, advert, template, category"),
            phrases: "job title, jobtitle",
        },
        Rule {
            scope: Scope::Of(WORKERS),
            phrases: "\
                grade, employment type, employment status, employment category, job, cost to company, \
                job code, barcode, badge, rfid, rfid tag, rfid chip, departure reason, \
                departure description, certificate, study field, study school, km home work",
        },
        Rule {
            scope: Scope::Of("vehicle, car, truck, bike, motorcycle"),
            phrases: "\
                plate, registration number, registration, registration no, tag number, vehicle no, \
                vehicle number",
        },
        Rule {
            scope: Scope::Of(CAREER),
            phrases: "\
                school, school univ, university, institute, institution, institution name, school name, \
                degree, qualification, major, field of study, gpa, score, level, year of passing, \
                graduation year, class per, company, company name, employer, designation, title, \
                position, total experience, maj opt subj",
        },
        Rule {
            scope: Scope::Of("applicant, candidate"),
            phrases: "lower range, upper range, notice period, salary range",
        },
        Rule {
            scope: Scope::Of(PERSONNEL_RECORDS),
            phrases: "\
                designation, current designation, revised designation, job title, position, grade, \
                employer",
        },
        Rule {
            scope: Scope::Of(
                "\
                    contact, lead, prospect, candidate, applicant, attendee, subscriber, customer, \
                    address, billing, shipping",
            ),
            phrases: "company, company name, organization name",
        },
        // Whereabouts.
        Rule { scope: Scope::OfPerson, phrases: WHEREABOUTS },
        Rule { scope: Scope::OfBut(ADDRESSES, THINGS), phrases: WHEREABOUTS },
        Rule {
            scope: Scope::Of(SENDINGS),
            phrases: "\
                city, zip, zip code, zipcode, postal code, postcode, district, province, country, \
                country code",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                shipping city, billing city, shipping zip, billing zip, billing postal code, \
                shipping postal code, shipping country, billing country, shipping state, billing state, \
                billing postcode, shipping postcode, billing company, shipping company, billing region, \
                shipping region, billing province, shipping province, ship city, ship country, \
                ship zip, ship postal code, ip country, ip city",
        },
        Rule {
            scope: Scope::Of(
                "\
                    interview feedback, interview, exit interview, appraisal, performance review, \
                    employee performance feedback",
            ),
            phrases: "feedback, interview summary, reflections",
        },
    ],
);
