//! Fields of inputs and tables: what is personal or secret, by kind, and what only looks like it.

use Category::{Credential, DirectPii, FinancialAccount, Health, IndirectPii};
use ratchet_key::{Category, Code, judge_field};

/// The category of `entity.field`, or of `entity.field type`.
fn category(field: &str) -> Option<Category> {
    let (path, type_name) = field.split_once(' ').map_or((field, None), |(path, name)| (path, Some(name)));
    let (entity, name) = path.rsplit_once('.').map_or((None, path), |(entity, name)| (Some(entity), name));
    judge_field(entity, name, type_name).and_then(|found| found.category)
}

fn all(expected: Option<Category>, fields: &[&str]) {
    for field in fields {
        assert_eq!(category(field), expected, "{field}");
    }
}

#[test]
fn the_code_says_whether_it_is_a_secret_and_the_words_speak_of_inputs() {
    let personal = judge_field(Some("Signup"), "email", Some("String")).unwrap();
    assert_eq!((personal.code, personal.word.as_str()), (Code::R013, "email"));
    let secret = judge_field(Some("Signup"), "client_secret", Some("String")).unwrap();
    assert_eq!((secret.code, secret.word.as_str()), (Code::R005, "client_secret"));
    for found in [personal, secret] {
        assert!(found.why.contains("inputs are stored with the record"), "{}", found.why);
        assert!(!found.help.contains("`<"), "{}", found.help);
    }
}

#[test]
fn names_and_what_reaches_a_person() {
    all(
        Some(DirectPii),
        &[
            "signup.email",
            "orders.billing_name",
            "customers.name varchar(255)",
            "UserProfile.display_name",
            "patient.next_of_kin",
            "drivers.phone_number bigint",
            "employee.company_email",
            "comment.author_email_hash",
            "person_address.address1",
            "place.street2",
            "shipments.ship_to_phone",
            "message.bcc",
            "ticket.requested_by_name",
            "wire.recipient_name",
        ],
    );
}

#[test]
fn numbers_that_a_state_or_a_hospital_gives() {
    all(
        Some(DirectPii),
        &[
            "worker.ssn",
            "traveller.passport_number",
            "driver.drivers_license_number",
            "kyc_verification.id_number",
            "patients.mrn",
            "pessoa.cpf",
            "taxpayer.pan_no",
        ],
    );
}

#[test]
fn what_is_said_of_a_person() {
    all(
        Some(IndirectPii),
        &[
            "member.dob date",
            "guarantor.gender_cv_id int",
            "user.last_sign_in_ip inet",
            "sessions.user_agent text",
            "trip.latitude decimal",
            "contact.country_code",
            "employee.designation link",
            "employee.date_of_joining date",
            "salary_slip.net_pay currency",
            "applicant.resume_link",
            "user.avatar_url",
            "vehicle.plate_number",
            "staff.badge_number",
            "family_member.relationship",
            "employee_education.qualification",
        ],
    );
}

#[test]
fn accounts_on_other_platforms() {
    all(
        Some(IndirectPii),
        &["user.google_id varchar", "player.apple_id", "guild_member.discord_user_id bigint", "identity.uid"],
    );
    all(None, &["story.twitter_id", "company.facebook_page_id", "deployment.github_id", "user.stripe_id"]);
}

#[test]
fn secrets_in_any_form() {
    all(
        Some(Credential),
        &[
            "user.password_digest",
            "users.otp_backup_codes",
            "invitation.token uuid",
            "session.session_token_ciphertext",
            "api_keys.key",
            "api_keys.value",
            "webhook.signing_secret",
            "channel.hmac_token",
            "device_credentials.credentials_id",
            "vpn_peer.preshared_key",
            "place.security_access_code",
            "employee.pin int",
            "user.two_fa_settings jsonb",
            "login_code.code_digest",
        ],
    );
}

#[test]
fn cards_and_bank_accounts() {
    all(
        Some(FinancialAccount),
        &[
            "payment.card_number",
            "credit_cards.last_digits",
            "card.exp_month int",
            "beneficiary.iban",
            "payout.bank_account",
            "wires.account_number_ciphertext",
            "payee.acct_no",
        ],
    );
    all(None, &["bank_account.bank_name", "payee.sort_code", "kanban_board.card_number", "card.brand"]);
}

#[test]
fn the_content_of_care() {
    all(
        Some(Health),
        &[
            "employee.blood_group select",
            "patients.allergies",
            "obs.value_coded int",
            "prescriptions.dosage",
            "encounter_diagnosis.certainty",
            "wearable.hr",
            "form_vitals.temperature float",
        ],
    );
    all(
        Some(IndirectPii),
        &["encounter.encounter_datetime datetime", "visits.date_started", "obs.obs_datetime"],
    );
    all(None, &["drug.name", "obs.encounter_id int", "drug_order.dose_units int", "rule_conditions.value"]);
    all(None, &["server.symptom", "pod.health_status", "subscription.start_date", "network.rx"]);
}

#[test]
fn other_languages() {
    all(
        Some(DirectPii),
        &["kunde.nachname", "clientes.nombre", "clients.prenom", "pracownik.nazwisko", "klant.naam"],
    );
    all(
        Some(IndirectPii),
        &["kunde.geburtsdatum", "pessoa.cidade", "dipendente.stipendio", "inwoner.woonplaats"],
    );
    all(Some(Credential), &["client.motDePasse", "usuario.contrasena", "usuario.senha", "benutzer.kennwort"]);
    all(None, &["empresa.cnpj", "produtos.nome", "marcas.nombre", "editoriales.direccion"]);
}

#[test]
fn a_name_may_repeat_its_table_in_front_or_behind() {
    all(Some(DirectPii), &["member.m_name", "adherents.nom_adh", "hr_employee.emp_mobile"]);
    all(None, &["product.p_name", "matches.match_map"]);
}

#[test]
fn ids_flags_counts_and_times_about_it_are_none() {
    all(
        None,
        &[
            "user.id",
            "token.token_id",
            "patient.patient_uuid",
            "order.billing_address_id",
            "user.email_verified",
            "user.has_password",
            "index.by_email",
            "list.sort_by_name",
            "repository.full_name",
            "user.is_email_public",
            "mail.email_count",
            "user.password_changed_at",
            "remember_token_expires_at",
            "email_template",
            "policy.min_age",
            "usage.prompt_tokens",
        ],
    );
}

#[test]
fn the_type_can_speak_against_the_name() {
    all(
        None,
        &[
            "user.email bool",
            "user.phone Option<bool>",
            "account.password tinyint(1)",
            "wallet.tokens decimal(10,2)",
            "user.name int",
            "orders.shipping_address uuid",
            "employee.preferred_email select",
            "users.avatar integer",
            "session.token timestamp",
        ],
    );
    all(
        Some(DirectPii),
        &[
            "user.phone i64",
            "user.email Option<String>",
            "order.shipping_address jsonb",
            "expense.approver link",
        ],
    );
}

#[test]
fn products_places_of_business_machines_and_programs_are_none() {
    all(
        None,
        &[
            "product.name",
            "country.name",
            "warehouse.address",
            "stock_location.phone",
            "company.email",
            "tenant.city",
            "memory.address",
            "contract.address",
            "server.ip_address",
            "sensor.latitude",
            "smtp.username",
            "oauth_client.name",
            "user_group.name",
            "character.gender tinyint",
            "department.phone",
            "file.fname",
        ],
    );
}

#[test]
fn without_entity_and_type_only_telling_names_count() {
    all(Some(DirectPii), &["email", "first_name", "home_address"]);
    all(None, &["name", "address", "title", "state", "code", "value", "key"]);
}
