//! The beginning of a transaction.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sqlx::{Pool, Transaction};
use tokio::runtime::Handle;

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Begins to its end, whoever waits for it. A caller who goes away meanwhile, such as a request whose client left, would
/// otherwise leave a connection in the pool that is in a transaction nobody knows of (sqlx issue 4393): whoever got it next
/// would write into that one, or could not write at all.
pub(crate) async fn begin<DB: sqlx::Database>(
    pool: &Pool<DB>,
    begin: &'static str,
) -> Result<Transaction<'static, DB>, sqlx::Error> {
    let connection = pool.acquire().await?;
    ToItsEnd(Some(Transaction::begin(connection, Some(begin.into())))).await
}

/// Work that goes on in a task of its own when it is dropped before its end. It needs no task where nobody drops it, which
/// is nearly always: every request that asks the database begins here.
struct ToItsEnd<T: Send + 'static>(Option<Pending<T>>);

impl<T: Send + 'static> Future for ToItsEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(work) = self.0.as_mut() else {
            // Never: nobody polls a future that has ended.
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
