//! The beginning of a transaction.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sqlx::{Pool, Transaction};
use tokio::runtime::Handle;

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Completes the begin of a transaction even if the caller goes away. Otherwise a dropped request could leave
/// a pooled connection inside an unknown transaction (sqlx issue 4393): its next user would write into that
/// one, or could not write at all.
pub(crate) async fn begin<DB: sqlx::Database>(
    pool: &Pool<DB>,
    begin: &'static str,
) -> Result<Transaction<'static, DB>, sqlx::Error> {
    let connection = pool.acquire().await?;
    ToItsEnd(Some(Transaction::begin(connection, Some(begin.into())))).await
}

/// Future that continues in a task of its own when it is dropped before its end. Usually nothing drops it, so
/// no task is needed: every request that uses the database begins here.
struct ToItsEnd<T: Send + 'static>(Option<Pending<T>>);

impl<T: Send + 'static> Future for ToItsEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(work) = self.0.as_mut() else {
            // Unreachable: a completed future is not polled.
            return Poll::Pending;
        };
        let done = ready!(work.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for ToItsEnd<T> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { drop(work.await) });
        }
    }
}
