//! One measurement: one kind of work by one subject, in a process and a database of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::board;
use crate::observer::Observer;
use crate::subject::{Result, Subject};
use crate::usage::Spent;
use crate::work::{BATCH, CALLERS, Measure, PICKUP_RATE, Tuning, Work};

/// Jobs with these ids warm up connections and plans, and are not counted.
const WARM_UP: u64 = 1 << 40;

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) work: Work,
    pub(crate) url: String,
    /// The process of the server, if there is one.
    pub(crate) server: Option<u32>,
    /// The single enqueues; other kinds of work are scaled by it.
    pub(crate) jobs: u64,
    /// How long jobs arrive in `pickup`.
    pub(crate) seconds: u64,
    /// When a work that is not finished is broken off; its rate is that of what was done.
    pub(crate) limit: Duration,
}

pub(crate) async fn measure<S: Subject>(task: Task) -> Result<Measure> {
    let mut observer = Observer::connect(&task.url).await?;
    observer.create_effects().await?;
    let subject = S::open(&task.url).await?;
    let size = task.work.size(task.jobs);
    match task.work {
        Work::Enqueue => {
            warm_up(&subject).await?;
            enqueue(&subject, &task, size).await
        }
        Work::Duplicate => {
            warm_up(&subject).await?;
            call_all(&subject, Call::Enqueue, size, Duration::MAX).await?;
            let before = observer.count(S::RECORDS).await?;
            observer.settle().await?;
            let measure = enqueue(&subject, &task, size).await?;
            let more = observer.count(S::RECORDS).await?.saturating_sub(before);
            Ok(measure.noted((more > 0).then(|| format!("{more} duplicates recorded"))))
        }
        Work::Batch => batch(&subject, &task, size).await,
        Work::Drain => drain(&subject, &mut observer, &task, size, Tuning::Throughput).await,
        Work::DrainInstalled => drain(&subject, &mut observer, &task, size, Tuning::Installed).await,
        Work::Pickup => pickup(&subject, &task, Tuning::Latency).await,
        Work::PickupInstalled => pickup(&subject, &task, Tuning::Installed).await,
        Work::Effect => effect(&subject, &mut observer, &task, size).await,
    }
}

