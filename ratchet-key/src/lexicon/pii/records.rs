//! Records about a person: fields that are personal only because of what they belong to.
//!
//! Asked of inputs alone: in a key the start of a visit is a business date.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::{CARE, CLINICAL, WORKERS};
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Records of the pay of one person.
const PAY_RECORDS: List = "\
    salary slip, payslip, payroll, payroll detail, payroll entry detail, salary detail, \
    salary structure assignment, employee payroll, additional salary, employee incentive, \
    employee benefit, retention bonus, gratuity, =salary, employee salary, compensation";

/// When someone came, left, or is to leave.
pub(in crate::lexicon) const EMPLOYMENT: Topic = topic(
    Category::IndirectPii,
    "",
    &[
        Rule {
            scope: Scope::Unless("office, club, group"),
            phrases: "\
                joining date, date of joining, hire date, date of hire, hired at, hired on, date hired, \
                hiring date, employment start date, employment end date, relieving date, \
                date of retirement, retirement date, resignation date, resignation letter date, \
                promotion date, transfer date, boarding begins on, last working day, last working date, \
                probation end date, final confirmation date, eintrittsdatum, einstellungsdatum, \
                datum der einstellung, fecha contratacion, fecha ingreso, data admissao, \
                data assunzione, austrittsdatum, date embauche, fecha de ingreso, date of leaving, \
                date of marriage, wedding date, anniversary date, first day of work",
        },
        Rule {
            scope: Scope::Of(WORKERS),
            phrases: "\
                start date, end date, termination date, terminated at, confirmation date, \
                contract end date, offer date, scheduled confirmation date, held on, new workplace, \
                joined at, joined date, leaving date, left at, departure date",
        },
        // What someone earned, part by part.
        Rule {
            scope: Scope::In(PAY_RECORDS),
            phrases: "\
                amount, base, basic, variable, pay, gross, net, earning, earnings, deduction, \
                deductions, allowance, allowances, bonus, bonuses, overtime, incentive, payout, \
                rounded total, hour rate, hourly rate, rate per hour, tax, taxes, year to date, \
                month to date",
        },
    ],
);

/// When someone was cared for.
pub(in crate::lexicon) const CARE_DATES: Topic = topic(
    Category::IndirectPii,
    "",
    &[
        Rule {
            scope: Scope::Of("patient"),
            phrases: "\
                next appointment, last visit, last appointment, surgery date, injury date, \
                admission date, discharge date, date of admission, date of discharge, first visit, \
                last visit date, next visit",
        },
        Rule { scope: Scope::Of("=order"), phrases: "date activated, date stopped, auto expire date" },
        Rule {
            scope: Scope::Of(CARE),
            phrases: "\
                datetime, date, start, end, start date, end date, start time, end time, start datetime, \
                end datetime, date started, date stopped, started at, ended at, date start, date stop, \
                begdate, enddate, onset date, onset, onset datetime, resolution date, admission date, \
                discharge date, admitted datetime, discharge datetime, admitted at, discharged at, \
                scheduled date, date activated, date enrolled, date completed, appointment date, \
                appointment time, auto expire date, encounter datetime, encounter date, encounter time, \
                visit date, visit time, obs datetime, date handed over, effective date, \
                administered date, occurrence date, recorded date, date of care, performed at, \
                accession number, expected discharge, period, time, started on, ended on, issued at, \
                issued on, follow up date, next visit, service date, date of service, time of visit, \
                issued, authored on, recorded on, onset date time, abatement date time, \
                effective date time, occurrence date time, performed date time, performed period",
        },
    ],
);

/// What was found or given.
pub(in crate::lexicon) const CLINICAL_CONTENT: Topic = topic(
    Category::Health,
    "\
        coded, non, text, numeric, complex, modifier, drug, notes, note, description, detail, cm, kg, \
        mg, ml",
    &[
        Rule {
            scope: Scope::Of(CLINICAL),
            phrases: "\
                value, concept, concept id, medication name, medicine name, drug name, times per day, \
                findings, recommendation, recommendations, summary, value coded, value coded name id, \
                value datetime, value boolean, interpretation, comments, comment, notes, note, name, \
                brand name, code, title, description, severity, severity id, severity concept id, \
                reaction, reactions, reaction concept id, reaction concept, allergen type, \
                coded allergen, non coded allergen, certainty, verification status, rank, dose, \
                dose quantity, dosing instructions, drug id, drug, drug inventory id, \
                as needed condition, instructions, indication, reason, order reason, clinical history, \
                specimen source, laterality, clinical status, condition coded, condition non coded, \
                additional detail, outcome, outcome concept id, result, results, finding, body site, \
                site, value quantity, value string, value codeable concept, component, stage, evidence, \
                criticality, manifestation, vaccine code, dosage instruction, reason code, \
                reason reference, reason non coded, end reason, lot number, vaccine, target disease, \
                conclusion, impression, strength, systolic, diastolic, weight, height, temperature, \
                pulse, respiration, bps, bpd, reference range, abnormal, program id",
        },
        Rule {
            scope: Scope::Of("soap note, progress note"),
            phrases: "subjective, objective, assessment, assessment codes, plan",
        },
        Rule {
            scope: Scope::Of(
                "\
                    encounter, =visit, patient visit, admission, appointment, patient encounter, \
                    patient appointment, inpatient record",
            ),
            phrases: "\
                reason, chief complaint, indication concept id, symptoms, notes, note, clinical note, \
                reason for visit, reason visit, complaint, diagnosis, discharge summary",
        },
    ],
);
