//! What a person does and did for a living, what they earn, and what they learned.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::{CAREER, PERSONNEL_RECORDS, WORKERS};
use crate::lexicon::rule::{Rule, Scope, Topic};

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::IndirectPii,
    "\
        value, raw, str, text, number, no, num, nr, encrypted, enc, ciphertext, cipher, bidx, hash, \
        nummer, amount, cents, usd, eur, url, path, file, link",
    &[
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
