//! Which byte of a life it is after which a connection ends: each in turn, in both directions.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ratchet_test_postgres::{Direction, End};

use super::wire;
use crate::cases::{self, Cases, Seen};
use crate::planted::Mutation;
use crate::processes::{Bench, Broken};
use crate::suite::{Effort, Report, Suite};

/// Prime, so that all bytes come in turn, and near ones far apart.
const STRIDE: u64 = 617;

/// One of so many connections is frozen, which takes as long as its ledger waits for an answer; the others are cut.
const FREEZES: u64 = 16;

/// Connections to `PostgreSQL` that end after some byte of the life of an operation.
#[derive(Debug)]
pub struct ByteSuite {
    /// This program, which is started again with `child`.
    program: PathBuf,
    reached: Mutex<Reached>,
}

/// After which bytes connections have ended.
#[derive(Debug, Default)]
struct Reached {
    cut: [BTreeSet<usize>; 2],
    frozen: [BTreeSet<usize>; 2],
    /// The bytes of the longest life.
    of: [usize; 2],
}

/// How many bytes a life has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    pub(super) to_server: usize,
    pub(super) to_program: usize,
}

/// Where a connection ends, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) after: usize,
    pub(super) direction: Direction,
    pub(super) end: End,
}

impl Ending {
    /// One ending after the other. Those of each kind reach every byte.
    pub(super) fn nth(nth: u64, length: Length) -> Self {
        let (direction, bytes) = if nth.is_multiple_of(2) {
            (Direction::ToServer, length.to_server)
        } else {
            (Direction::ToProgram, length.to_program)
        };
        let nth = nth / 2;
        let (end, nth_of_kind) = if nth % FREEZES == FREEZES - 1 {
            (End::Freeze, nth / FREEZES)
        } else {
            (End::Cut, nth - nth / FREEZES)
        };
        let after = usize::try_from(nth_of_kind * STRIDE).unwrap_or(0) % bytes.max(1);
        Self { after, direction, end }
    }
}

impl ByteSuite {
    /// A suite whose last process is this program, the one of this crate.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program, reached: Mutex::default() }
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Suite for ByteSuite {
    fn name(&self) -> &'static str {
        "postgres-bytes"
    }

    fn what(&self) -> &'static str {
        "connections to PostgreSQL that were cut or frozen after some byte of the life of an operation"
    }

    fn run(&self, effort: Effort) -> Report {
        cases::run(self, effort)
    }
}

impl Cases for ByteSuite {
    fn name(&self) -> &'static str {
        Suite::name(self)
    }

    fn short(&self) -> u64 {
        60
    }

    fn planted(&self) -> &'static [Mutation] {
        &[Mutation::EarlyAcknowledgement]
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken> {
        let lives = wire::lives(Bench::new(&self.program, broken)?, number)?;
        if broken.is_none() {
            self.reached().add(lives.length, &lives.endings);
        }
        let faults = lives.endings.iter().map(|ending| described(*ending)).collect();
        Ok(Seen { findings: lives.findings, faults })
    }

    fn notes(&self) -> Vec<String> {
        self.reached().told()
    }
}

fn described(Ending { direction, end, .. }: Ending) -> String {
    let end = match end {
        End::Cut => "cut",
        End::Freeze => "frozen",
    };
    format!("{end} on the way {}", way(direction))
}

const fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "to the server",
        Direction::ToProgram => "to the program",
    }
}

const DIRECTIONS: [Direction; 2] = [Direction::ToServer, Direction::ToProgram];

impl Reached {
    fn add(&mut self, length: Length, endings: &[Ending]) {
        let longest = self.of.iter_mut().zip([length.to_server, length.to_program]);
        longest.for_each(|(longest, bytes)| *longest = bytes.max(*longest));
        for Ending { after, direction, end } in endings {
            let of_kind = match end {
                End::Cut => &mut self.cut,
                End::Freeze => &mut self.frozen,
            };
            let [to_server, to_program] = of_kind;
            match direction {
                Direction::ToServer => to_server.insert(*after),
                Direction::ToProgram => to_program.insert(*after),
            };
        }
    }

    fn told(&self) -> Vec<String> {
        let ways = DIRECTIONS.into_iter().zip(self.of).zip(self.cut.iter().zip(&self.frozen));
        let told = |((direction, of), (cut, frozen)): ((_, usize), (&BTreeSet<_>, &BTreeSet<_>))| {
            let (way, cut, frozen) = (way(direction), cut.len(), frozen.len());
            format!("of {of} bytes {way}, {cut} were the last before a cut and {frozen} before a freeze")
        };
        ways.map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_the_last_one_of_a_connection_that_is_cut_and_of_one_that_freezes() {
        let length = Length { to_server: 60, to_program: 91 };
        let mut reached = Reached::default();
        let endings: Vec<Ending> = (0..91 * 2 * FREEZES).map(|nth| Ending::nth(nth, length)).collect();
        reached.add(length, &endings);
        assert_eq!(
            reached.told(),
            [
                "of 60 bytes to the server, 60 were the last before a cut and 60 before a freeze",
                "of 91 bytes to the program, 91 were the last before a cut and 91 before a freeze",
            ]
        );
    }
}
