//! What every ledger must do, on an engine of its own for each case.
//!
//! They take some minutes, since a server starts for each, so they run only when they are asked for. Two things are left out, since the engine promises less than a
//! database does (`docs/restate.md`): records that come after others are told of an end by messages, a moment later and not
//! within the call (all of `follow`); and pollers count what runs and lease in two steps
//! (`limit::concurrent_claimers_never_pass_the_limit`).

#[path = "support/server.rs"]
mod server;

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::conformance::{Fixture, STARTED_AT};
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;
use ratchet_core::{Ledger as _, SharedLedger};
use ratchet_restate::RestateLedger;
use server::Server;

async fn fresh() -> Fixture {
    let server = tokio::task::spawn_blocking(Server::start).await.expect("a server");
    let clock = ManualClock::at(STARTED_AT);
    let ledger = RestateLedger::open_with(&server.url(), clock.clone(), SystemRandom::shared());
    let ledger: Arc<RestateLedger> = ledger.expect("a ledger");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let uri = format!("http://{}", listener.local_addr().expect("its address"));
    let objects = Arc::clone(&ledger);
    tokio::spawn(async move {
        let forever = std::future::pending();
        ratchet_restate::serve(&objects, None, listener, &uri, forever).await.expect("it is served");
    });
    // The first call makes the mark, at the moment that the case expects.
    while ledger.mark().await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ledger: SharedLedger = ledger;
    Fixture::new(ledger, clock).keeping(server)
}

