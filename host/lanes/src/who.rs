//! Whom work is done for.

use std::sync::Arc;

tokio::task_local! {
    static WHO: Who;
}

/// A user by id, or where nobody is known an address.
pub type Who = Arc<str>;

/// Runs a future; the work that it begins in lanes is for this one, and takes of their share.
pub async fn on_behalf<F: Future>(who: Who, future: F) -> F::Output {
    WHO.scope(who, future).await
}

/// Whom the running task works for; nobody is the service itself. A task that is spawned works for the service unless it
/// takes this along.
pub fn for_whom() -> Option<Who> {
    WHO.try_with(Clone::clone).ok()
}
