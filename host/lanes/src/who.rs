//! User on whose behalf work is done.

use std::sync::Arc;

tokio::task_local! {
    static WHO: Who;
}

/// Id of a user, or an address for an anonymous caller.
pub type Who = Arc<str>;

/// Runs a future on behalf of `who`: its work in lanes counts for their share.
pub async fn on_behalf<F: Future>(who: Who, future: F) -> F::Output {
    WHO.scope(who, future).await
}

/// User on whose behalf the task runs; `None` is the service itself. A spawned task runs for the service
/// unless it passes this along.
pub fn for_whom() -> Option<Who> {
    WHO.try_with(Clone::clone).ok()
}