ratchet_core::conformance_cases! { fresh;
    submit {
        a_new_key_makes_a_pending_record,
        a_repetition_is_told_what_is_on_record,
        a_repetition_of_a_success_receives_its_result,
        another_input_conflicts_and_changes_nothing,
        another_version_is_the_same_action,
        namespaces_and_operations_are_separate,
        one_batch_is_answered_in_order,
        a_batch_answers_like_single_calls,
        an_empty_batch_has_no_answers,
        not_before_is_never_in_the_past,
        the_longest_names_and_the_largest_input_are_kept,
    }
    mark {
        a_mark_is_raised_and_stays,
        an_acknowledgement_ends_the_holding_back,
        what_is_declared_is_told,
    }
    document {
        a_document_is_written_once_and_found,
        a_write_needs_the_version_that_stands,
        a_document_is_deleted_as_it_was_seen,
        documents_are_read_in_pages_of_one_kind,
        any_text_is_kept,
        one_of_many_writers_is_done,
    }
    place {
        a_group_lists_its_records,
        a_place_stands_for_a_record,
    }
    generation {
        a_new_generation_follows_each_definite_end,
        no_generation_follows_an_open_end,
        only_the_newest_generation_has_a_successor,
        a_repeated_renewal_makes_no_second_one,
        the_newest_generation_answers_for_the_key,
        generations_run_side_by_side_with_their_own_tokens,
    }
    claim {
        the_most_urgent_and_then_the_longest_waiting_comes_first,
        nothing_is_claimed_before_its_time,
        the_limit_is_kept,
        a_claim_grants_a_lease_and_no_start,
        only_named_operations_and_versions_are_touched,
        only_the_named_namespace_is_touched,
        no_lease_is_longer_than_the_longest,
        start_is_merged_only_where_the_destination_deduplicates,
        a_record_that_slept_past_its_window_is_parked,
        parked_records_stand_in_nobody_s_way,
        a_retry_is_claimed_again_with_a_higher_token,
    }
    lease {
        a_lease_is_exclusive_until_its_deadline,
        an_unstarted_lease_ends_at_no_cost,
        a_started_lease_ends_unknown,
        a_started_lease_without_deduplication_parks,
        an_implausible_lease_counts_as_over,
        a_small_jump_back_ends_no_lease,
        only_the_wall_clock_of_the_store_counts,
        a_lease_is_extended_from_now,
        a_lease_is_given_back_at_no_cost,
        expire_keeps_its_limit,
        a_record_that_does_not_exist_is_refused,
    }
    late {
        a_late_renewal_is_accepted,
        a_late_outcome_is_accepted,
        a_superseded_token_is_refused,
        a_stale_outcome_is_only_noted,
        settling_twice_with_one_token_is_fine,
        a_stale_success_settles_an_uncertain_record,
        a_stale_success_settles_a_waiting_record,
        a_stale_failure_changes_no_uncertain_record,
        a_certain_end_replaces_an_unknown_one_on_its_attempt,
    }
    work {
        a_start_is_durable_and_counted_once,
        an_outcome_needs_a_start,
        a_pin_is_kept_for_every_later_attempt,
        a_changed_request_is_refused_and_changes_nothing,
        steps_are_kept_one_by_one,
        a_step_that_can_be_asked_about_is_kept,
        a_retry_waits_as_long_as_the_destination_asks,
        attempts_are_listed_in_order,
        an_uncertain_record_says_why,
    }
    decision {
        every_change_is_what_the_decision_says,
        refusals_change_nothing,
        orders_of_one_batch_see_each_other,
        a_full_record_survives_a_round_trip,
    }
    people {
        cancel_stops_a_waiting_record,
        cancel_supersedes_an_unstarted_lease,
        cancel_tells_a_running_worker,
        replay_keeps_the_identity_and_grows_the_token,
        replay_of_an_uncertain_record_needs_the_risk_accepted,
        applied_settles_as_succeeded,
        not_applied_and_closed_settles_as_failed,
        not_applied_with_old_calls_refused_runs_again,
        still_unknown_only_moves_the_next_question,
        decisions_of_people_are_listed_in_order,
        decisions_about_all_records_are_listed_the_latest_first,
    }
    keep {
        purge_waits_for_the_end_of_the_retention,
        purge_honours_the_retention_of_each_record,
        purge_never_takes_what_is_open_or_uncertain,
        purge_keeps_its_limit,
        purge_takes_a_backlog_in_batches,
        a_tombstone_answers_for_ever,
        a_tombstone_takes_no_orders,
        a_new_generation_may_follow_a_tombstone,
        a_replayed_record_is_not_purged,
    }
    list {
        pages_cover_everything_once,
        a_page_holds_a_hundred_unless_told_otherwise,
        filters_keep_what_they_name,
        the_latest_come_first_on_request,
        records_that_change_keep_their_place,
        an_empty_ledger_has_an_empty_page,
        a_key_is_found_without_its_operation,
        records_are_counted_by_state,
    }
    template {
        a_changed_template_is_refused,
        a_changed_template_with_a_reason_is_added,
        an_accepted_template_stays_accepted,
        old_and_new_templates_may_come_together,
        the_first_template_needs_no_reason_and_the_second_does,
        a_refused_batch_adds_no_template,
        a_refused_batch_of_templates_records_nothing,
        two_templates_for_one_name_in_one_batch_are_refused,
        what_was_hidden_once_stays_hidden,
    }
    serve {
        unserved_records_are_counted_when_they_are_due,
        what_a_deploy_left_behind_is_reported_until_it_is_served,
        the_next_due_moment_is_the_earliest_of_waits_and_leases,
        uncertain_records_are_to_be_asked_about_when_they_are_due,
        the_wait_for_the_next_due_moment_shrinks_to_nothing,
    }
    queue {
        only_the_offered_queues_are_touched,
        the_order_holds_across_queues,
        a_repetition_in_another_queue_is_the_same_action,
        a_new_generation_may_wait_in_another_queue,
    }
    limit {
        no_more_are_leased_than_the_limit_allows,
        versions_and_queues_share_one_limit,
        records_that_are_held_back_stand_in_nobody_s_way,
        the_most_urgent_takes_the_room,
        limits_are_separate,
        a_lease_that_is_over_counts_until_it_is_expired,
        a_parked_record_takes_no_room,
        what_is_held_back_is_not_due,
        an_end_wakes_who_waits_for_room,
    }
    admission {
        callers_share_one_limit,
        the_place_of_a_dead_worker_comes_back,
        the_rate_is_kept,
        a_breaker_opens_and_closes_for_everybody,
        a_gate_is_opened_by_hand,
        a_pause_holds_for_everybody,
        gates_are_listed_by_name,
        concurrent_callers_never_pass_the_limit,
    }
    wake {
        a_submission_wakes_a_sleeping_worker,
        one_new_record_in_a_batch_wakes_a_sleeping_worker,
        a_replay_wakes_a_sleeping_worker,
        a_verdict_for_another_attempt_wakes_a_sleeping_worker,
        a_lease_that_is_given_back_wakes_a_sleeping_worker,
        a_lease_that_ends_wakes_a_sleeping_worker,
        a_retry_wakes_a_sleeping_worker,
    }
    batch {
        one_claim_takes_what_several_would,
        orders_are_answered_like_single_calls,
    }
    text {
        the_words_of_people_are_kept,
        the_detail_of_a_cause_is_kept,
        inputs_and_results_are_kept,
        pins_are_kept,
        templates_are_compared_to_the_end,
    }
    race {
        thirty_two_callers_make_one_record,
        overlapping_batches_make_each_record_once,
        eight_workers_never_get_the_same_record,
        one_renewal_of_many_makes_a_generation,
        one_of_two_settlers_decides,
        a_lease_ends_once_for_many_keepers,
        cancel_and_start_exclude_each_other,
        purge_and_replay_exclude_each_other,
    }
}
