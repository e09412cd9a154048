//! `user list` and `user reset-password`, beside a running server and without one, on both databases.

use std::io::Write as _;
use std::process::{Output, Stdio};

use qm_db::testing::Scratch;
use qm_db::{Backend, Db, exec, sql, value};
use serde_json::{Value, json};

use crate::place::{Place, Running, STRONG_A, STRONG_B};

const FIRST: &str = "the first password";

sql! {
    ENABLE_TOTP = "UPDATE users SET totp_enabled = $1, totp_secret = 'sealed' WHERE username = 'admin'";
    DEACTIVATE = "UPDATE users SET is_active = $1 WHERE username = 'admin'";
    FORGET_LAST = "DELETE FROM schema_migrations WHERE version = (SELECT MAX(version) FROM schema_migrations)";
    HASH = "SELECT password_hash FROM users WHERE username = 'admin'";
    AUDITED = "SELECT COUNT(*) FROM audit_logs WHERE action = 'users.reset_password' AND user_id IS NULL \
        AND object_type = 'user'";
}

/// A database with an administrator, and a place to run the binary on it.
struct At {
    place: Place,
    scratch: Scratch,
    db: Db,
}

/// Runs `body` on both databases, on PostgreSQL where there is one.
fn on_both(body: impl AsyncFn(&At)) {
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
            let at = At {
                place: Place::new(),
                db: scratch.open().await,
                scratch,
            };
            body(&at).await;
            at.db.close().await;
            at.scratch.remove().await;
        }
    });
}

impl At {
    /// Nothing of the service's secrets: these commands need none, in production neither.
    fn environment(&self) -> [(&str, &str); 2] {
        [("DATABASE_URL", self.scratch.url()), ("NODE_ENV", "production")]
    }

    fn output_of(&self, arguments: &[&str]) -> String {
        self.place.output_of(arguments, &self.environment(), 0)
    }

    fn complaint(&self, arguments: &[&str]) -> String {
        self.place.complaint(arguments, &self.environment())
    }

    /// Runs `user reset-password admin --stdin` with this on standard input.
    fn reset_with(&self, input: &str) -> Output {
        let mut child = self
            .place
            .command(
                &["user", "reset-password", "admin", "--stdin"],
                &self.environment(),
            )
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

    /// A server, which makes the first administrator.
    fn serve(&self) -> Running {
        self.place.serve(&[
            ("DATABASE_URL", self.scratch.url()),
            ("NODE_ENV", "production"),
            ("JWT_ACCESS_SECRET", STRONG_A),
            ("ENCRYPTION_KEY", STRONG_B),
            ("ADMIN_PASSWORD", FIRST),
        ])
    }

    async fn hash(&self) -> String {
        let mut tx = self.db.begin_read().await.expect("begun");
        value!(&mut tx, String, HASH).await.expect("read")
    }
}

/// The status of a login as `admin`.
fn login(server: &Running, password: &str) -> String {
    let body = json!({ "username": "admin", "password": password }).to_string();
    let answer = server.post("/api/auth/login", &body);
    answer.split(' ').nth(1).expect("a status").to_owned()
}

#[test]
fn an_administrator_gets_back_in_while_the_server_runs() {
    on_both(async |at| {
        let server = at.serve();
        assert_eq!(login(&server, FIRST), "201");

        let said = at.output_of(&["user", "reset-password", "admin"]);
        let generated = said
            .strip_prefix("New password of admin: ")
            .and_then(|rest| rest.split_once(" (shown once"))
            .expect("a password")
            .0;
        assert_eq!(generated.len(), 24, "{said}");
        assert!(said.contains("Sessions ended: 1"), "{said}");
        assert_eq!(login(&server, FIRST), "401");
        assert_eq!(login(&server, generated), "201");

        let output = at.reset_with("a chosen password\r\nsecond line\n");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && !said.contains("a chosen password"),
            "{said}"
        );
        assert_eq!(login(&server, "a chosen password"), "201");
        let mut tx = at.db.begin_read().await.expect("begun");
        assert_eq!(value!(&mut tx, i64, AUDITED).await.expect("counted"), 2);
        drop(tx);
        let (status, _) = server.stop("-TERM");
        assert!(status.success());
    });
}

