//! Work with a waiting caller.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::oneshot::{self, Receiver, Sender};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::IgnorePoison;
use crate::cancel::Cancel;
use crate::lane::{LaneError, Shared};
use crate::places::Waiter;

/// One-time answer of work: its result, or that there is none.
pub(crate) struct Answer<T>(Mutex<Option<Sender<Result<T, LaneError>>>>);

impl<T: Send + 'static> Answer<T> {
    pub fn new() -> (Arc<Self>, Receiver<Result<T, LaneError>>) {
        let (sender, receiver) = oneshot::channel();
        (Arc::new(Self(Mutex::new(Some(sender)))), receiver)
    }

    fn take(&self) -> Option<Sender<Result<T, LaneError>>> {
        self.0.lock().ignore_poison().take()
    }

    pub fn give(&self, done: Result<T, LaneError>) {
        if let Some(sender) = self.take() {
            // The caller has gone.
            let _ = sender.send(done);
        }
    }
}

impl<T: Send + 'static> Waiter for Answer<T> {
    fn send_away(&self) {
        drop(self.take());
    }
}

/// Started or queued work. Dropping it cancels it: queued work never begins, and running work sees its
/// [`Cancel`] set.
pub struct Work<T> {
    shared: Arc<Shared>,
    ticket: u64,
    cancel: Cancel,
    answered: Receiver<Result<T, LaneError>>,
    /// Time at which it is refused for want of a place.
    refused: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl<T> Work<T> {
    pub(crate) fn new(
        shared: Arc<Shared>,
        ticket: u64,
        cancel: Cancel,
        answered: Receiver<Result<T, LaneError>>,
        patience: Option<Duration>,
    ) -> Self {
        Self {
            shared,
            ticket,
            cancel,
            answered,
            refused: patience.map(|patience| Box::pin(sleep_until(Instant::now() + patience))),
            ended: false,
        }
    }

    /// Lets the work continue without a waiting caller.
    pub(crate) fn detach(mut self) {
        self.ended = true;
    }

    /// Cancellation signal of the work.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

impl<T> Future for Work<T> {
    type Output = Result<T, LaneError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(answer) = Pin::new(&mut this.answered).poll(context) {
            this.ended = true;
            return Poll::Ready(answer.unwrap_or(Err(LaneError::Stopped)));
        }
        let Some(refused) = &mut this.refused else {
            return Poll::Pending;
        };
        ready!(refused.as_mut().poll(context));
        this.refused = None;
        if this.shared.withdraw(this.ticket, true) {
            this.ended = true;
            return Poll::Ready(Err(this.shared.full()));
        }
        // It has begun; the answer will wake this task.
        Poll::Pending
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        if !self.ended {
            self.cancel.set();
            self.shared.withdraw(self.ticket, false);
        }
    }
}