/// Every caller's connection is open and its statements are prepared.
async fn warm_up<S: Subject>(subject: &S) -> Result<()> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let subject = subject.clone();
        callers.spawn(async move {
            for turn in 0..8 {
                subject.enqueue(WARM_UP + turn * CALLERS + caller).await?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller??;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Call {
    Enqueue,
    Effect,
}

/// The callers share the ids from 0 to `size`, and call one after the other. Answers how long each call took.
async fn call_all<S: Subject>(subject: &S, call: Call, size: u64, limit: Duration) -> Result<Vec<Duration>> {
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let subject = subject.clone();
        callers.spawn(async move {
            let mut latencies = Vec::new();
            for id in (caller..size).step_by(usize::try_from(CALLERS)?) {
                let started = Instant::now();
                match call {
                    Call::Enqueue => subject.enqueue(id).await?,
                    Call::Effect => subject.effect(id).await?,
                }
                latencies.push(started.elapsed());
                if begun.elapsed() > limit {
                    break;
                }
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(of_caller) = callers.join_next().await {
        latencies.extend(of_caller??);
    }
    Ok(latencies)
}

async fn enqueue<S: Subject>(subject: &S, task: &Task, size: u64) -> Result<Measure> {
    let before = Spent::until_now(task.server);
    let started = Instant::now();
    let latencies = call_all(subject, Call::Enqueue, size, task.limit).await?;
    let elapsed = started.elapsed();
    let spent = Spent::until_now(task.server).since(before);
    Ok(Measure::new(u64::try_from(latencies.len())?, elapsed, spent, latencies))
}

async fn effect<S: Subject>(subject: &S, observer: &mut Observer, task: &Task, size: u64) -> Result<Measure> {
    let before = Spent::until_now(task.server);
    let started = Instant::now();
    let latencies = call_all(subject, Call::Effect, size, task.limit).await?;
    let elapsed = started.elapsed();
    let spent = Spent::until_now(task.server).since(before);
    let operations = u64::try_from(latencies.len())?;
    let effects = observer.count("SELECT count(*) FROM effects").await?;
    if effects != operations {
        return Err(format!("{effects} effects of {operations} operations").into());
    }
    Ok(Measure::new(operations, elapsed, spent, latencies))
}

async fn batch<S: Subject>(subject: &S, task: &Task, size: u64) -> Result<Measure> {
    for turn in 0..2 {
        let first = WARM_UP + turn * BATCH;
        subject.enqueue_batch(first..first + BATCH).await?;
    }
    let before = Spent::until_now(task.server);
    let started = Instant::now();
    let mut done = 0;
    while done < size && started.elapsed() < task.limit {
        subject.enqueue_batch(done..done + BATCH).await?;
        done += BATCH;
    }
    let elapsed = started.elapsed();
    Ok(Measure::new(done, elapsed, Spent::until_now(task.server).since(before), Vec::new()))
}

async fn drain<S: Subject>(
    subject: &S,
    observer: &mut Observer,
    task: &Task,
    size: u64,
    tuning: Tuning,
) -> Result<Measure> {
    let size = size / S::BACKLOG_DIVISOR;
    board::expect(size);
    if S::offers(Work::Batch) {
        for first in (0..size).step_by(usize::try_from(BATCH)?) {
            subject.enqueue_batch(first..size.min(first + BATCH)).await?;
        }
    } else {
        call_all(subject, Call::Enqueue, size, Duration::MAX).await?;
    }
    let backlog = observer.count(S::OPEN).await?;
    if backlog < size {
        return Err(format!("{backlog} jobs are on record, not {size}").into());
    }
    observer.settle().await?;

    let before = Spent::until_now(task.server);
    let started = Instant::now();
    subject.start_worker(tuning).await?;
    board::all_ran(task.limit).await;
    let open = loop {
        let open = observer.count(S::OPEN).await?;
        if open == 0 || started.elapsed() > task.limit {
            break open;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let elapsed = started.elapsed();
    let spent = Spent::until_now(task.server).since(before);
    let repeated = board::repeated_runs();
    let mut note = Vec::new();
    if open > 0 {
        note.push(format!("{open} of {backlog} left after {} s", task.limit.as_secs()));
    }
    if repeated > 0 {
        note.push(format!("{repeated} runs too many"));
    }
    let measure = Measure::new(backlog.saturating_sub(open), elapsed, spent, Vec::new());
    Ok(measure.noted((!note.is_empty()).then(|| note.join(", "))))
}

async fn pickup<S: Subject>(subject: &S, task: &Task, tuning: Tuning) -> Result<Measure> {
    let jobs = PICKUP_RATE * task.seconds;
    board::expect(jobs);
    subject.start_worker(tuning).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;

    // The jobs of the first tenth warm up.
    let warm = jobs / 10;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(PICKUP_RATE)?);
    let (mut before, mut since) = (Spent::until_now(task.server), Instant::now());
    let failures = Arc::new(AtomicU64::new(0));
    for id in 0..jobs {
        ticks.tick().await;
        if id == warm {
            (before, since) = (Spent::until_now(task.server), Instant::now());
        }
        let (subject, failures) = (subject.clone(), failures.clone());
        board::sent(id);
        tokio::spawn(async move {
            if subject.enqueue(id).await.is_err() {
                failures.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    board::all_ran(task.limit).await;
    let elapsed = since.elapsed();
    let spent = Spent::until_now(task.server).since(before);
    let latencies = board::latencies(usize::try_from(warm)?);
    let missing = u64::try_from(latencies.len())?.abs_diff(jobs - warm);
    let failed = failures.load(Ordering::Relaxed);
    let note = (missing + failed > 0).then(|| format!("{missing} did not start, {failed} were refused"));
    Ok(Measure::new(u64::try_from(latencies.len())?, elapsed, spent, latencies).noted(note))
}