#[test]
fn users_are_listed_for_people_and_for_programs() {
    on_both(async |at| {
        assert!(at.serve().stop("-TERM").0.success());
        let table = at.output_of(&["user", "list"]);
        let lines: Vec<&str> = table.lines().collect();
        let [head, row] = lines[..] else {
            panic!("{table}");
        };
        let words = |line: &'static str| line.split("  ").map(str::trim).filter(|word| !word.is_empty());
        assert!(words("USERNAME  EMAIL  ROLES  ACTIVE  2FA  LAST LOGIN").all(|word| head.contains(word)));
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            [
                "admin",
                "admin@quartermaster.local",
                "SUPER_ADMIN",
                "yes",
                "no",
                "never"
            ]
        );
        assert_eq!(head.find("EMAIL"), row.find("admin@"));

        let list: Value = serde_json::from_str(&at.output_of(&["user", "list", "--json"])).expect("JSON");
        assert_eq!(list.as_array().map(Vec::len), Some(1));
        let user = &list[0];
        assert_eq!(
            (
                &user["username"],
                &user["roles"],
                &user["isActive"],
                &user["isSystem"]
            ),
            (
                &json!("admin"),
                &json!(["SUPER_ADMIN"]),
                &json!(true),
                &json!(true)
            )
        );
        let hash = at.hash().await;
        assert!(!list.to_string().contains(&hash));
    });
}

#[test]
fn what_still_bars_the_way_is_said() {
    on_both(async |at| {
        assert!(at.serve().stop("-TERM").0.success());
        let mut tx = at.db.begin_write().await.expect("begun");
        exec!(&mut tx, ENABLE_TOTP, true)
            .await
            .expect("set")
            .exactly(1)
            .expect("one row");
        exec!(&mut tx, DEACTIVATE, false)
            .await
            .expect("set")
            .exactly(1)
            .expect("one row");
        tx.commit().await.expect("committed");
        let said = at.output_of(&["user", "reset-password", "admin"]);
        assert!(
            said.contains("--disable-2fa") && said.contains("deactivated"),
            "{said}"
        );
        let said = at.output_of(&["user", "reset-password", "admin", "--disable-2fa"]);
        assert!(
            said.contains("Two-factor authentication was switched off") && !said.contains("--disable-2fa"),
            "{said}"
        );
    });
}

#[test]
fn mistakes_are_told_in_one_line_and_change_nothing() {
    on_both(async |at| {
        assert!(at.serve().stop("-TERM").0.success());
        let hash = at.hash().await;
        let line = at.complaint(&["user", "reset-password", "Admin"]);
        assert!(line.contains("`Admin`") && line.contains("user list"), "{line}");
        for (input, length) in [
            ("short\n", "5"),
            ("", "0"),
            ("\nthe second line\n", "0"),
            (&"x".repeat(257), "257"),
        ] {
            let output = at.reset_with(input);
            let line = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{input:?}");
            assert!(
                line.contains(&format!("{length} characters")) && line.contains("10 to 256"),
                "{line}"
            );
        }
        assert_eq!(at.hash().await, hash);

        let mut tx = at.db.begin_write().await.expect("begun");
        exec!(&mut tx, FORGET_LAST)
            .await
            .expect("deleted")
            .exactly(1)
            .expect("one row");
        tx.commit().await.expect("committed");
        for arguments in [&["user", "list"][..], &["user", "reset-password", "admin"]] {
            let line = at.complaint(arguments);
            assert!(line.contains("quartermaster migrate"), "{line}");
        }
        assert_eq!(at.hash().await, hash);
    });
}

#[test]
fn a_database_that_is_not_there_is_not_made() {
    let place = Place::new();
    let before = place.contents();
    for arguments in [&["user", "list"][..], &["user", "reset-password", "admin"]] {
        let line = place.complaint(arguments, &[]);
        assert!(line.contains("data/quartermaster.db"), "{line}");
    }
    assert_eq!(place.contents(), before);
    for arguments in [
        &["user"][..],
        &["user", "reset-password"],
        &["user", "delete", "admin"],
    ] {
        assert_eq!(place.run(arguments, &[]).status.code(), Some(2), "{arguments:?}");
    }
}
