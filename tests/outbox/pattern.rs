//! The same tests for each store. Their statements are understood by both.

macro_rules! outbox {
    (mod $store:ident; pool = $pool:ty; enqueue_in = $enqueue_in:path; database = $database:block;) => {
        mod $store {
            use super::*;

            struct Shop {
                pool: $pool,
                /// In the same database.
                ratchet: Ratchet,
                _database: Box<dyn std::any::Any>,
            }

            async fn shop() -> Shop {
                let (database, url) = $database;
                let ratchet = Ratchet::open(&url).await.unwrap();
                let pool = <$pool>::connect(&url).await.unwrap();
                for table in [
                    "CREATE TABLE orders (id BIGINT PRIMARY KEY)",
                    "CREATE TABLE outbox (id BIGINT PRIMARY KEY, order_id BIGINT NOT NULL, sent BOOLEAN NOT NULL DEFAULT false)",
                ] {
                    sqlx::query(table).execute(&pool).await.unwrap();
                }
                Shop { pool, ratchet, _database: Box::new(database) }
            }

            /// The order and the operation, in one transaction.
            async fn order(shop: &Shop, order_id: i64, commits: bool) -> RecordId {
                let mut transaction = shop.pool.begin().await.unwrap();
                let insert = sqlx::query("INSERT INTO orders (id) VALUES ($1)").bind(order_id);
                insert.execute(&mut *transaction).await.unwrap();
                let request = announce_order::request(Order { order_id });
                let id = id_of($enqueue_in(&mut transaction, request).await.unwrap());
                if commits { transaction.commit().await.unwrap() } else { drop(transaction) }
                id
            }

            async fn orders(shop: &Shop) -> Vec<i64> {
                sqlx::query_scalar("SELECT id FROM orders ORDER BY id").fetch_all(&shop.pool).await.unwrap()
            }

            #[tokio::test]
            async fn the_business_row_and_the_operation_are_written_together_or_not_at_all() {
                let shop = shop().await;
                let lost = order(&shop, 1, false).await;
                let kept = order(&shop, 2, true).await;
                assert_eq!(orders(&shop).await, [2]);
                assert!(shop.ratchet.find(lost).await.unwrap().is_none());
                assert!(shop.ratchet.find(kept).await.unwrap().is_some());
            }

            #[tokio::test]
            async fn a_relay_that_dies_between_send_and_mark_sends_the_same_key_again() {
                let shop = shop().await;
                let mut destination = Destination::start().await;
                let id = order(&shop, 7, true).await;
                send_and_die(shop.ratchet.clone(), &mut destination).await;
                let record = settle(&shop.ratchet, &destination, &id).await;
                assert_eq!((record.state, record.attempts), (ratchet::RecordState::Succeeded, 2));
                let asked_twice = ("order:7:announce:v1".to_owned(), "7".to_owned(), 2);
                assert_eq!(destination.effects(), [asked_twice]);
            }

            /// The order and a message about it, in a database that has no ledger.
            async fn order_with_message(shop: &Shop, message_id: i64, order_id: i64) {
                let mut transaction = shop.pool.begin().await.unwrap();
                let insert = sqlx::query("INSERT INTO orders (id) VALUES ($1)").bind(order_id);
                insert.execute(&mut *transaction).await.unwrap();
                let insert = sqlx::query("INSERT INTO outbox (id, order_id) VALUES ($1, $2)");
                insert.bind(message_id).bind(order_id).execute(&mut *transaction).await.unwrap();
                transaction.commit().await.unwrap();
            }

            /// One round of a relay: what is not marked is submitted, and marked then. Gives what the ledger said.
            async fn relay(shop: &Shop, ledger: &Ratchet, dies_before_marking: bool) -> Vec<Enqueued<()>> {
                let unsent = "SELECT id, order_id FROM outbox WHERE NOT sent ORDER BY id";
                let unsent: Vec<(i64, i64)> = sqlx::query_as(unsent).fetch_all(&shop.pool).await.unwrap();
                let mut answers = Vec::new();
                for (message_id, order_id) in unsent {
                    answers.push(relay_message::enqueue(ledger, Message { message_id, order_id }).await.unwrap());
                    if dies_before_marking {
                        return answers;
                    }
                    let mark = sqlx::query("UPDATE outbox SET sent = true WHERE id = $1").bind(message_id);
                    mark.execute(&shop.pool).await.unwrap();
                }
                answers
            }

            #[tokio::test]
            async fn a_message_for_a_ledger_elsewhere_has_the_identity_of_its_row() {
                let (shop, ledger) = (shop().await, Ratchet::in_memory());
                let destination = Destination::start().await;
                order_with_message(&shop, 31, 7).await;
                order_with_message(&shop, 32, 8).await;
                let told = relay(&shop, &ledger, true).await;
                let [Enqueued::New { id }] = &told[..] else { panic!("{told:?}") };
                // The first message was carried out before the relay came back.
                settle(&ledger, &destination, id).await;
                let again = relay(&shop, &ledger, false).await;
                let [Enqueued::Existing { id: same, .. }, Enqueued::New { id: second }] = &again[..] else {
                    panic!("{again:?}")
                };
                assert_eq!(same, id);
                settle(&ledger, &destination, second).await;
                assert!(relay(&shop, &ledger, false).await.is_empty());
                let once = |key: &str, order: &str| (key.to_owned(), order.to_owned(), 1);
                assert_eq!(destination.effects(), [once("outbox:31:relay:v1", "7"), once("outbox:32:relay:v1", "8")]);
            }

            #[cfg(feature = "restate")]
            #[tokio::test(flavor = "multi_thread")]
            async fn a_message_for_an_engine_is_one_record_there() {
                let (shop, destination) = (shop().await, Destination::start().await);
                let warehouse = Warehouse::at(&destination, false);
                let engine = Engine::start(ratchet::registry![relay_message], |worker| worker.state(warehouse)).await;
                order_with_message(&shop, 31, 7).await;
                order_with_message(&shop, 32, 8).await;
                let told = relay(&shop, &engine.ratchet, true).await;
                let [Enqueued::New { id }] = &told[..] else { panic!("{told:?}") };
                let again = relay(&shop, &engine.ratchet, false).await;
                let [Enqueued::Existing { id: same, .. }, Enqueued::New { id: second }] = &again[..] else {
                    panic!("{again:?}")
                };
                assert_eq!(same, id);
                for id in [id, second] {
                    assert_eq!(engine.settled(id).await.state, ratchet::RecordState::Succeeded);
                }
                assert!(relay(&shop, &engine.ratchet, false).await.is_empty());
                let on_record = engine.ratchet.list(ratchet::Filter::default()).await.unwrap().records;
                assert_eq!(on_record.len(), 2, "{on_record:?}");
                let once = |key: &str, order: &str| (key.to_owned(), order.to_owned(), 1);
                assert_eq!(destination.effects(), [once("outbox:31:relay:v1", "7"), once("outbox:32:relay:v1", "8")]);
            }

            #[tokio::test]
            async fn relays_that_race_submit_a_message_once() {
                let (shop, ledger) = (shop().await, Ratchet::in_memory());
                order_with_message(&shop, 31, 7).await;
                let (one, other) = tokio::join!(relay(&shop, &ledger, false), relay(&shop, &ledger, false));
                let told: Vec<_> = one.into_iter().chain(other).collect();
                assert_eq!(told.iter().filter(|told| matches!(told, Enqueued::New { .. })).count(), 1, "{told:?}");
                assert!(told.iter().all(|told| !matches!(told, Enqueued::Conflict(_))), "{told:?}");
            }
        }
    };
}
