//! One program on every store. What differs is the address, and the line that lets a worker run.

#[path = "../../ratchet-restate/tests/support/server.rs"]
mod server;

mod destination;
mod program;
mod running;

macro_rules! on_every_store {
    ($($test:ident)*) => {
        on_every_store!(sqlite: $($test)*);
        on_every_store!(postgres: $($test)*);
        on_every_store!(restate: $($test)*);
    };
    ($store:ident: $($test:ident)*) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    crate::program::$test(crate::running::Store::$store().await).await;
                }
            )*
        }
    };
}

on_every_store! {
    an_operation_is_executed_once_however_often_it_is_submitted
    of_many_callers_one_makes_the_record
    what_was_not_applied_is_tried_again_when_it_is_time
    what_is_not_known_is_parked_until_somebody_settles_it
    what_is_cancelled_during_its_effect_is_uncertain
    what_is_not_due_waits
}
