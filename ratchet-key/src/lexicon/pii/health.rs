//! The content of medical care.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::BODIES;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Systems that have symptoms and diagnoses too.
const MACHINES: List = "\
    server, system, service, device, vehicle, engine, network, cluster, node, ticket, issue, bug, \
    incident, error, asset, equipment, water, plant, catalog, catalogue, inventory, formulary, \
    template, type, category, experiment, variant, test, product, dish, menu, recipe, food, ingredient";

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::Health,
    "\
        notes, note, text, value, raw, str, coded, non, comment, comments, details, history, encrypted, \
        ciphertext, cm, kg, mg, ml, lb, lbs, ft, mmhg, bpm, percent, pct, level, systolic, diastolic, \
        index",
    &[
        Rule {
            scope: Scope::Unless(MACHINES),
            phrases: "\
                diagnosis, diagnoses, dx, dx rank, diagnosis coded name, symptom, symptoms, prognosis, \
                chief complaint, presenting complaint, treatment, treatments, treatment plan, \
                medication, medications, medicine, medicines, prescription, prescriptions, dosage, \
                dosage instructions, dosing instructions, drug non coded, drug inventory id, allergy, \
                allergies, allergy status, order reason, allergen, allergens, allergic reaction, \
                blood type, blood group, blood pressure, blood glucose, blood sugar, rhesus factor, \
                heart rate, heartrate, pulse rate, respiratory rate, respiration rate, \
                body temperature, oxygen saturation, bmi, body mass index, body weight, body height, \
                body fat, cause of death, pregnancy, pregnancy status, gestational age, disability, \
                disabilities, disability type, handicap, immunization, immunizations, \
                vaccination status, vaccine, vaccine type, vaccine name, vaccines, lab result, \
                lab results, medical history, health history, medical condition, medical conditions, \
                health notes, medical notes, clinical notes, clinical note, doctor notes, \
                clinical status, smoking status, dietary restriction, dietary restrictions, \
                alcohol use, drug use, surgical history, surgeries, icd code, icd, snomed code, \
                loinc code, cpt code, procedure code, mental health, hiv status, genetic data, \
                anamnesis, anamnese, diagnose, allergie, allergien, medikament, medikamente, \
                blutgruppe, krankheit, behandlung, enfermedad, alergias, diagnostico, grupo sanguineo, \
                groupe sanguin, maladie, allergia, terapia, krankheitsbild, injury, injuries, \
                injury type, disease type, cancer type, diabetes type, allergy type, sugar level, \
                oxygen sat, illness, disease, diseases, sick note",
        },
        // A wearable measures its wearer.
        Rule {
            scope: Scope::Of("wearable, smartwatch, fitness, workout, biometric, vital"),
            phrases: "\
                hr, hrv, pulse, steps, calories, sleep, spo, weight, temperature, systolic, diastolic, \
                glucose",
        },
        Rule {
            scope: Scope::Of(BODIES),
            phrases: "\
                weight, height, pulse, temperature, systolic, diastolic, smoker, pregnant, conditions, \
                organ donor, death reason, deceased reason, reason of death, rx, parity, gravida, lmp, \
                health status, health info, health details, health condition, health conditions",
        },
    ],
);
