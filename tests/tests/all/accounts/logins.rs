//! Many logins at once, against the real program with the hashing cost of production: memory stays bounded, other routes
//! are answered meanwhile, and what is stored says which cost it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use qm_db::{Db, all, sql};
use qm_testkit::binary::Binary;
use qm_testkit::server::PASSWORD;
use qm_testkit::{Api, both_databases};
use serde_json::json;

use crate::document::fresh;

const LOGINS: usize = 64;
/// 64 hashes at once would take 4 GiB for themselves.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

sql! {
    PASSWORD_HASHES = "SELECT password_hash FROM users";
    KEY_HASHES = "SELECT key_hash FROM api_keys";
}

async fn log_in(api: &Api, username: &str, password: &str) -> u16 {
    let body = json!({ "username": username, "password": password });
    // Each from an address of its own: one address would be throttled after five.
    let reply = fresh(api, "POST", "/api/auth/login").json(&body).send().await;
    reply.expect("an answer").status
}

both_databases! {
    async fn a_flood_of_logins_is_bounded_and_starves_nobody(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let binary = Binary::start(dir.path(), db.url()).await;
        let anonymous = binary.anonymous();
        let admin = binary.admin().await;
        admin.post("/api/api-keys", json!({ "name": "a script" })).await;

        let done = Arc::new(AtomicUsize::new(0));
        let logins: Vec<_> = (0..LOGINS)
            .map(|number| {
                let (api, done) = (anonymous.clone(), done.clone());
                tokio::spawn(async move {
                    // A third is right, a third guesses, a third asks for somebody who is not there; all cost a hash.
                    let status = match number % 3 {
                        0 => log_in(&api, "admin", PASSWORD).await,
                        1 => log_in(&api, "admin", "a wrong password").await,
                        _ => log_in(&api, &format!("nobody-{number}"), PASSWORD).await,
                    };
                    done.fetch_add(1, Ordering::SeqCst);
                    (number, status)
                })
            })
            .collect();
        let (mut answered, mut most) = (0, 0);
        while done.load(Ordering::SeqCst) < LOGINS {
            let reply = fresh(&admin, "GET", "/api/auth/me").send().await.expect("an answer");
            assert_eq!(reply.status, 200, "{}", reply.text());
            if done.load(Ordering::SeqCst) < LOGINS {
                answered += 1;
            }
            most = most.max(binary.process().resident_bytes());
        }
        assert!(answered > 20, "only {answered} other requests were answered while {LOGINS} people logged in");
        for login in logins {
            let (number, status) = login.await.expect("joined");
            assert_eq!(status, if number % 3 == 0 { 201 } else { 401 }, "login {number}");
        }
        let peak = binary.process().peak_resident_bytes().max(most);
        assert!(peak < MOST_BYTES, "{LOGINS} logins took {} MiB", peak / 1024 / 1024);

        let stored = Db::open(db.url()).await.expect("the database is open to us");
        let mut tx = stored.begin_read().await.expect("a read");
        for statement in [PASSWORD_HASHES, KEY_HASHES] {
            let hashes = all!(&mut tx, (String,), statement).await.expect("the hashes");
            assert!(!hashes.is_empty(), "{}", statement.text);
            for (hash,) in hashes {
                assert!(hash.starts_with("$argon2id$v=19$m=65536,t=3,p=4$"), "{}", statement.text);
            }
        }
    }
}
