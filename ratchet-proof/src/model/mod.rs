//! The decision function explored by a model checker: every order of a bounded number of faults.
//!
//! One key with its generations is modelled. Records do not know each other, so more keys would only multiply what is
//! explored.

mod actions;
mod arrive;
mod properties;
mod rules;
mod scenario;
mod step;
mod steps;
mod suite;
mod world;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ratchet_core::decide::PinRequest;
use ratchet_core::{
    Fingerprint, Generation, Key, Namespace, OperationName, Payload, Priority, Queue, Recipe, RecordId,
    Scope, Submission, Version,
};
use stateright::{Checker as _, HasDiscoveries, Model, Path, Property};

pub use scenario::Bounds;
pub use suite::ModelSuite;

use crate::planted::Mutation;
use actions::Action;
use rules::Rules;
use scenario::{Effect, Scenario};
use world::World;

/// A scenario under the rules of the product, or with one of them broken.
#[derive(Debug, Clone)]
struct Protocol {
    scenario: Scenario,
    rules: Rules,
    submission: Submission,
    /// What is sent, by effect.
    requests: Vec<PinRequest>,
    /// The destination recognised a repetition, in some world.
    absorbed: Arc<AtomicBool>,
    /// The store judged an outcome that was superseded, in some world.
    judged_late: Arc<AtomicBool>,
    /// One of so many worlds is asked whether everything ends when faults stop.
    sample: u64,
}

/// What a run of the checker found.
#[derive(Debug)]
struct Explored {
    states: u64,
    /// Whether the bounds were reached, and not a limit of time or memory.
    complete: bool,
    /// Properties that do not hold, with the way to a counterexample.
    violations: Vec<(&'static str, String)>,
    /// What should happen sometimes and did not.
    never: Vec<&'static str>,
}

impl Protocol {
    fn new(scenario: Scenario, broken: Option<Mutation>) -> Self {
        let submission = submission(&scenario);
        let requests = scenario.effects.iter().map(request).collect();
        Self {
            scenario,
            rules: Rules { broken },
            submission,
            requests,
            absorbed: Arc::default(),
            judged_late: Arc::default(),
            sample: 32,
        }
    }

    /// Explores breadth first, so that a counterexample is as short as it can be.
    fn explore(self, at_most: Duration, states: usize, until: HasDiscoveries) -> Explored {
        let started = Instant::now();
        let checker = self.checker().timeout(at_most).target_state_count(states).finish_when(until);
        let checker = checker.spawn_bfs().join();
        let found = checker.discoveries();
        let properties = checker.model().properties();
        let is_failure = |name: &str| {
            properties
                .iter()
                .any(|property| property.name == name && property.expectation.discovery_is_failure())
        };
        let never = properties.iter().filter(|property| !property.expectation.discovery_is_failure());
        let never = never.map(|property| property.name).filter(|name| !found.contains_key(name)).collect();
        let violations = found.iter().filter(|(name, _)| is_failure(name));
        let mut violations: Vec<_> = violations.map(|(name, path)| (*name, way(path))).collect();
        violations.sort_unstable();
        Explored {
            states: checker.unique_state_count() as u64,
            complete: started.elapsed() < at_most && checker.state_count() < states,
            violations,
            never,
        }
    }

    fn is_sampled(&self, world: &World) -> bool {
        let mut hasher = DefaultHasher::new();
        world.hash(&mut hasher);
        hasher.finish().is_multiple_of(self.sample)
    }
}

fn way(path: &Path<World, Action>) -> String {
    let actions: Vec<String> =
        path.clone().into_actions().iter().map(|action| format!("{action:?}")).collect();
    actions.join(", ")
}

fn request(effect: &Effect) -> PinRequest {
    PinRequest {
        wire_key: "invoice:1".to_owned(),
        recipe: Recipe::VERBATIM,
        secret: None,
        place: effect.contract.mechanism().to_string(),
        deduplicates: effect.contract.deduplicates(),
        scope: Scope::of("bank"),
        request: Fingerprint::of(b"body").into(),
        kept: None,
        sent_before: false,
    }
}

fn submission(scenario: &Scenario) -> Submission {
    let key = Key::parse("invoice:1").unwrap_or_else(|error| unreachable!("a key of letters: {error}"));
    let id = RecordId {
        namespace: Namespace::DEFAULT,
        operation: OperationName::from_static("collect"),
        key,
        generation: Generation::FIRST,
    };
    Submission {
        id,
        version: Version::from_static("1"),
        input: Payload::from_stored("1"),
        compared: None,
        policy: scenario.policy.clone(),
        contract: scenario.contract.terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority::default(),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let Bounds { workers, faults, orders, .. } = self.scenario.bounds;
        vec![World::new(workers, faults, orders)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        self.calm(world, actions);
        self.answers(world, actions);
        self.wild(world, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        self.step(world.clone(), action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

/// Any property of this list that fails ends an exploration.
fn any_failure() -> HasDiscoveries {
    HasDiscoveries::AnyFailures
}

/// Nothing ends an exploration but its bounds.
fn nothing() -> HasDiscoveries {
    HasDiscoveries::AllOf(BTreeSet::from(["this is no property"]))
}
