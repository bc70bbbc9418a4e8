//! What every change has to pass of the proof: each suite in its short form.

use std::collections::BTreeSet;

use std::path::PathBuf;

use ratchet_proof::{
    ByteSuite, ClockSuite, CrashSuite, DiskSuite, Effort, ModelSuite, Mutation, PowerSuite, Report, Script,
    ServerSuite, SimulationSuite, StoreKind, Suite, live, run, table,
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

/// A machine that cannot run a suite says so, and that is no failure of this release.
fn run_with_processes<S: Suite>(suite: impl FnOnce(PathBuf) -> S) {
    let report = run(&suite(PathBuf::from(env!("CARGO_BIN_EXE_ratchet-proof"))), Effort::Short);
    assert_holds(&report);
    println!("{}", table::of(&[report]));
}

#[test]
fn processes_on_sqlite_keep_it_wherever_they_are_killed() {
    run_with_processes(|program| CrashSuite::new(program, StoreKind::Sqlite));
}

#[test]
fn processes_on_postgres_keep_it_wherever_they_are_killed() {
    run_with_processes(|program| CrashSuite::new(program, StoreKind::Postgres));
}

#[test]
fn processes_on_postgres_keep_it_whatever_happens_to_the_server() {
    run_with_processes(ServerSuite::new);
}

#[test]
fn processes_on_postgres_keep_it_after_whatever_byte_a_connection_ends() {
    run_with_processes(ByteSuite::new);
}

#[test]
fn processes_on_sqlite_keep_it_whenever_the_power_is_lost() {
    run_with_processes(PowerSuite::new);
}

#[test]
fn processes_on_sqlite_keep_it_whatever_happens_to_the_disk() {
    run_with_processes(DiskSuite::new);
}

#[test]
fn processes_keep_it_however_their_clocks_jump() {
    run_with_processes(ClockSuite::new);
}

/// Nobody may take a suite that did not run for one that passed.
#[test]
fn a_suite_that_could_not_run_stands_in_the_table_as_such() {
    let report = Report { skipped: Some("no root".to_owned()), ..Report::new("power") };
    let table = table::of(&[report]);
    assert_eq!(table.lines().nth(1), Some("power                not run"));
    assert!(table.ends_with("power\n  not run: no root\n"), "{table}");
}

#[test]
fn a_seed_lives_the_same_life_each_time() {
    let trace = |seed| live(seed, &Script::default(), None).trace;
    let traces: Vec<u64> = (0..20).map(trace).collect();
    assert_eq!(traces, (0..20).map(trace).collect::<Vec<_>>());
    assert_eq!(traces.iter().collect::<BTreeSet<_>>().len(), 20);
}
