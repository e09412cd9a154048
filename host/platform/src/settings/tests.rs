//! Tests of reading, writing and showing settings, on both databases.

use qm_db::{Db, Json, db_test, exec, sql, value};
use qm_kernel::secret::MASK;
use qm_kernel::{Ctx, Secret};
use serde_json::{Value, json};

use super::*;
use crate::cipher::Cipher;

sql! {
    COUNT = "SELECT COUNT(*) FROM settings";
    VALUE = "SELECT value FROM settings WHERE key = $1";
    SET = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0) \
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

type Object = serde_json::Map<String, Value>;

crate::settings! {
    of "tests";

    /// A number of days.
    DAYS: f64 = "test.days", || 30.0, accepts(|days| *days >= 0.0);

    /// A number that is seeded.
    PERIOD: i64 = "test.period", || 30, accepts(|days| *days >= 1), seeded();

    /// A text that is seeded.
    LOOK: String = "test.look", || "dark".to_owned(), seeded();

    /// An address, or none.
    ADDRESS: Option<String> = "test.address", || None;

    /// An object that holds a secret.
    LINK: Object = "test.link", Object::new, by_route("PATCH /api/link"), secret_members(&["apiKey"]);

    /// Another one, which no area reads yet.
    OTHER: Object = "test.other", Object::new, by_route("PATCH /api/other"), secret_members(&["apiKey"]), to_come();

    /// A secret.
    secret API_KEY = "test.apiKey";

    /// Another one.
    secret PIN = "test.pin";

    /// A secret with a route of its own.
    secret PICTURES = "test.pictures", by_route("PATCH /api/pictures"), to_come();
}

fn settings_under(key: &str) -> Settings {
    let ctx = Ctx::system();
    Settings::new(ctx.clone(), Cipher::new(&Secret::new(key), ctx))
}

fn settings() -> Settings {
    settings_under("the key of these tests")
}

#[test]
fn keys_are_unique_and_described() {
    let specs = declare::all();
    assert!(specs.windows(2).all(|pair| pair[0].key < pair[1].key));
    assert!(
        specs
            .iter()
            .all(|spec| spec.about.ends_with('.') && !(spec.secret && spec.seeded))
    );
    assert!(specs.iter().all(|spec| spec.key.len() <= MAX_KEY));
}

/// A setting with secret members needs its own route: a generic writer would store the secrets unencrypted.
#[test]
fn an_object_with_secret_members_has_a_route_of_its_own() {
    let specs = declare::all();
    assert!(
        specs
            .iter()
            .all(|spec| spec.secret_members.is_empty() || spec.route.is_some())
    );
}

#[test]
fn defaults_are_values_of_their_own_setting() {
    assert_eq!(DAYS.spec().default, json!(30));
    assert_eq!(ADDRESS.spec().default, Value::Null);
}

#[test]
fn the_document_has_a_line_for_every_setting_that_is_read() {
    let table = settings_table();
    for spec in declare::all() {
        let line = format!("| `{}` | {} |", spec.key, spec.kind);
        let has = table.lines().any(|present| present.starts_with(&line));
        assert_eq!(has, !spec.to_come, "{}", spec.key);
    }
}

#[test]
fn what_a_comment_says_is_told() {
    let link = LINK.spec();
    assert_eq!(
        (link.about, link.owner),
        ("An object that holds a secret.", "tests")
    );
    assert!(OTHER.spec().to_come && PICTURES.spec().secret);
}

#[test]
fn unusable_numbers_of_days_are_the_default() {
    let days = &DAYS;
    let read = |stored: Option<&Value>| days.read(stored).to_json();
    for (stored, expected) in [
        (json!(0), json!(0)),
        (json!(0.5), json!(0.5)),
        (json!(90), json!(90)),
        (json!(-1), json!(30)),
        (json!("7"), json!(30)),
        (json!(null), json!(30)),
        (json!([7]), json!(30)),
    ] {
        assert_eq!(read(Some(&stored)), expected, "{stored}");
    }
    assert_eq!(read(None), json!(30));
}

#[test]
fn values_of_every_type_come_back_as_they_were_stored() {
    fn back<T: SettingValue>(value: &T) -> Option<T> {
        T::from_json(&value.to_json())
    }
    assert_eq!(back(&"text".to_owned()), Some("text".to_owned()));
    assert_eq!(back(&-7_i64), Some(-7));
    assert_eq!(back(&30.0_f64), Some(30.0));
    assert_eq!(back(&0.25_f64), Some(0.25));
    assert_eq!(back(&true), Some(true));
    assert_eq!(back(&vec!["a".to_owned()]), Some(vec!["a".to_owned()]));
    assert_eq!(Vec::<String>::from_json(&json!(["a", 1])), None);
    assert_eq!(Option::<String>::from_json(&json!(5)), None);
}

