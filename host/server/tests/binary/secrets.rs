//! `secrets rotate`, on both databases.

use std::process::Stdio;
use std::time::{Duration, Instant};

use qm_db::testing::Scratch;
use qm_db::{Backend, Db, all, exec, sql, value};
use qm_kernel::{Ctx, Secret};
use qm_platform::{Cipher, Standing};
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, STRONG_A, STRONG_B};

const OLD: &str = STRONG_A;
const NEW: &str = STRONG_B;

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, totp_secret, totp_enabled, created_at, updated_at) \
        VALUES ($1, $1, $1, '', $2, $3, 0, 0)";
    ADD_ENGINE = "INSERT INTO torrent_engines (id, name, kind, config, secret_fields, is_default, is_enabled, created_at, \
        updated_at) VALUES ($1, $1, 'qbittorrent', $2, $3, $4, $4, 0, 0)";
    SEEDS = "SELECT id, totp_secret FROM users WHERE totp_secret IS NOT NULL ORDER BY id";
    SET_SEED = "UPDATE users SET totp_secret = $2 WHERE id = $1";
    CONFIG = "SELECT config FROM torrent_engines WHERE id = $1";
    AUDITED = "SELECT metadata FROM audit_logs WHERE action = 'secrets.rotate' AND user_id IS NULL";
    FORGET = "UPDATE users SET totp_secret = $2, totp_enabled = $3 WHERE id = $1";
}

fn cipher(key: &str) -> Cipher {
    Cipher::new(&Secret::new(key), Ctx::system())
}

/// Makes `name::sqlite` and `name::postgres`.
macro_rules! both {
    ($(async fn $name:ident($at:ident: &At) $body:block)+) => {$(
        mod $name {
            use super::*;

            async fn body($at: &At) $body

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                if let Some(at) = At::new(Backend::Sqlite).await {
                    body(&at).await;
                    at.scratch.remove().await;
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                if let Some(at) = At::new(Backend::Postgres).await {
                    body(&at).await;
                    at.scratch.remove().await;
                }
            }
        }
    )+};
}

/// A migrated database and a place to run the binary on it.
struct At {
    place: Place,
    scratch: Scratch,
    db: Db,
}

impl At {
    /// `None` where there is no PostgreSQL.
    async fn new(backend: Backend) -> Option<At> {
        let scratch = Scratch::new(backend).await?;
        let db = scratch.open().await;
        Some(At {
            place: Place::new(),
            scratch,
            db,
        })
    }

    fn environment(&self) -> [(&str, &str); 3] {
        [
            ("DATABASE_URL", self.scratch.url()),
            ("ENCRYPTION_KEY", NEW),
            ("ENCRYPTION_KEY_PREVIOUS", OLD),
        ]
    }

    fn rotate(&self, code: i32) -> String {
        self.place
            .output_of(&["secrets", "rotate"], &self.environment(), code)
    }

    async fn add_users(&self, count: usize) {
        let old = cipher(OLD);
        let mut tx = self.db.begin_write().await.expect("begun");
        for number in 0..count {
            let id = format!("user {number:05}");
            let seed = old.encrypt(&format!("seed of {id}"));
            let added = exec!(&mut tx, ADD_USER, id, seed, true).await;
            added.expect("added").exactly(1).expect("one row");
        }
        tx.commit().await.expect("committed");
    }

    async fn seeds(&self) -> Vec<(String, String)> {
        let mut tx = self.db.begin_read().await.expect("begun");
        all!(&mut tx, (String, String), SEEDS).await.expect("read")
    }

