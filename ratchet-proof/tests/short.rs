//! What every change has to pass of the proof: each suite in its short form.

use std::collections::BTreeSet;

use std::path::PathBuf;

use ratchet_proof::{
    CrashSuite, Effort, ModelSuite, Mutation, Report, SimulationSuite, StoreKind, replay, run, table,
};

fn assert_holds(report: &Report) {
    assert!(report.holds(), "{}", table::of(std::slice::from_ref(report)));
    assert_eq!((report.lost, report.doubled, report.stale_accepted), (0, 0, 0));
}

#[test]
fn the_decision_function_keeps_its_promise_in_every_state() {
    let report = run(&ModelSuite, Effort::Short);
    assert_holds(&report);
    assert_eq!(report.planted_bugs_caught, Mutation::OF_THE_MODEL.len());
    println!("{}", table::of(&[report]));
}

#[test]
fn client_and_worker_keep_it_in_every_simulated_life() {
    let report = run(&SimulationSuite, Effort::Short);
    assert_holds(&report);
    println!("{}", table::of(&[report]));
}

fn kill_processes(kind: StoreKind) {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_ratchet-proof"));
    let report = run(&CrashSuite::new(program, kind), Effort::Short);
    assert_holds(&report);
    println!("{}", table::of(&[report]));
}

#[test]
fn processes_on_sqlite_keep_it_wherever_they_are_killed() {
    kill_processes(StoreKind::Sqlite);
}

#[test]
fn processes_on_postgres_keep_it_wherever_they_are_killed() {
    kill_processes(StoreKind::Postgres);
}

#[test]
fn a_seed_lives_the_same_life_each_time() {
    let traces: Vec<u64> = (0..20).map(|seed| replay(seed, None).1).collect();
    assert_eq!(traces, (0..20).map(|seed| replay(seed, None).1).collect::<Vec<_>>());
    assert_eq!(traces.iter().collect::<BTreeSet<_>>().len(), 20);
}
