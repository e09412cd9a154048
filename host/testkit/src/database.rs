//! A fresh database a test, of both kinds, and the macro that makes two tests of one.

use std::future::Future;

use qm_db::Backend;
use qm_db::testing::Scratch;

/// A database of a test's own; it outlives the servers started on it and goes when the test is over.
pub struct TestDb {
    pub backend: Backend,
    scratch: Scratch,
}

impl TestDb {
    /// A new database; `None`, with a message, where this machine has no such server.
    pub async fn fresh(backend: Backend) -> Option<TestDb> {
        let scratch = Scratch::migrated(backend).await?;
        Some(TestDb { backend, scratch })
    }

    /// Removes it. Every user of it must have closed it before.
    pub async fn remove(self) {
        self.scratch.remove().await;
    }

    /// For `DATABASE_URL`.
    pub fn url(&self) -> &str {
        self.scratch.url()
    }
}

/// Makes `name::sqlite` and `name::postgres` of each test: `both_databases! { async fn adds(db: &TestDb) { … } }`.
#[macro_export]
macro_rules! both_databases {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: &TestDb) $body:block)+) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, reason = "a body may bring all its names along")]
            use super::*;

            async fn body($db: &$crate::TestDb) $body

            #[test]
            fn sqlite() {
                $crate::database::run($crate::Backend::Sqlite, async |db| body(db).await);
            }

            #[test]
            fn postgres() {
                $crate::database::run($crate::Backend::Postgres, async |db| body(db).await);
            }
        }
    )+};
}

/// The expansion of [`both_databases!`].
pub fn run(backend: Backend, body: impl AsyncFnOnce(&TestDb)) {
    block_on(async {
        // Without PostgreSQL on this machine its half of the test is skipped, and said so, by `qm-db`.
        let Some(db) = TestDb::fresh(backend).await else {
            return;
        };
        body(&db).await;
        db.remove().await;
    });
}

/// A runtime for one test.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a test needs a runtime").block_on(future)
}
