//! A process that was started here, which may be stopped, woken and killed.

use std::io;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// For how long one waits for a process to stop itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(mut command: Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _may_be_gone = kill_process(pid, signal);
        }
    }

    /// Ends it as a loss of power does: nothing of it runs any more.
    pub(crate) fn kill(&mut self) {
        let _may_be_gone = self.0.kill();
        let _status = self.0.wait();
    }

    /// Waits for its end. It may be gone already.
    pub(crate) fn wait(&mut self) {
        let _status = self.0.wait();
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether the process stopped itself, or came to its end before.
pub(crate) fn is_stopped_soon(process: &Process) -> io::Result<bool> {
    let Some(pid) = process.pid() else { return Ok(false) };
    let look = || waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG);
    let mut status = look()?;
    let started = Instant::now();
    while status.is_none() && started.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
        status = look()?;
    }
    Ok(status.is_some_and(|(_, status)| status.stopped()))
}
