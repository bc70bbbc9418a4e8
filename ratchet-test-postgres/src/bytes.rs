//! Connections that end after so many bytes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the program.
    ToServer,
    /// From the server.
    ToProgram,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Both sides see it at once.
    Cut,
    /// Nothing passes any more, and both sides believe in the connection.
    Freeze,
}

/// Counts what passes on all connections, and ends one of them.
#[derive(Debug, Default)]
pub(crate) struct Bytes(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    to_server: usize,
    to_program: usize,
    next: Option<(usize, Direction, End)>,
}

impl Bytes {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end_after(&self, more: usize, direction: Direction, end: End) {
        let mut counts = self.counts();
        counts.next = Some((*counts.of(direction) + more, direction, end));
    }

    pub(crate) fn passed(&self, direction: Direction) -> usize {
        *self.counts().of(direction)
    }

    pub(crate) fn calls_off_end(&self) -> bool {
        self.counts().next.take().is_some()
    }

    /// How many of these bytes pass, and what comes then.
    pub(crate) fn pass(&self, length: usize, direction: Direction) -> (usize, Option<End>) {
        let mut counts = self.counts();
        let passed = counts.of(direction);
        let before = *passed;
        *passed += length;
        match counts.next {
            Some((at, of, end)) if of == direction && at < before + length => {
                counts.next = None;
                (at - before, Some(end))
            }
            _ => (length, None),
        }
    }
}

impl Counts {
    const fn of(&mut self, direction: Direction) -> &mut usize {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToProgram => &mut self.to_program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_after_the_byte_that_was_asked_for() {
        let bytes = Bytes::default();
        assert_eq!(bytes.pass(10, Direction::ToServer), (10, None));
        bytes.end_after(7, Direction::ToServer, End::Freeze);
        assert_eq!(bytes.pass(100, Direction::ToProgram), (100, None));
        assert_eq!(bytes.pass(7, Direction::ToServer), (7, None));
        assert_eq!(bytes.pass(5, Direction::ToServer), (0, Some(End::Freeze)));
        assert_eq!(bytes.pass(5, Direction::ToServer), (5, None));
        assert!(!bytes.calls_off_end());
    }
}
