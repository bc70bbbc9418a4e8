//! What every ledger must do, as test cases that any ledger crate runs.
//!
//! A ledger crate says how a fresh ledger is made, and [`conformance!`](crate::conformance!) writes one test per case,
//! so that a failure has a name. The crate needs `tokio` with `macros` and `rt-multi-thread` as a dev-dependency.
//!
//! ```
//! use ratchet_core::conformance::{Fixture, STARTED_AT};
//! use ratchet_core::random::SystemRandom;
//! use ratchet_core::time::ManualClock;
//! use ratchet_core::MemoryLedger;
//!
//! async fn fresh() -> Fixture {
//!     let clock = ManualClock::at(STARTED_AT);
//!     Fixture::new(MemoryLedger::with(clock.clone(), SystemRandom::shared()), clock)
//! }
//!
//! ratchet_core::conformance!(fresh);
//! # let _ = fresh;
//! ```
//!
//! Every time that a case expects is a literal distance from [`STARTED_AT`]: a ledger that reads another clock than the
//! fixture's fails.

#![allow(clippy::missing_panics_doc, reason = "a case fails by panicking")]

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::SharedLedger;
use crate::time::{ManualClock, Timestamp};

pub mod admission;
pub mod batch;
pub mod claim;
pub mod crowd;
pub mod decision;
pub mod document;
pub mod follow;
pub mod generation;
pub mod keep;
pub mod late;
pub mod lease;
pub mod limit;
pub mod list;
pub mod mark;
pub mod moving;
pub mod people;
pub mod place;
pub mod queue;
pub mod race;
pub mod serve;
pub mod submit;
pub mod template;
pub mod text;
pub mod wake;
pub mod work;

mod build;
mod history;

/// Where the clock of a fixture stands at first: 2026-01-15T08:00:00Z.
pub const STARTED_AT: Timestamp = Timestamp::from_millis(1_768_464_000_000);

/// A fresh, empty ledger, the clock that it reads, and what must live as long as it.
pub struct Fixture {
    /// The ledger.
    pub ledger: SharedLedger,
    /// The only clock that the ledger reads.
    pub clock: Arc<ManualClock>,
    guard: Box<dyn Any + Send + Sync>,
}

impl Fixture {
    /// A ledger that reads `clock`, which stands at [`STARTED_AT`].
    #[must_use]
    pub fn new(ledger: SharedLedger, clock: Arc<ManualClock>) -> Self {
        Self { ledger, clock, guard: Box::new(()) }
    }

    /// Keeps something (a directory, a server) until the case is over.
    #[must_use]
    pub fn keeping(mut self, guard: impl Any + Send + Sync) -> Self {
        self.guard = Box::new((self.guard, guard));
        self
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture")
            .field("ledger", &self.ledger)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// Writes one `#[tokio::test]` per case, for ledgers that `make` makes: an async function or closure without
/// parameters that gives a [`Fixture`].
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance_of_engines! { $make }
        $crate::conformance_cases! { $make;
            moving {
                a_source_lets_nothing_begin,
                a_source_pins_nothing_new,
                a_frozen_store_changes_no_more,
                a_source_that_is_taken_back_goes_on,
                a_target_takes_what_is_carried_alone,
                a_target_holds_nothing_before,
                a_target_that_opens_is_no_restored_backup,
                a_random_history_is_carried_without_loss,
                a_history_of_its_own_is_read_as_the_reference,
                a_filled_store_answers_for_every_key,
                a_store_is_not_moved_to_itself,
                a_move_is_gone_on_with,
            }
            follow {
                a_follower_waits_until_its_predecessor_has_ended,
                the_branch_that_is_not_taken_is_skipped,
                what_is_stopped_skips_its_followers,
                an_end_that_is_long_over_is_followed,
                nothing_comes_after_a_record_that_does_not_exist,
                a_batch_may_hold_a_chain,
                what_was_decided_stays_decided,
                an_open_question_is_no_end,
                a_waiting_record_is_cancelled_and_waits_again,
                a_lost_lease_is_followed,
                many_followers_are_decided_about,
                an_end_wakes_who_waits_for_a_follower,
                skipped_records_are_purged_and_waiting_ones_are_not,
            }
            crowd {
                concurrent_claimers_never_pass_the_limit,
            }
        }
    };
}

/// The cases of [`conformance!`](crate::conformance!) that an engine has to pass as well, which pushes attempts to workers: it
/// tells followers of an end by messages, several pollers count and lease in two steps, and it is no store to move from or to.
#[macro_export]
macro_rules! conformance_of_engines {
    ($make:expr) => {
        $crate::conformance_cases! { $make;
            submit {
                a_new_key_makes_a_pending_record,
                a_trace_is_kept_and_is_no_part_of_the_action,
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
                a_stale_success_is_kept_until_the_newer_attempt_ends,
                a_stale_success_ends_a_lease_without_a_start,
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
                a_declaration_that_came_later_is_adopted,
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
    };
}

/// The expansion of [`conformance!`](crate::conformance!).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($make:expr; $($topic:ident { $($case:ident,)+ })+) => {
        $(
            mod $topic {
                #[allow(unused_imports, clippy::wildcard_imports, reason = "`make` is named in the scope around")]
                use super::*;

                $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                    async fn $case() {
                        $crate::conformance::$topic::$case(($make)().await).await;
                    }
                )+
            }
        )+
    };
}
