//! The calls that share one transaction.

use ratchet_core::admission::{GateAnswer, GateOrder};
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::follow::{Looked, Whose};
use ratchet_core::ledger::moving::{Import, StandingChange, StandingRefused, StoreStanding};
use ratchet_core::ledger::{
    Claim, Declaration, DocumentWrite, DocumentWritten, MarkChange, Order, StoreMark,
};
use ratchet_core::{LedgerError, Record, Submission, Submitted};
use tokio::sync::oneshot;

use crate::writer::{Answers, Job};

/// A question and the way back to the one who asked it.
pub(crate) struct Asked<Q, A> {
    pub(crate) question: Q,
    reply: oneshot::Sender<Result<A, LedgerError>>,
}

impl<Q, A> Asked<Q, A> {
    pub(crate) fn new(question: Q) -> (Self, oneshot::Receiver<Result<A, LedgerError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { question, reply }, answer)
    }

    /// Gives the answer back if nobody waits for it any more; that is nobody's fault.
    fn answer(self, answer: Result<A, LedgerError>) -> Result<(), Result<A, LedgerError>> {
        self.reply.send(answer)
    }
}

/// What came of several orders.
pub(crate) type Applied = Vec<Result<Answer, Refusal>>;

/// Calls by kind, in the order in which the kinds are done: what makes records due comes before claims.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) declare: Vec<Asked<Vec<Declaration>, ()>>,
    pub(crate) submit: Vec<Asked<Vec<Submission>, Vec<Submitted>>>,
    pub(crate) apply: Vec<Asked<Vec<Order>, Applied>>,
    pub(crate) admit: Vec<Asked<Vec<GateOrder>, Vec<GateAnswer>>>,
    pub(crate) expire: Vec<Asked<usize, usize>>,
    pub(crate) claim: Vec<Asked<Claim, Vec<Record>>>,
    pub(crate) purge: Vec<Asked<usize, usize>>,
    pub(crate) mark: Vec<Asked<MarkChange, StoreMark>>,
    pub(crate) document: Vec<Asked<DocumentWrite, DocumentWritten>>,
    pub(crate) follow: Vec<Asked<Whose, Looked>>,
    pub(crate) standing: Vec<Asked<StandingChange, Result<StoreStanding, StandingRefused>>>,
    pub(crate) import: Vec<Asked<Import, Result<(), StandingRefused>>>,
}

impl Batch {
    fn add(&mut self, job: Job) {
        match job {
            Job::Declare(asked) => self.declare.push(asked),
            Job::Submit(asked) => self.submit.push(asked),
            Job::Apply(asked) => self.apply.push(asked),
            Job::Admit(asked) => self.admit.push(asked),
            Job::Expire(asked) => self.expire.push(asked),
            // A lease for somebody who went away would only keep the record from others.
            Job::Claim(asked) if asked.reply.is_closed() => {}
            Job::Claim(asked) => self.claim.push(asked),
            Job::Purge(asked) => self.purge.push(asked),
            Job::Mark(asked) => self.mark.push(asked),
            Job::Document(asked) => self.document.push(asked),
            Job::Follow(asked) => self.follow.push(asked),
            Job::Standing(asked) => self.standing.push(asked),
            Job::Import(asked) => self.import.push(asked),
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.declare.len()
            + self.submit.len()
            + self.apply.len()
            + self.admit.len()
            + self.expire.len()
            + self.claim.len()
            + self.purge.len()
            + self.mark.len()
            + self.document.len()
            + self.follow.len()
            + self.standing.len()
            + self.import.len()
    }

    pub(crate) fn submissions(&self) -> Vec<&Submission> {
        self.submit.iter().flat_map(|asked| &asked.question).collect()
    }

    /// The submissions, if nothing else is asked.
    pub(crate) fn only_submissions(&self) -> Option<Vec<&Submission>> {
        (self.calls() == self.submit.len()).then(|| self.submissions())
    }

    pub(crate) fn dealt_to_submitters(&self, told: Vec<Submitted>) -> Vec<Vec<Submitted>> {
        dealt(told, self.submit.iter().map(|asked| asked.question.len()))
    }

    /// Tells every caller; hands back the records that nobody was there to take.
    pub(crate) fn answer(self, answers: Answers) -> Vec<Record> {
        for (asked, answer) in self.declare.into_iter().zip(answers.declare) {
            let _ = asked.answer(answer);
        }
        tell(self.submit, answers.submit);
        tell(self.apply, answers.apply);
        tell(self.admit, answers.admit);
        tell(self.expire, answers.expire);
        tell(self.purge, answers.purge);
        tell(self.mark, answers.mark);
        tell(self.document, answers.document);
        tell(self.follow, answers.follow);
        tell(self.standing, answers.standing);
        tell(self.import, answers.import);
        tell(self.claim, answers.claim).into_iter().flatten().collect()
    }

    /// Tells every caller that nothing was done.
    pub(crate) fn refuse(self, why: impl Fn() -> LedgerError) {
        refuse(self.declare, &why);
        refuse(self.submit, &why);
        refuse(self.apply, &why);
        refuse(self.admit, &why);
        refuse(self.expire, &why);
        refuse(self.claim, &why);
        refuse(self.purge, &why);
        refuse(self.mark, &why);
        refuse(self.document, &why);
        refuse(self.follow, &why);
        refuse(self.standing, &why);
        refuse(self.import, &why);
    }

    /// The same calls, each in a batch of its own.
    pub(crate) fn into_single_calls(self) -> Vec<Self> {
        let declare = self.declare.into_iter().map(Job::Declare);
        let submit = self.submit.into_iter().map(Job::Submit);
        let apply = self.apply.into_iter().map(Job::Apply);
        let admit = self.admit.into_iter().map(Job::Admit);
        let expire = self.expire.into_iter().map(Job::Expire);
        let claim = self.claim.into_iter().map(Job::Claim);
        let purge = self.purge.into_iter().map(Job::Purge);
        let mark = self.mark.into_iter().map(Job::Mark);
        let document = self.document.into_iter().map(Job::Document);
        let follow = self.follow.into_iter().map(Job::Follow);
        let import = self.import.into_iter().map(Job::Import);
        let standing = self.standing.into_iter().map(Job::Standing);
        let all = declare
            .chain(submit)
            .chain(apply)
            .chain(admit)
            .chain(expire)
            .chain(claim)
            .chain(purge)
            .chain(mark)
            .chain(document)
            .chain(follow)
            .chain(import)
            .chain(standing);
        all.map(|job| std::iter::once(job).collect()).collect()
    }
}

impl FromIterator<Job> for Batch {
    fn from_iter<I: IntoIterator<Item = Job>>(jobs: I) -> Self {
        let mut batch = Self::default();
        for job in jobs {
            batch.add(job);
        }
        batch
    }
}

/// Gives each its answer; hands back those that nobody took.
fn tell<Q, A>(asked: Vec<Asked<Q, A>>, answers: Vec<A>) -> Vec<A> {
    let pairs = asked.into_iter().zip(answers);
    pairs.filter_map(|(asked, answer)| asked.answer(Ok(answer)).err()?.ok()).collect()
}

fn refuse<Q, A>(asked: Vec<Asked<Q, A>>, why: &impl Fn() -> LedgerError) {
    for one in asked {
        let _ = one.answer(Err(why()));
    }
}

/// Deals answers out to those who asked, each as many as it asked for.
pub(crate) fn dealt<T>(answers: Vec<T>, counts: impl Iterator<Item = usize>) -> Vec<Vec<T>> {
    let mut answers = answers.into_iter();
    counts.map(|count| answers.by_ref().take(count).collect()).collect()
}
