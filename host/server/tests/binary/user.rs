//! `user list` and `user reset-password`, on both databases.

use std::io::Write as _;
use std::process::{Output, Stdio};

use qm_db::testing::Scratch;
use qm_db::{Backend, Db, exec, sql};
use qm_identity::{FirstAdmin, HashCost, Operator};
use qm_kernel::{Ctx, Secret};
use serde_json::Value;

use crate::place::{Place, STRONG_A, STRONG_B};

const FIRST: &str = "the first password";

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, is_active, created_at, updated_at) \
        VALUES ($1, $1, $2, '', $3, 0, 0)";
    FORGET_LAST = "DELETE FROM schema_migrations WHERE version = (SELECT MAX(version) FROM schema_migrations)";
}

/// A seeded database with an administrator and a place to run the binary on it.
struct At {
    place: Place,
    scratch: Scratch,
    db: Db,
}

/// Runs `body` on both databases, on PostgreSQL where there is one.
fn on_both<F: Future<Output = ()>>(body: impl Fn(At) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a test needs a runtime");
    runtime.block_on(async {
        for backend in [Backend::Sqlite, Backend::Postgres] {
            let Some(scratch) = Scratch::new(backend).await else {
                continue;
            };
            let db = scratch.open().await;
            body(At {
                place: Place::new(),
                scratch,
                db,
            })
            .await;
        }
    });
}

impl At {
    /// Nothing of the service's secrets: these commands need none, in production neither.
    fn environment(&self) -> [(&str, &str); 2] {
        [("DATABASE_URL", self.scratch.url()), ("NODE_ENV", "production")]
    }

    fn said(&self, arguments: &[&str]) -> String {
        self.place.said(arguments, &self.environment(), 0)
    }

    fn complaint(&self, arguments: &[&str]) -> String {
        self.place.complaint(arguments, &self.environment())
    }

    /// Runs `user reset-password admin --stdin` with this on standard input.
    fn reset_with(&self, input: &str) -> Output {
        let mut child = self
            .place
            .command(&["user", "reset-password", "admin", "--stdin"], &self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).expect("written");
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    /// Starts and stops a server once, which makes the first administrator.
    fn seed(&self) {
        let server = self.place.serve(&[
            ("DATABASE_URL", self.scratch.url()),
            ("NODE_ENV", "production"),
            ("JWT_ACCESS_SECRET", STRONG_A),
            ("ENCRYPTION_KEY", STRONG_B),
            ("ADMIN_PASSWORD", FIRST),
        ]);
        let (status, _) = server.stop("-TERM");
        assert!(status.success());
    }

    async fn end(self) {
        self.db.close().await;
        self.scratch.remove().await;
    }
}