db_test! {
    async fn seeding_fills_gaps_and_changes_nothing(db: Db) {
        let settings = settings();
        let mut tx = db.begin_write().await.unwrap();
        settings.put(&mut tx, &LOOK, &"light".to_owned()).await.unwrap();
        for name in ["Box", "Other"] {
            settings.seed_defaults(&mut tx, name).await.unwrap();
        }
        assert_eq!(value!(&mut tx, i64, COUNT).await.unwrap(), 3);
        assert_eq!(settings.get(&mut tx, &LOOK).await.unwrap(), "light");
        assert_eq!(settings.get(&mut tx, &PRODUCT_NAME).await.unwrap(), "Box");
        assert_eq!(settings.get(&mut tx, &PERIOD).await.unwrap(), 30);
    }

    async fn unusable_values_read_as_the_default(db: Db) {
        let settings = settings();
        let mut tx = db.begin_write().await.unwrap();
        assert_eq!(settings.get(&mut tx, &PERIOD).await.unwrap(), 30);
        for (stored, read) in [(json!(7), 7), (json!("7"), 30), (json!(0), 30), (json!(1.5), 30), (json!(null), 30)] {
            exec!(&mut tx, SET, "test.period", Json(stored)).await.unwrap().exactly(1).unwrap();
            assert_eq!(settings.get(&mut tx, &PERIOD).await.unwrap(), read);
        }
        settings.put(&mut tx, &PERIOD, &90).await.unwrap();
        assert_eq!(settings.get(&mut tx, &PERIOD).await.unwrap(), 90);
    }

    async fn secrets_are_stored_encrypted_and_read_with_the_key(db: Db) {
        let settings = settings();
        let mut tx = db.begin_write().await.unwrap();
        let key = API_KEY;
        assert_eq!(settings.get_secret(&mut tx, &key).await.unwrap(), None);
        settings.put_secret(&mut tx, &key, &Secret::new("k-123")).await.unwrap();
        let stored = value!(&mut tx, String, VALUE, key.key).await.unwrap();
        assert!(!stored.contains("k-123"), "{stored}");
        assert_eq!(settings.get_secret(&mut tx, &key).await.unwrap(), Some(Secret::new("k-123")));
        let stranger = settings_under("another key");
        assert_eq!(stranger.get_secret(&mut tx, &key).await.unwrap(), None);
    }

    async fn lists_show_no_secret(db: Db) {
        let settings = settings();
        let mut tx = db.begin_write().await.unwrap();
        settings.put_secret(&mut tx, &API_KEY, &Secret::new("k-123")).await.unwrap();
        let proxy = json!({ "enabled": true, "apiKey": "sealed", "publicUrl": "http://x" });
        for (key, stored) in [
            ("test.link", proxy),
            ("test.other", json!({ "apiKey": null })),
            ("test.pin", json!("stored without encryption")),
            ("test.pictures", json!({ "token": "t" })),
            ("somebody.elses", json!([1, "two"])),
        ] {
            exec!(&mut tx, SET, key, Json(stored)).await.unwrap().exactly(1).unwrap();
        }
        let shown = settings.list(&mut tx).await.unwrap();
        let expected = json!({
            "test.link": { "enabled": true, "apiKey": MASK, "publicUrl": "http://x" },
            "test.apiKey": MASK,
            "test.other": { "apiKey": null },
            "somebody.elses": [1, "two"],
        });
        assert_eq!(json!(shown), expected);
        // With another key the value reads as absent.
        let stranger = settings_under("another key").list(&mut tx).await.unwrap();
        assert!(!stranger.contains_key("test.apiKey"));
    }

    async fn a_mask_sent_back_keeps_and_an_empty_text_removes(db: Db) {
        let settings = settings();
        let mut tx = db.begin_write().await.unwrap();
        let key = PIN;
        settings.write(&mut tx, key.key, &json!("1234")).await.unwrap();
        for (sent, kept) in [(json!(MASK), Some("1234")), (json!("••"), Some("1234")), (json!("5678"), Some("5678")), (json!(""), None)] {
            settings.write(&mut tx, key.key, &sent).await.unwrap();
            assert_eq!(settings.get_secret(&mut tx, &key).await.unwrap(), kept.map(Secret::new), "{sent}");
        }
    }
}