    async fn config(&self, engine: &str) -> Value {
        let mut tx = self.db.begin_read().await.expect("begun");
        let text = value!(&mut tx, String, CONFIG, engine).await.expect("read");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Number of values that were rotated according to the audit trail.
    async fn audited(&self) -> u64 {
        let mut tx = self.db.begin_read().await.expect("begun");
        let rows = all!(&mut tx, (String,), AUDITED).await.expect("read");
        let count = |text: &str| {
            let metadata: Value = serde_json::from_str(text).expect("JSON");
            metadata["rotated"].as_u64().expect("a count")
        };
        rows.iter().map(|(text,)| count(text)).sum()
    }
}

both! {
    async fn everything_goes_to_the_new_key_and_what_cannot_is_named(at: &At) {
        at.add_users(3).await;
        let mut tx = at.db.begin_write().await.expect("begun");
        let lost = cipher("a key nobody has any more").encrypt("gone");
        exec!(&mut tx, ADD_USER, "user lost", lost, true).await.expect("added").exactly(1).expect("one row");
        let config = json!({
            "baseUrl": "http://10.0.0.2:8080",
            "password": cipher(OLD).encrypt("engine pass"),
            "token": cipher(NEW).encrypt("fresh"),
        });
        let fields = json!(["password", "token", "absent"]).to_string();
        exec!(&mut tx, ADD_ENGINE, "engine", config.to_string(), fields, true)
            .await
            .expect("added")
            .exactly(1)
            .expect("one row");
        tx.commit().await.expect("committed");

        let (seeds, environment) = (at.seeds().await, at.environment());
        let planned = at.place.output_of(&["secrets", "rotate", "--dry-run"], &environment, 3);
        assert!(planned.contains("identity: 0 already current, 3 to rotate, 1 unreadable"), "{planned}");
        assert_eq!((at.seeds().await, at.config("engine").await), (seeds, config.clone()), "a dry run changes nothing");

        let said = at.rotate(3);
        assert!(said.contains("identity: 0 already current, 3 rotated, 1 unreadable"), "{said}");
        assert!(said.contains("torrents: 1 already current, 1 rotated, 0 unreadable"), "{said}");
        assert!(said.contains("unreadable: identity user lost totp_secret"), "{said}");
        for secret in ["seed of", "engine pass", OLD, NEW] {
            assert!(!said.contains(secret), "{said}");
        }
        let new = cipher(NEW);
        for (id, seed) in at.seeds().await.iter().filter(|(id, _)| id != "user lost") {
            assert_eq!(new.decrypt(seed), Some(Secret::new(format!("seed of {id}"))));
        }
        let rotated = at.config("engine").await;
        let password = rotated["password"].as_str().expect("text");
        assert_eq!(new.decrypt(password), Some(Secret::new("engine pass")));
        assert_eq!((&rotated["baseUrl"], &rotated["token"]), (&config["baseUrl"], &config["token"]));
        assert_eq!(at.audited().await, 4);

        let mut tx = at.db.begin_write().await.expect("begun");
        exec!(&mut tx, FORGET, "user lost", None::<String>, false).await.expect("set").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        let said = at.rotate(0);
        assert!(said.contains("identity: 3 already current, 0 rotated, 0 unreadable"), "{said}");
        assert!(said.contains("can be unset"), "{said}");
        assert_eq!(at.audited().await, 4, "what changes nothing is not audited");
    }

    async fn a_rotation_that_is_killed_is_run_again(at: &At) {
        const USERS: usize = 4000;
        at.add_users(USERS).await;
        let new = cipher(NEW);
        let under_new = || async {
            let is_new = |stored: &str| matches!(new.standing(stored), Standing::Current(_));
            at.seeds().await.iter().filter(|(_, seed)| is_new(seed)).count()
        };
        let mut rotation = at
            .place
            .command(&["secrets", "rotate"], &at.environment())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let deadline = Instant::now() + PATIENCE;
        while under_new().await == 0 {
            assert!(Instant::now() < deadline, "nothing is rotated");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        rotation.kill().expect("killed");
        rotation.wait().expect("waited");
        let done = under_new().await;
        assert!(0 < done && done < USERS, "killed in the middle: {done}");
        assert_eq!(at.audited().await, done as u64, "the trail tells of exactly what was done");
        let either = cipher(NEW).with_previous(&[Secret::new(OLD)]);
        for (id, seed) in at.seeds().await {
            assert_eq!(either.decrypt(&seed), Some(Secret::new(format!("seed of {id}"))), "{id} is lost");
        }
        at.rotate(0);
        assert_eq!(under_new().await, USERS);
        assert_eq!(at.audited().await, USERS as u64);
    }

    async fn what_others_write_meanwhile_stays(at: &At) {
        const USERS: usize = 1500;
        at.add_users(USERS).await;
        let mut rotation = at
            .place
            .command(&["secrets", "rotate"], &at.environment())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let (new, mut round) = (cipher(NEW), 0);
        // Users whose second factor is set anew, over and over, while the rotation comes past them.
        while rotation.try_wait().expect("waited").is_none() {
            round += 1;
            for number in (0..USERS).step_by(100) {
                let mut tx = at.db.begin_write().await.expect("begun");
                let (id, seed) = (format!("user {number:05}"), new.encrypt(&format!("round {round}")));
                exec!(&mut tx, SET_SEED, id, seed).await.expect("set").exactly(1).expect("one row");
                tx.commit().await.expect("committed");
            }
        }
        assert!(rotation.wait().expect("waited").success() && round > 0);
        for (number, (id, seed)) in at.seeds().await.into_iter().enumerate() {
            let expected = if number % 100 == 0 { format!("round {round}") } else { format!("seed of {id}") };
            assert_eq!(new.decrypt(&seed), Some(Secret::new(expected)), "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_key_can_be_replaced() {
    let place = Place::new();
    drop(place.serve(&[]));
    let stored = std::fs::read(place.path("data/secrets.json")).expect("read");
    let stored: Value = serde_json::from_slice(&stored).expect("JSON");
    let generated = stored["encryptionKey"].as_str().expect("a key");
    let db = Db::open(&place.database_url()).await.expect("opened");
    let mut tx = db.begin_write().await.expect("begun");
    let seed = cipher(generated).encrypt("a seed");
    exec!(&mut tx, ADD_USER, "somebody", seed, true)
        .await
        .expect("added")
        .exactly(1)
        .expect("one row");
    tx.commit().await.expect("committed");

    let said = place.output_of(&["secrets", "rotate"], &[("ENCRYPTION_KEY", NEW)], 3);
    assert!(
        said.contains("`encryptionKey` in `./data/secrets.json`"),
        "{said}"
    );
    let previous = ("ENCRYPTION_KEY_PREVIOUS", generated);
    let said = place.output_of(&["secrets", "rotate"], &[("ENCRYPTION_KEY", NEW), previous], 0);
    assert!(said.contains("1 rotated") && !said.contains(generated), "{said}");
    let mut tx = db.begin_read().await.expect("begun");
    let seeds = all!(&mut tx, (String, String), SEEDS).await.expect("read");
    assert_eq!(cipher(NEW).decrypt(&seeds[0].1), Some(Secret::new("a seed")));
}

#[test]
fn without_a_key_or_a_database_nothing_is_made() {
    let place = Place::new();
    let before = place.contents();
    let line = place.complaint(&["secrets", "rotate"], &[]);
    assert!(line.contains("no key yet"), "{line}");
    let line = place.complaint(
        &["secrets", "rotate"],
        &[("ENCRYPTION_KEY", NEW), ("JWT_ACCESS_SECRET", OLD)],
    );
    assert!(line.contains("no database"), "{line}");
    assert_eq!(place.contents(), before);
}
