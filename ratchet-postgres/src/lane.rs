//! A task that does calls of one kind on a connection of its own, and commits for many callers at once.
//!
//! A commit costs a sync of the disk and a round trip, whatever it holds. So a lane takes everything that was asked while
//! the last commit was under way, does it in one transaction, and answers each caller after the commit.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::LedgerError;
use sqlx::PgConnection;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use crate::error::Fault;
use crate::session::{Connector, Session};

/// How many calls wait for a lane before further ones wait to be let in.
const WAITING_CALLS: usize = 1024;

/// How many calls share one commit at the most; bounds how long the first of them waits for the last.
const MOST_CALLS: usize = 512;

/// How long calls that share a commit wait for somebody else's lock, since all of them wait together, once for each half of
/// them that holds the one.
const BRIEFLY: Duration = Duration::from_millis(1);

/// How many calls wait for locks beside the lane.
const PATIENT_CALLS: usize = 4;

/// What a lane does.
pub(crate) trait Work: Send + Sync + 'static {
    type Question: Send + Sync;
    type Answer: Send;

    /// What is told of a connection that failed while it did this.
    const DOING: &'static str;

    /// Answers all questions, each of them wholly or not at all. After an error some may have been answered, so that they are
    /// answered alike when they are asked again. `each_alone` if no two of them belong to one call.
    fn answer(
        &self,
        connection: &mut PgConnection,
        questions: &[&Self::Question],
        each_alone: bool,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, Fault>> + Send;

    /// Sees the answers after the commit and before their callers do.
    fn committed(&self, _: &[Self::Answer]) {}

    /// Is told that calls get no answer: some of what they asked for may have been done.
    fn failed(&self) {}

    /// Whether the questions of one call have nothing to do with each other, so that what concerns one of them must not
    /// stop the others either.
    fn are_independent(_: &[Self::Question]) -> bool {
        false
    }

    /// How long calls that share a commit wait for somebody else's lock.
    const PATIENCE: Duration = BRIEFLY;

    /// Whether a call is not worth an answer once its caller went away.
    const NEEDS_CALLER: bool = false;

    /// What becomes of answers whose caller went away.
    fn not_taken(&self, _: Vec<Self::Answer>) {}
}

/// Questions that belong together, and the way back to the one who asked them.
struct Call<Q, A> {
    questions: Vec<Q>,
    reply: oneshot::Sender<Result<Vec<A>, LedgerError>>,
}

/// Where calls come in.
#[derive(Debug)]
pub(crate) struct Lane<W: Work> {
    calls: mpsc::Sender<Call<W::Question, W::Answer>>,
}

impl<W: Work> Lane<W> {
    /// Works until this is dropped, and then finishes what it was asked.
    pub(crate) fn start(work: W, connector: &Connector) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_CALLS);
        let brief = Connector { lock_timeout: connector.lock_timeout.min(W::PATIENCE), ..connector.clone() };
        let worker = Worker {
            work: Arc::new(work),
            session: Session::new(brief),
            patient: connector.clone(),
            patient_calls: Arc::new(Semaphore::new(PATIENT_CALLS)),
        };
        tokio::spawn(run(worker, receiver));
        Self { calls: sender }
    }

    /// Waits for the commit of these questions; none cost no commit.
    pub(crate) async fn ask(&self, questions: Vec<W::Question>) -> Result<Vec<W::Answer>, LedgerError> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        let sent = self.calls.send(Call { questions, reply }).await;
        sent.map_err(|_| LedgerError::Closed)?;
        answer.await.map_err(|_| LedgerError::Closed)?
    }
}

type CallOf<W> = Call<<W as Work>::Question, <W as Work>::Answer>;

struct Worker<W> {
    work: Arc<W>,
    session: Session,
    /// Connections that wait for a lock as long as the caller said.
    patient: Connector,
    patient_calls: Arc<Semaphore>,
}

async fn run<W: Work>(mut worker: Worker<W>, mut calls: mpsc::Receiver<CallOf<W>>) {
    let mut asked = Vec::with_capacity(MOST_CALLS);
    while calls.recv_many(&mut asked, MOST_CALLS).await > 0 {
        worker.serve(std::mem::take(&mut asked)).await;
    }
    worker.session.close().await;
}

