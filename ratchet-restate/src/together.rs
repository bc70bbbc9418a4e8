//! Several calls at once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use ratchet_core::LedgerError;

/// How many calls are under way at once.
const AT_ONCE: usize = 32;

/// A call that is under way, and where its answer belongs.
type Running<'a, T> = (usize, Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send + 'a>>);

/// Asks for each, some at once, and answers in their order. The first error ends it; calls that are under way then are
/// dropped, and may have been carried out.
pub(crate) async fn together<'a, I, T, F>(
    items: impl IntoIterator<Item = I>,
    ask: impl Fn(I) -> F,
) -> Result<Vec<T>, LedgerError>
where
    F: Future<Output = Result<T, LedgerError>> + Send + 'a,
{
    let mut waiting: VecDeque<(usize, F)> = items.into_iter().map(ask).enumerate().collect();
    let mut answers: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    let mut running: Vec<Running<'a, T>> = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        while running.len() < AT_ONCE
            && let Some((at, call)) = waiting.pop_front()
        {
            running.push((at, Box::pin(call)));
        }
        let (at, answer) = first_of(&mut running).await;
        if let Some(place) = answers.get_mut(at) {
            *place = Some(answer?);
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Waits for the first that has an answer, and removes it.
async fn first_of<T>(running: &mut Vec<Running<'_, T>>) -> (usize, Result<T, LedgerError>) {
    let ended = std::future::poll_fn(|context| {
        let poll = |(place, (at, call)): (usize, &mut Running<'_, T>)| match call.as_mut().poll(context) {
            Poll::Ready(answer) => Some((place, *at, answer)),
            Poll::Pending => None,
        };
        running.iter_mut().enumerate().find_map(poll).map_or(Poll::Pending, Poll::Ready)
    });
    let (place, at, answer) = ended.await;
    drop(running.swap_remove(place));
    (at, answer)
}
