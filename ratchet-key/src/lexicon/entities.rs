//! What names belong to: persons, their addresses, and the things that are neither.

use crate::lexicon::rule::List;

/// Entities that are persons. Where a word means a company as often as a person, it is left out.
pub(super) const PERSONS: &[List] = &[ENGLISH, RECORDS, OTHER_LANGUAGES];

const ENGLISH: List = "\
    addressee, administrator, benefactor, ceo, chairman, director, advisor, adviser, alumnus, \
    applicant, approver, assignee, attendee, attorney, author, baby, beneficiary, bidder, borrower, \
    buyer, candidate, cardholder, caregiver, carer, chauffeur, citizen, claimant, client, clinician, \
    coach, collaborator, commenter, consignee, consignor, consultant, contact, contractor, cosigner, \
    courier, customer, debtor, defendant, dependant, dependent, doctor, donor, driver, editor, \
    emergency contact, emp, employee, executor, family member, father, follower, freelancer, friend, \
    gamer, guarantor, guardian, guest, holder, husband, individual, inmate, instructor, insured, \
    intern, interviewee, interviewer, invitee, inviter, kin, landlord, lawyer, lead, learner, lecturer, \
    member, moderator, mother, newborn, nominee, nurse, occupant, offender, officer, organizer, owner, \
    participant, passenger, patient, payee, payer, payor, people, person, personnel, pharmacist, \
    physician, plaintiff, player, policyholder, practitioner, professor, prospect, pupil, purchaser, \
    receiver, recipient, recruiter, referee, referrer, relative, remitter, reporter, resident, \
    reviewer, rider, seller, sender, shareholder, shopper, signatory, signee, signer, sibling, speaker, \
    spouse, staff, student, submitter, subscriber, supervisor, surgeon, taxpayer, teacher, therapist, \
    trainee, trainer, traveler, traveller, trustee, tutor, ubo, user, usr, victim, visitor, volunteer, \
    voter, wife, emp children";

/// Records that are about one person from end to end.
const RECORDS: List = "\
    loan application, job application, credit application, membership application, visa application, \
    kyc, kyc verification, kyc case, kyc record, kyc application, kyc profile, identity verification, \
    =profile, =user account, user entity, customer entity, person entity, employee entity";

const OTHER_LANGUAGES: List = "\
    kunde, kunden, mitarbeiter, benutzer, nutzer, empfaenger, empfänger, ansprechpartner, schueler, \
    schüler, mitglied, mieter, vermieter, besucher, gast, lehrer, arzt, fahrer, bewerber, cliente, \
    usuario, empleado, trabajador, persona, paciente, alumno, estudiante, profesor, medico, conductor, \
    socio, huesped, destinatario, pessoa, funcionario, colaborador, aluno, motorista, titular, \
    dependente, contato, contacto, utilisateur, personne, salarie, salarié, destinataire, eleve, élève, \
    etudiant, adherent, abonne, locataire, medecin, utente, dipendente, paziente, studente, conducente, \
    klant, gebruiker, medewerker, werknemer, inwoner, huurder, leerling, klient, uzytkownik, pracownik, \
    pacjent, kierowca, osoba";

/// Programs that are named like persons.
pub(super) const NOT_PERSONS: List = "\
    oauth client, oidc client, saml client, api client, http client, rest client, grpc client, \
    mqtt client, vpn client, web client, client application, storage driver, device driver, \
    database driver, cluster member, service user";

/// Entities that are a person as often as a company or a program: only words for a person count there.
pub(super) const PERSON_OR_NOT: List = "\
    account, actor, agent, artist, creator, identity, partner, profile, provider, registration, signup";

/// Persons who work for the one who keeps the record.
pub(super) const WORKERS: List = "\
    employee, emp, staff, personnel, contractor, intern, trainee, driver, officer, teacher, doctor, \
    nurse, mitarbeiter, empleado, funcionario, medewerker, pracownik, dipendente, salarie";

/// Postal addresses that are a person's unless said otherwise.
pub(super) const ADDRESSES: List = "\
    address, addresses, place, waypoint, shipping, billing, residence, ship to, bill to, deliver to, \
    adresse, anschrift, direccion, endereco, indirizzo, adres";

/// What is sent to someone, and has the address for it among its own fields.
pub(super) const SENDINGS: List =
    "shipment, delivery, consignment, parcel, order, donation, reservation, booking";

/// Words that make an address, a name or a number that of an organisation, a place of business or a machine.
pub(super) const THINGS: List = "\
    organization, organisation, company, companies, business, corporate, firm, enterprise, tenant, \
    merchant, supplier, vendor, manufacturer, brand, store, shop, warehouse, depot, hub, office, \
    branch, facility, hospital, clinic, pharmacy, lab, school, university, institution, bank, agency, \
    department, team, venue, restaurant, hotel, station, airport, port, stock, outlet, property, \
    location, region, zone, area, sensor, gateway, meter, asset, tower, stop, site, website, portal, \
    channel, inbox, mailbox, campaign, template, newsletter, support, helpdesk, noreply, from, product, \
    server, boat, board, deck, via, domain, empresa, firma, filiale";

