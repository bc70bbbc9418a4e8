//! CPU time of this program and of the server's processes.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// The kernel counts the time of other processes in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// CPU time, user and system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) program: Duration,
    pub(crate) server: Duration,
}

impl Spent {
    /// Up to now. `server` is the process that the server's others descend from.
    pub(crate) fn until_now(server: Option<u32>) -> Self {
        Self { program: program(), server: server.map_or(Duration::ZERO, of_server) }
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            program: self.program.saturating_sub(before.program),
            server: self.server.saturating_sub(before.server),
        }
    }
}

fn program() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("this process is there");
    duration(usage.user_time()) + duration(usage.system_time())
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(microseconds)
}

/// The postmaster with the children that it has waited for, and those that are alive.
fn of_server(postmaster: u32) -> Duration {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ticks: u64 = processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| Some((pid, stat(pid)?)))
        .filter_map(|(pid, stat)| match stat {
            Stat { own, waited, .. } if pid == postmaster => Some(own + waited),
            Stat { own, parent, .. } if parent == postmaster => Some(own),
            _ => None,
        })
        .sum();
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

struct Stat {
    parent: u32,
    own: u64,
    waited: u64,
}

/// See `man 5 proc_pid_stat`; the fields are counted from behind the name, which may hold anything.
fn stat(pid: u32) -> Option<Stat> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |position: usize| fields.get(position)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(field(1)?).ok()?,
        own: field(11)? + field(12)?,
        waited: field(13)? + field(14)?,
    })
}