impl<W: Work> Worker<W> {
    async fn serve(&mut self, mut calls: Vec<CallOf<W>>) {
        if W::NEEDS_CALLER {
            calls.retain(|call| !call.reply.is_closed());
        }
        let mut waiting = vec![calls];
        while let Some(mut calls) = waiting.pop().filter(|calls| !calls.is_empty()) {
            match answer(&*self.work, &mut self.session, &calls).await {
                Ok(answers) => deal(&*self.work, calls, answers),
                // What concerns one call must not stop the work of all others, which go on sharing commits.
                Err(fault) if fault.concerns_one_call() && calls.len() > 1 => {
                    let second = calls.split_off(calls.len() / 2);
                    waiting.extend([second, calls]);
                }
                Err(fault) if fault.concerns_one_call() && calls.iter().any(can_be_taken_apart::<W>) => {
                    let each = calls.into_iter().flat_map(take_apart::<W>).map(|call| vec![call]);
                    waiting.extend(each.collect::<Vec<_>>().into_iter().rev());
                }
                Err(Fault::Busy | Fault::OldSnapshot) if calls.len() == 1 => {
                    calls.drain(..).for_each(|call| self.wait_with(call));
                }
                Err(fault) => refuse(&*self.work, calls, &fault, self.patient.lock_timeout),
            }
        }
    }

    /// Lets a call wait for the lock of somebody else on a connection of its own, and the others pass.
    fn wait_with(&self, call: CallOf<W>) {
        let (work, turns) = (Arc::clone(&self.work), Arc::clone(&self.patient_calls));
        let mut session = Session::new(self.patient.clone());
        let patience = self.patient.lock_timeout;
        tokio::spawn(async move {
            let calls = vec![call];
            let turn = timeout(patience, turns.acquire()).await;
            let answers =
                if turn.is_ok() { answer(&*work, &mut session, &calls).await } else { Err(Fault::Busy) };
            match answers {
                Ok(answers) => deal(&*work, calls, answers),
                Err(fault) => refuse(&*work, calls, &fault, patience),
            }
            session.close().await;
        });
    }
}

fn can_be_taken_apart<W: Work>(call: &CallOf<W>) -> bool {
    call.questions.len() > 1 && W::are_independent(&call.questions)
}

/// A call for each question, whose answers become that of the whole.
fn take_apart<W: Work>(call: CallOf<W>) -> Vec<CallOf<W>> {
    let Call { questions, reply } = call;
    let alone = |question| {
        let (reply, answer) = oneshot::channel();
        (Call { questions: vec![question], reply }, answer)
    };
    let (calls, answers): (Vec<_>, Vec<_>) = questions.into_iter().map(alone).unzip();
    tokio::spawn(async move {
        let mut all = Vec::with_capacity(answers.len());
        for answer in answers {
            match answer.await.unwrap_or(Err(LedgerError::Closed)) {
                Ok(own) => all.extend(own),
                Err(error) => return drop(reply.send(Err(error))),
            }
        }
        let _ = reply.send(Ok(all));
    });
    calls
}

async fn answer<W: Work>(
    work: &W,
    session: &mut Session,
    calls: &[CallOf<W>],
) -> Result<Vec<W::Answer>, Fault> {
    let questions: Vec<&W::Question> = calls.iter().flat_map(|call| &call.questions).collect();
    let within = session.within();
    let connection = session.connection().await?;
    let answering = work.answer(connection, &questions, calls.len() == questions.len());
    let answers = timeout(within, answering).await.unwrap_or_else(|_| Err(Fault::no_answer(W::DOING)));
    // Whoever waited in vain for a lock has a connection that works.
    if answers.as_ref().is_err_and(|fault| !matches!(fault, Fault::Busy | Fault::OldSnapshot)) {
        session.forget();
    }
    answers
}

/// Gives each call as many answers as it has questions.
fn deal<W: Work>(work: &W, calls: Vec<CallOf<W>>, answers: Vec<W::Answer>) {
    work.committed(&answers);
    let mut answers = answers.into_iter();
    for call in calls {
        let own = answers.by_ref().take(call.questions.len()).collect();
        if let Err(Ok(own)) = call.reply.send(Ok(own)) {
            work.not_taken(own);
        }
    }
}

fn refuse<W: Work>(work: &W, calls: Vec<CallOf<W>>, fault: &Fault, waited: Duration) {
    tracing::warn!(calls = calls.len(), ?fault, "calls were not answered");
    work.failed();
    for call in calls {
        let _ = call.reply.send(Err(fault.told(waited)));
    }
}