/// Machines, whose network addresses are not those of a person.
pub(super) const MACHINES: List = "\
    server, host, node, vm, machine, container, cluster, instance, interface, subnet, network, gateway, \
    router, dns, pool, replica, proxy, broker, sensor, peer, validator, allowlist, whitelist, denylist, \
    blacklist, blocklist, dhcp, bind, listen, public, private, internal, external, target, allowed, \
    blocked, workspace, worker";

/// Invented persons, animals and goods, which have a gender or a race too.
pub(super) const INVENTED: List = "\
    character, npc, hero, monster, creature, pet, animal, cat, dog, cattle, livestock, breed, product, \
    item, clothing, garment, voice, noun, boat, horse, team, vessel, ship, company";

/// Records of personnel, each about one employee or applicant.
pub(super) const PERSONNEL_RECORDS: List = "\
    exit interview, appraisal, leave application, leave allocation, leave request, attendance, \
    attendance request, expense claim, travel request, shift assignment, shift request, \
    employee advance, salary slip, payslip, job offer, appointment letter, interview, \
    employee promotion, employee transfer, employee separation, employee onboarding, \
    employee grievance, employee referral, employee checkin, employee incentive, \
    employee tax exemption declaration, salary structure assignment, full and final statement, \
    training feedback, employee performance feedback, performance review, employment, \
    employment history, employee education, employee skill map, gratuity, additional salary, \
    employee benefit application, employee benefit claim, daily work summary";

/// What someone learned and where they worked.
pub(super) const CAREER: List = "\
    education, work history, external work history, internal work history, work experience, \
    employment history, academic record, academic history, qualification, past employment, \
    previous employment, experience";

/// Whose body is weighed and measured.
pub(super) const BODIES: List = "\
    patient, person, people, user, member, child, lead, baby, newborn, individual, athlete, employee, \
    emp, paciente, persona, pessoa";

/// Records of what was found about, done to or given to a patient. A condition or a procedure may be a program's.
pub(super) const CLINICAL: List = "\
    obs, =observation, =condition, patient condition, medical condition, diagnosis, diagnose, allergy, \
    allergy intolerance, allergy reaction, drug order, test order, referral order, medication order, \
    medication request, medication statement, medication dispense, medication administration, \
    prescription, drug prescription, prescription item, prescription detail, prescription line, \
    immunization, vaccination, lab result, lab test, lab order, lab report, radiology report, =vital, \
    form vital, patient vital, vital sign, =procedure, clinical procedure, patient procedure, symptom, \
    clinical note, clinical impression, soap note, progress note, nursing note, diagnostic report, \
    care plan, treatment plan, problem list, patient problem, risk assessment, family history, \
    medical history, medical record, health record, patient program, patient state, patient history, \
    patient treatment, patient service, patient assessment, past visit, therapy, therapy session, \
    surgery, specimen, consultation, examination, checkup, triage";

/// Contacts of a patient with those who care for them, and the records that carry the time of one.
pub(super) const CARE: List = "\
    encounter, =visit, patient visit, past visit, admission, hospitalization, inpatient record, \
    episode of care, appointment, consultation, examination, checkup, triage, surgery, obs, \
    =observation, =condition, patient condition, diagnosis, allergy, drug order, test order, lab order, \
    immunization, vaccination, =procedure, clinical procedure, prescription, prescription item, \
    medication dispense, medication request, medication statement, medication administration, \
    lab result, lab test, lab report, =vital, form vital, patient vital, vital sign, patient program, \
    patient state, patient service, patient assessment, clinical note, soap note, progress note, \
    care plan, therapy session, diagnostic report, service request, medical record";

/// Words after an entity that leave it what it is.
pub(super) const TRANSPARENT: List = "\
    profile, details, detail, code, info, information, data, record, row, dto, input, request, model, \
    legal, new, old, name, names, account, base, extra, table";

/// Words before a phrase that leave open what it is said of.
pub(super) const QUALIFIERS: List = "\
    home, house, billing, shipping, delivery, mailing, permanent, current, present, previous, former, \
    primary, secondary, main, alternate, alternative, alt, other, preferred, private, personal, work, \
    emergency, local, new, old, residence, residential, registered, legal, last, native, own, birth, \
    unconfirmed, hashed, external, origin, destination, pickup, dropoff, formatted, full, complete, \
    detailed, additional, second, day, evening, temporary, temp, correspondence, original, encrypted";
