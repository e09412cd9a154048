//! Tests of re-encryption of settings, on both databases, with a concurrent writer.

use std::sync::Mutex;

use qm_db::{Json, db_test, exec, sql};
use qm_db::{all, value};
use qm_kernel::{Ctx, Secret};
use serde_json::Value;

use super::*;

sql! {
    PUT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0) \
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    GET = "SELECT value FROM settings WHERE key = $1";
    AUDITED = "SELECT action, user_id, metadata FROM audit_logs ORDER BY created_at, id";
}

const KEYS: [&str; 4] = ["a.first", "b.second", "c.third", "d.fourth"];

fn cipher(key: &str, previous: &[&str]) -> Cipher {
    let previous: Vec<Secret> = previous.iter().map(|key| Secret::new(*key)).collect();
    Cipher::new(&Secret::new(key), Ctx::system()).with_previous(&previous)
}

fn sealed(db: &Db, cipher: Cipher, area: impl SealedValues + 'static) -> Sealed {
    let audit = Audit::new(Ctx::system());
    Sealed::new(db.clone(), cipher, audit, vec![Arc::new(area)])
}

async fn put(db: &Db, key: &str, value: &str) {
    let mut tx = db.begin_write().await.unwrap();
    exec!(&mut tx, PUT, key, Json(value))
        .await
        .unwrap()
        .exactly(1)
        .unwrap();
    tx.commit().await.unwrap();
}

async fn get(db: &Db, key: &str) -> String {
    let mut tx = db.begin_read().await.unwrap();
    value!(&mut tx, Json<String>, GET, key).await.unwrap().0
}

async fn audited(db: &Db) -> Vec<(String, Option<String>, Json<Value>)> {
    let mut tx = db.begin_read().await.unwrap();
    all!(&mut tx, (String, Option<String>, Json<Value>), AUDITED)
        .await
        .unwrap()
}

/// The secret settings with pages of one object and a concurrent writer: just before `contested` is first
/// replaced, it stores `theirs` there.
struct Neighbour {
    inner: SecretSettings,
    theirs: Mutex<Option<String>>,
}

#[async_trait]
impl SealedValues for Neighbour {
    fn area(&self) -> &'static str {
        self.inner.area()
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, _: u32) -> Result<SealedPage, DbError> {
        self.inner.list(tx, after, 1).await
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let theirs = self.theirs.lock().unwrap().take();
        if let Some(theirs) = theirs {
            exec!(&mut *tx, PUT, &row.object, Json(theirs))
                .await?
                .exactly(1)?;
        }
        self.inner.replace(tx, row, new).await
    }
}

db_test! {
    async fn what_is_under_an_earlier_key_is_sealed_anew_and_nothing_else(db: Db) {
        let new = cipher("new", &["old", "older"]);
        let current = new.encrypt("one");
        put(&db, KEYS[0], &current).await;
        put(&db, KEYS[1], &cipher("old", &[]).encrypt("two")).await;
        put(&db, KEYS[2], &cipher("lost", &[]).encrypt("three")).await;
        put(&db, KEYS[3], "").await;
        let sealed = sealed(&db, new.clone(), SecretSettings::whole_values(KEYS.to_vec()));
        let lost = Unreadable { area: "settings".into(), object: KEYS[2].into(), field: "value".into() };
        assert_eq!(sealed.unreadable().await, std::slice::from_ref(&lost));

        let before = get(&db, KEYS[1]).await;
        let planned = sealed.rotate(true).await.unwrap();
        assert_eq!((planned[0].current, planned[0].rotated, planned[0].unreadable), (1, 1, 1));
        assert_eq!(get(&db, KEYS[1]).await, before, "a dry run writes nothing");
        assert!(audited(&db).await.is_empty());

        let done = sealed.rotate(false).await.unwrap();
        assert_eq!(done, planned);
        assert_eq!(done[0].named, [lost]);
        assert_eq!(get(&db, KEYS[0]).await, current, "what is current is left alone");
        assert_eq!(cipher("new", &[]).decrypt(&get(&db, KEYS[1]).await), Some(Secret::new("two")));
        let audit = audited(&db).await;
        let metadata = serde_json::json!({ "area": "settings", "rotated": 1 });
        assert_eq!(audit, [("secrets.rotate".to_owned(), None, Json(metadata))]);

        let again = sealed.rotate(false).await.unwrap();
        assert_eq!((again[0].current, again[0].rotated, again[0].unreadable), (2, 0, 1));
        assert_eq!(audited(&db).await.len(), 1, "what changes nothing is not audited");
    }

    async fn a_member_that_is_a_secret_is_sealed_anew_in_its_place(db: Db) {
        let (old, new) = (cipher("old", &[]), cipher("new", &["old"]));
        let stored = serde_json::json!({ "host": "mail.lan", "password": old.encrypt("two"), "port": 25 });
        for (key, value) in [(KEYS[0], &stored), (KEYS[1], &serde_json::json!({ "host": "mail.lan" }))] {
            let mut tx = db.begin_write().await.unwrap();
            exec!(&mut tx, PUT, key, Json(value)).await.unwrap().exactly(1).unwrap();
            tx.commit().await.unwrap();
        }
        let area = || SecretSettings::with_members(KEYS[..2].iter().map(|key| (*key, ["password"].as_slice())).collect());
        let report = sealed(&db, new, area()).rotate(false).await.unwrap().remove(0);
        assert_eq!((report.rotated, report.unreadable, report.contested), (1, 0, 0));
        let mut tx = db.begin_read().await.unwrap();
        let now = value!(&mut tx, Json<Value>, GET, KEYS[0]).await.unwrap().0;
        assert_eq!((&now["host"], &now["port"]), (&stored["host"], &stored["port"]));
        let password = cipher("new", &[]).decrypt(now["password"].as_str().unwrap_or_default());
        assert_eq!(password, Some(Secret::new("two")));
        drop(tx);
        let lost = sealed(&db, cipher("lost", &[]), area()).unreadable().await;
        let named = Unreadable { area: "settings".into(), object: KEYS[0].into(), field: "password".into() };
        assert_eq!(lost, [named]);
    }

    async fn a_value_that_a_server_changes_meanwhile_is_not_overwritten(db: Db) {
        let new = cipher("new", &["old"]);
        for (theirs, rotated) in [(new.encrypt("theirs"), 1), (cipher("old", &[]).encrypt("theirs"), 2)] {
            for key in &KEYS[..2] {
                put(&db, key, &cipher("old", &[]).encrypt("ours")).await;
            }
            let neighbour = Neighbour {
                inner: SecretSettings::whole_values(KEYS.to_vec()),
                theirs: Mutex::new(Some(theirs)),
            };
            let report = sealed(&db, new.clone(), neighbour).rotate(false).await.unwrap().remove(0);
            assert_eq!((report.rotated, report.contested), (rotated, 0));
            let only_new = cipher("new", &[]);
            assert_eq!(only_new.decrypt(&get(&db, KEYS[0]).await), Some(Secret::new("theirs")));
            assert_eq!(only_new.decrypt(&get(&db, KEYS[1]).await), Some(Secret::new("ours")));
        }
    }
}
