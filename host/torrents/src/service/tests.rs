//! Use cases over clients in memory and both databases.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_engines::TorrentsError;
use qm_engines::dto::engines::{CreateEngine, TestEngine, UpdateEngine};
use qm_engines::model::stored::EngineRow;
use qm_engines::repo::engines;
use qm_kernel::secret::MASK;
use qm_kernel::{Ctx, PageQuery, Permission, Secret, Timestamp};
use qm_platform::{Cipher, SealedValues as _};
use qm_ports::engine::{
    AddOptions, Command, EngineError, File, ShareAction, ShareLimits, Torrent, capability,
};
use qm_test_base::FakeKinds;
use qm_test_base::blank::{hash, torrent};
use qm_torrent_lists::{Filter, ListQuery, Order};
use qm_web::ApiError;
use serde_json::{Map, Value, json};

use super::{AddInput, AddSource, EngineChoice};
use crate::dto::taxonomy::NewCategory;
use crate::model::answers::Asked;
use crate::testing::{House, eventually};
use qm_engines::EngineSecrets;

async fn audited(db: &Db) -> Vec<String> {
    let rows = crate::testing::audited(db).await;
    rows.iter()
        .map(|row| format!("{} {}", row.action, row.result))
        .collect()
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn engine(name: &str, kind: &str, config: Value) -> CreateEngine {
    CreateEngine {
        name: name.into(),
        kind: kind.into(),
        config: map(config),
        path_mappings: None,
        is_default: false,
        is_enabled: true,
    }
}

fn everything() -> ListQuery {
    let order = Order::parse(Some("name"), Some("asc"));
    ListQuery::new(
        Filter::default(),
        order,
        PageQuery {
            page: 1,
            page_size: 50,
        },
    )
}

async fn names(house: &House, choice: EngineChoice) -> Result<Vec<String>, String> {
    let listed = house
        .torrents
        .list(&choice, everything())
        .await
        .map_err(|error| error.to_string())?;
    let page: Value = serde_json::from_slice(&listed.page.body).unwrap();
    Ok(page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect())
}

fn message<T>(result: Result<T, TorrentsError>) -> String {
    result.err().expect("an error").to_string()
}

const METAINFO: &[u8] =
    b"d4:infod6:lengthi5e4:name5:a.txt12:piece lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaaee";

fn input(source: AddSource) -> AddInput {
    AddInput {
        source,
        engine_id: None,
        options: AddOptions::default(),
    }
}

fn magnet() -> AddSource {
    AddSource::Magnet(format!("magnet:?xt=urn:btih:{}", hash(7)))
}

db_test! {
    async fn requests_find_their_engine(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        assert_eq!(message(house.torrents.resolve(None)), "No torrent engine is configured");
        assert_eq!(message(house.torrents.resolve(Some("x"))), "Engine x is not available");
        let first = house.engine("first", "a").await;
        let second = house.engine("second", "b").await;
        assert_eq!(*house.torrents.resolve(None).unwrap().id, *first);
        let default = UpdateEngine { is_default: Some(true), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &second, default).await.unwrap();
        assert_eq!(*house.torrents.resolve(None).unwrap().id, *second);
        let broken = UpdateEngine { config: Some(map(json!({ "host": "refused" }))), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &second, broken).await.unwrap();
        assert_eq!(message(house.torrents.resolve(None)), format!("Engine {second} is not available"));
        assert_eq!(*house.torrents.resolve(Some(&first)).unwrap().id, *first);
        let off = UpdateEngine { is_enabled: Some(false), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &second, off).await.unwrap();
        assert_eq!(*house.torrents.resolve(None).unwrap().id, *first, "a disabled default is none");
        house.torrents.engines.delete_engine(house.caller(), &second).await.unwrap();
        assert_eq!(message(house.torrents.engines.delete_engine(house.caller(), &second).await), "Engine not found");
        house.torrents.shutdown().await;
        assert_eq!(audited(&db).await.iter().filter(|row| row.starts_with("engines.")).count(), 6);
    }

    async fn only_changed_engines_are_opened_again(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let (first, second) = (house.engine("first", "a").await, house.engine("second", "b").await);
        assert_eq!(house.kinds.opened.lock().unwrap().len(), 2);
        let before = house.torrents.resolve(Some(&first)).unwrap();
        let renamed = UpdateEngine { name: Some("other".into()), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &first, renamed).await.unwrap();
        let same = UpdateEngine { config: Some(map(json!({ "host": "b", "password": MASK }))), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &second, same).await.unwrap();
        assert_eq!(house.kinds.opened.lock().unwrap().len(), 2, "nothing that matters changed");
        let after = house.torrents.resolve(Some(&first)).unwrap();
        assert!(Arc::ptr_eq(&before, &after) && *after.name() == "other");
        let moved = UpdateEngine { config: Some(map(json!({ "host": "c", "password": "other" }))), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &second, moved).await.unwrap();
        let opened = house.kinds.opened.lock().unwrap().last().cloned().unwrap();
        assert_eq!((opened.0, opened.1.fields["host"].clone(), opened.1.fields["password"].clone()), (second, json!("c"), json!("other")));
        house.torrents.shutdown().await;
    }

    async fn passwords_are_kept_and_never_shown(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.engine("first", "a").await;
        let mut shown = serde_json::to_value(house.torrents.engines.list_engines().await.unwrap()).unwrap();
        let engine = shown[0].as_object_mut().unwrap();
        engine.retain(|field, _| !field.starts_with("state"));
        let expected = json!([{ "id": id, "name": "first", "kind": "fake", "isDefault": false, "isEnabled": true,
            "host": "a", "hasPassword": true, "pathMappings": [] }]);
        assert_eq!(shown, expected);
        let test = TestEngine { kind: "fake".into(), config: map(json!({ "host": "A.", "password": "" })), engine_id: Some(id) };
        assert!(house.torrents.engines.test_engine(house.caller(), test).await.unwrap().online);
        let (_, config) = house.kinds.opened.lock().unwrap().last().cloned().unwrap();
        assert_eq!(config.fields["password"], "secret");
        assert_eq!(config.secrets, ["secret"], "what is stored encrypted is named, whatever the schema says of it");
        house.torrents.shutdown().await;
    }

    async fn a_password_stays_with_the_address_it_was_entered_for(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.engine("first", "a").await;
        let opened = || house.kinds.opened.lock().unwrap().len();
        let before = opened();
        for kept in [json!({ "host": "t" }), json!({ "host": "t", "password": MASK }), json!({ "host": "t", "password": "" })] {
            let test = TestEngine { kind: "fake".into(), config: map(kept.clone()), engine_id: Some(id.clone()) };
            let health = house.torrents.engines.test_engine(house.caller(), test).await.unwrap();
            assert!(!health.online && health.error.unwrap().contains("enter `password` again"), "{kept}");
            let changes = UpdateEngine { config: Some(map(kept)), ..UpdateEngine::default() };
            let answer = house.torrents.engines.update_engine(house.caller(), &id, changes).await.unwrap();
            assert_eq!(answer.secrets_wanted, ["password"]);
        }
        assert_eq!(opened(), before, "nothing was asked at the other address");
        let shown = || async { serde_json::to_value(house.torrents.engines.list_engines().await.unwrap()).unwrap()[0].clone() };
        let now = shown().await;
        assert_eq!((&now["hasPassword"], &now["secretsWanted"], &now["extra"]), (&json!(false), &json!(["password"]), &Value::Null));
        assert!(now["stateReason"].as_str().unwrap().contains("enter `password` again"), "{now}");
        // Back at the earlier address it is gone as well.
        let changes = |config: Value| UpdateEngine { config: Some(map(config)), ..UpdateEngine::default() };
        let back = house.torrents.engines.update_engine(house.caller(), &id, changes(json!({ "host": "a" }))).await.unwrap();
        assert_eq!((back.secrets_wanted, opened()), (vec!["password".to_owned()], before));
        // Sent anew, or taken away, it is wanted no more.
        let anew = changes(json!({ "host": "t", "password": "new" }));
        assert!(house.torrents.engines.update_engine(house.caller(), &id, anew).await.unwrap().secrets_wanted.is_empty());
        assert_eq!(house.kinds.opened.lock().unwrap().last().unwrap().1.fields["password"], "new");
        let none = changes(json!({ "host": "u", "password": null }));
        assert!(house.torrents.engines.update_engine(house.caller(), &id, none).await.unwrap().secrets_wanted.is_empty());
        assert!(!house.kinds.opened.lock().unwrap().last().unwrap().1.fields.contains_key("password"));
        assert_eq!(shown().await["secretsWanted"], Value::Null);
        house.torrents.shutdown().await;
    }

    async fn an_engine_keeps_its_address_whatever_form_is_sent(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.engine("first", "a").await;
        let update = |config: Value| {
            let changes = UpdateEngine { config: Some(map(config)), ..UpdateEngine::default() };
            house.torrents.engines.update_engine(house.caller(), &id, changes)
        };
        // The form of another kind.
        let refused = update(json!({ "mode": "scgi-unix", "socketPath": "/run/x" })).await;
        assert_eq!(message(refused), "config.host is required");
        update(json!({ "mode": "scgi-unix", "host": "b", "port": "7", "password": "secret" })).await.unwrap();
        let (_, config) = house.kinds.opened.lock().unwrap().last().cloned().unwrap();
        assert_eq!(Value::Object(config.fields), json!({ "host": "b", "password": "secret" }));
        house.torrents.shutdown().await;
    }

    async fn a_url_with_a_password_is_refused_and_one_that_is_stored_is_parted(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let http = |url: &str| json!({ "mode": "http", "url": url });
        for (kind, config, field) in [
            ("scgi_client", http("http://me:hunter2@nas/RPC2"), "url"),
            ("scgi_client", http("me@nas/RPC2"), "url"),
            ("webapi_client", json!({ "baseUrl": "https://me:hunter2@nas:8080" }), "baseUrl"),
        ] {
            let refused = house.torrents.engines.create_engine(house.caller(), engine("nas", kind, config.clone())).await;
            let Err(TorrentsError::Fields(rules)) = refused else { panic!("{config} was taken") };
            assert_eq!(rules, [format!("config.{field} must not hold a user name or a password: enter them as config.username and config.password")]);
            let test = TestEngine { kind: kind.into(), config: map(config), engine_id: None };
            assert!(matches!(house.torrents.engines.test_engine(house.caller(), test).await, Err(TorrentsError::Fields(_))));
        }
        let good = json!({ "mode": "http", "url": "http://nas/RPC2", "username": "me@home", "password": "hunter2" });
        house.torrents.engines.create_engine(house.caller(), engine("good", "scgi_client", good)).await.unwrap();
        house.torrents.shutdown().await;

        // As they were stored before.
        let mut tx = db.begin_write().await.unwrap();
        for (id, kind, config) in [
            ("old", "scgi_client", http("http://me:hunter%32@nas/RPC2")),
            ("web", "webapi_client", json!({ "baseUrl": "http://proxy:hunter2@nas", "username": "own" })),
        ] {
            let row = EngineRow { id: id.into(), name: id.into(), kind: kind.into(), config: map(config), secret_fields: vec![], path_mappings: vec![], is_default: false, is_enabled: true };
            engines::insert(&mut tx, &row, qm_kernel::Timestamp::from_ms(1)).await.unwrap();
        }
        tx.commit().await.unwrap();
        let shown = serde_json::to_string(&house.torrents.engines.list_engines().await.unwrap()).unwrap();
        assert!(!shown.contains("hunter"), "{shown}");

        let house = House::new(&db, &["fake"]).await;
        let shown = serde_json::to_value(house.torrents.engines.list_engines().await.unwrap()).unwrap();
        let old = shown.as_array().unwrap().iter().find(|engine| engine["id"] == "old").unwrap();
        assert_eq!((&old["url"], &old["username"], &old["hasPassword"]), (&json!("http://nas/RPC2"), &json!("me"), &json!(true)));
        let mut tx = db.begin_read().await.unwrap();
        let rows = engines::list(&mut tx).await.unwrap();
        assert!(rows.iter().all(|row| !Value::Object(row.config.clone()).to_string().contains("hunter")));
        let clear = |name: &str| {
            let row = rows.iter().find(|row| row.name == name).unwrap();
            let mut config = row.config.clone();
            for field in &row.secret_fields {
                let stored = config[field].as_str().unwrap();
                let secret = house.ground.cipher.decrypt(stored).unwrap().expose().to_owned();
                config.insert(field.clone(), secret.into());
            }
            config
        };
        assert_eq!((&clear("old")["password"], clear("good").get("password")), (&json!("hunter2"), Some(&json!("hunter2"))));
        assert_eq!((&clear("web")["baseUrl"], &clear("web")["username"]), (&json!("http://nas"), &json!("own")));
        drop(tx);
        house.torrents.shutdown().await;
    }

    async fn an_unreadable_password_is_an_absent_one(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.engine("first", "a").await;
        house.torrents.shutdown().await;
        let lost = Cipher::new(&Secret::new("a key nobody has any more"), Ctx::system()).encrypt("secret");
        let mut tx = db.begin_write().await.unwrap();
        let stored = EngineSecrets.list(&mut tx, None, 10).await.unwrap();
        assert_eq!((stored.rows.len(), &stored.rows[0].object, stored.next), (1, &id, None));
        assert!(EngineSecrets.replace(&mut tx, &stored.rows[0], &lost).await.unwrap());
        assert!(!EngineSecrets.replace(&mut tx, &stored.rows[0], &lost).await.unwrap(), "another value by now");
        tx.commit().await.unwrap();

        let house = House::new(&db, &["fake"]).await;
        let (_, config) = house.kinds.opened.lock().unwrap().last().cloned().unwrap();
        assert_eq!((config.fields.get("host"), config.fields.get("password")), (Some(&json!("a")), None));
        assert_eq!(house.torrents.engines.list_engines().await.unwrap().len(), 1);
        house.torrents.shutdown().await;
    }

    async fn a_planned_kind_works_once_a_plugin_provides_it(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let test = |kind: &str| TestEngine { kind: kind.into(), config: map(json!({ "host": "h" })), engine_id: None };
        let health = house.torrents.engines.test_engine(house.caller(), test("deluge")).await.unwrap();
        assert_eq!(health.error.as_deref(), Some("Engine \"deluge\" is planned but not yet implemented"));
        let unknown = "kind must be one of the following values: scgi_client, webapi_client, transmission, deluge, fake";
        assert_eq!(message(house.torrents.engines.test_engine(house.caller(), test("x")).await), unknown);
        let id = house.torrents.engines.create_engine(house.caller(), engine("d", "deluge", json!({ "host": "h" }))).await.unwrap().id;
        assert!(house.torrents.resolve(Some(&id)).is_err());
        house.kinds.install("deluge");
        eventually("the engine is loaded", || house.torrents.resolve(Some(&id)).is_ok()).await;
        assert!(house.torrents.engines.test_engine(house.caller(), test("deluge")).await.unwrap().online);
        house.torrents.shutdown().await;
    }

    async fn lists_wait_for_the_first_read_and_outlive_the_client(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let (a, b) = (house.kinds.engine("a"), house.kinds.engine("b"));
        a.put(torrent(1));
        b.fail(Some(EngineError::Unreachable("refused".into())));
        let first = house.engine("first", "a").await;
        let second = house.engine("second", "b").await;
        assert_eq!(names(&house, EngineChoice::One(None)).await.unwrap(), ["torrent 1"]);
        let offline = names(&house, EngineChoice::One(Some(second.clone()))).await;
        assert_eq!(offline, Err("second cannot be reached: refused".into()));
        assert_eq!(names(&house, EngineChoice::All).await.unwrap(), ["torrent 1"]);
        b.fail(None);
        b.put(torrent(2));
        house.torrents.resolve(Some(&second)).unwrap().poke();
        eventually("the second engine is read", || house.torrents.torrent(&second, &hash(2)).is_some()).await;
        assert_eq!(names(&house, EngineChoice::All).await.unwrap(), ["torrent 1", "torrent 2"]);
        a.fail(Some(EngineError::Timeout("silent".into())));
        house.torrents.resolve(Some(&first)).unwrap().poke();
        eventually("the first is offline", || house.torrents.status(&first).is_some_and(|status| !status.online)).await;
        assert_eq!(names(&house, EngineChoice::One(None)).await.unwrap(), ["torrent 1"], "its last list is served");
        house.torrents.shutdown().await;
    }

    async fn commands_act_audit_and_show(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        client.put(torrent(1));
        house.engine("seedbox", "a").await;
        let upper = hash(1).to_uppercase();
        let run = |hash: String, permission, command| {
            let (torrents, caller) = (house.torrents.clone(), house.caller());
            async move { torrents.command(caller, None, &hash, permission, command).await }
        };
        run(upper.clone(), Permission::TorrentsPause, Command::Pause).await.unwrap();
        assert_eq!(message(run("x".into(), Permission::TorrentsPause, Command::Pause).await), "Torrent not found");
        assert_eq!(message(run(hash(2).to_string(), Permission::TorrentsPause, Command::Pause).await), "Torrent not found");
        let rename = Command::Rename { name: "n".into() };
        let refused = run(upper.clone(), Permission::TorrentsRename, rename).await;
        assert_eq!(message(refused), "This engine cannot rename torrents");
        house.torrents.data.relocate(house.caller(), None, &hash(1), "/downloads/x/").await.unwrap();
        let outside = house.torrents.data.relocate(house.caller(), None, &hash(1), "/srv/x").await;
        assert_eq!(message(outside), "Path is outside the allowed storage roots (/downloads).");
        client.fail(Some(EngineError::Busy));
        assert_eq!(message(run(upper.clone(), Permission::TorrentsStop, Command::Stop).await), "seedbox: engine is busy");
        client.fail(None);
        run(upper, Permission::TorrentsDelete, Command::Remove { with_data: false }).await.unwrap();
        assert_eq!(names(&house, EngineChoice::One(None)).await.unwrap(), Vec::<String>::new(), "shown at once");
        house.torrents.shutdown().await;
        let rows = audited(&db).await;
        assert_eq!(rows[1..], ["torrents.delete success", "torrents.move success", "torrents.pause success"]);
    }

    async fn a_torrent_goes_where_its_category_says_unless_it_has_a_path_of_its_own(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        house.engine("seedbox", "a").await;
        for (name, path) in [("tv", Some("/downloads/tv")), ("plain", None)] {
            let new = NewCategory { name: name.into(), color: None, save_path: path.map(Into::into) };
            house.torrents.create_category(house.caller(), new).await.unwrap();
        }
        let file = || AddSource::File(bytes::Bytes::from_static(METAINFO));
        let put = async |source: AddSource, category: &str, path: Option<&str>| {
            let mut add = input(source);
            add.options = AddOptions { save_path: path.map(Into::into), category: Some(category.into()), ..AddOptions::default() };
            house.torrents.add(house.caller(), add).await.unwrap()
        };
        let added = put(file(), "tv", None).await;
        let path_of_category = Some("/downloads/tv".to_owned());
        assert_eq!(added.asked, Asked { category: Some("tv".into()), path_of_category, ..Asked::default() });
        for (n, category, path, expected) in [
            (20, "tv", Some("/downloads/own"), Some("/downloads/own")),
            (21, "plain", None, None),
            (22, "not in the list", None, None),
            (23, "", None, None),
        ] {
            let source = AddSource::Magnet(format!("magnet:?xt=urn:btih:{}", hash(n)));
            assert_eq!(put(source, category, path).await.asked.save_path.as_deref(), expected, "{category}");
        }
        let paths: Vec<Option<String>> = client.added.lock().unwrap().iter().map(|add| add.options.save_path.clone()).collect();
        let expected = [Some("/downloads/tv"), Some("/downloads/own"), None, None, None];
        assert_eq!(paths, expected.map(|path| path.map(str::to_owned)));
        house.torrents.shutdown().await;
    }

    async fn adding_ends_when_the_client_lists_it(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        house.engine("seedbox", "a").await;
        let file = || AddSource::File(bytes::Bytes::from_static(METAINFO));
        let mut add = input(file());
        add.options = AddOptions { save_path: Some("/downloads//tv".into()), category: Some("tv".into()), ..AddOptions::default() };
        let new = house.torrents.add(house.caller(), add).await.unwrap();
        assert!(!new.existed);
        let added = new.hash;
        assert_eq!(client.added.lock().unwrap()[0].options.save_path.as_deref(), Some("/downloads/tv"));
        assert!(house.torrents.find(None, &added).await.is_ok(), "shown at once");
        let asked = client.fresh.lock().unwrap().last().cloned().unwrap();
        assert_eq!(asked, std::slice::from_ref(&added), "the read that shows it asks for it, for a sparing one tells no others");
        // A client may refuse what it has already.
        *client.add_refusal.lock().unwrap() = Some(EngineError::Rejected("Fails.".into()));
        let again = house.torrents.add(house.caller(), input(file())).await.unwrap();
        assert_eq!((again.hash, again.existed), (added, true));
        assert_eq!(message(house.torrents.add(house.caller(), input(magnet())).await), "seedbox refused it: Fails.");
        *client.add_refusal.lock().unwrap() = None;
        let by_magnet = || house.torrents.add(house.caller(), input(magnet()));
        for existed in [false, true] {
            let added = by_magnet().await.unwrap();
            assert_eq!((added.hash.as_str(), added.existed), (&*hash(7), existed));
        }
        house.torrents.shutdown().await;
        assert_eq!(audited(&db).await.iter().filter(|row| *row == "torrents.add success").count(), 4);
    }

    async fn what_the_client_does_not_keep_is_kept_with_us(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        let id = house.engine("seedbox", "a").await;
        let mut add = input(AddSource::File(bytes::Bytes::from_static(METAINFO)));
        add.options = AddOptions { tags: vec!["x".into(), "y".into()], start_paused: true, ..AddOptions::default() };
        let added = house.torrents.add(house.caller(), add).await.unwrap().hash;
        assert!(client.added.lock().unwrap()[0].options.tags.is_empty());
        let known = |house: &House| {
            let entry = house.torrents.torrent(&id, &added)?;
            Some((entry.torrent.tags.clone(), entry.torrent.added_at))
        };
        let first = known(&house).expect("it is shown");
        assert!(first.0 == ["x", "y"] && first.1.is_some(), "{first:?}");
        // When it is started the client has an instant of its own.
        let begun = Torrent {
            hash: added.as_str().into(),
            added_at: Some(Timestamp::from_secs(4_000_000_000)),
            downloaded: 7,
            ..torrent(1)
        };
        client.put(begun.clone());
        house.torrents.resolve(None).unwrap().poke();
        let moved = |house: &House| house.torrents.torrent(&id, &added).is_some_and(|entry| entry.torrent.downloaded == 7);
        eventually("it moves", || moved(&house)).await;
        assert_eq!(known(&house), Some(first.clone()));
        house.torrents.shutdown().await;

        let kinds = FakeKinds::new(&["fake"]);
        kinds.engine("a").put(begun);
        let house = House::over(&db, kinds).await;
        house.torrents.resolve(None).unwrap().poke();
        eventually("it is read again", || moved(&house)).await;
        assert_eq!(known(&house), Some(first), "after a restart");
        house.torrents.shutdown().await;
    }

    async fn a_kind_with_tags_is_given_them(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        client.offer(capability::TAGS);
        let id = house.engine("seedbox", "a").await;
        let mut add = input(AddSource::File(bytes::Bytes::from_static(METAINFO)));
        add.options.tags = vec!["x".into()];
        let added = house.torrents.add(house.caller(), add).await.unwrap().hash;
        let tags = || house.torrents.torrent(&id, &added).map(|entry| entry.torrent.tags.clone());
        assert_eq!(tags(), Some(vec!["x".to_owned()]));
        // Changed in the client.
        let changed = Torrent { hash: added.as_str().into(), tags: vec!["z".into()], ..torrent(1) };
        client.put(changed);
        house.torrents.resolve(None).unwrap().poke();
        eventually("the client's own are shown", || tags() == Some(vec!["z".to_owned()])).await;
        let mut wrong = input(magnet());
        wrong.options.tags = vec!["a\nb".into()];
        assert_eq!(message(house.torrents.add(house.caller(), wrong).await), "Invalid tag: illegal characters");
        house.torrents.shutdown().await;
    }

    async fn of_many_who_add_a_torrent_one_did(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        client.add_delay.store(50, Ordering::SeqCst);
        house.engine("seedbox", "a").await;
        let file = || input(AddSource::File(bytes::Bytes::from_static(METAINFO)));
        let adds = (0..8).map(|_| house.torrents.add(house.caller(), file()));
        let added = futures_util::future::try_join_all(adds).await.unwrap();
        assert_eq!(added.iter().filter(|added| !added.existed).count(), 1);
        assert_eq!(client.added.lock().unwrap().len(), 1);
        house.torrents.shutdown().await;
    }

    async fn what_a_client_cannot_take_is_said_at_once(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        house.engine("seedbox", "a").await;
        let add = |source| house.torrents.add(house.caller(), input(source));
        let v2 = || AddSource::Magnet(format!("magnet:?xt=urn:btmh:1220{}", "ab".repeat(32)));
        let refused = add(v2()).await.unwrap_err();
        assert_eq!(ApiError::from(refused).status().as_u16(), 400);
        assert!(client.added.lock().unwrap().is_empty());
        client.offer(capability::V2);
        assert_eq!(add(v2()).await.unwrap().hash, "ab".repeat(20));
        // Taken and never listed.
        client.forgets.store(true, Ordering::SeqCst);
        let lost = add(AddSource::File(bytes::Bytes::from_static(METAINFO))).await.unwrap_err();
        assert!(lost.to_string().starts_with("seedbox refused it: it took the torrent and never listed it"), "{lost}");
        assert_eq!(ApiError::from(lost).status().as_u16(), 400);
        let polls = client.polls.load(Ordering::SeqCst);
        house.torrents.resolve(None).unwrap().poke();
        eventually("it is read again", || client.polls.load(Ordering::SeqCst) > polls).await;
        let asked = client.fresh.lock().unwrap().last().cloned().unwrap();
        let handed = client.added.lock().unwrap().last().unwrap().hash.clone();
        assert!(asked.contains(&handed), "a client may list it later, and is asked for it: {asked:?}");
        house.torrents.shutdown().await;
    }

    async fn what_cannot_be_added_is_refused_before_the_client_is_asked(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        assert_eq!(message(house.torrents.add(house.caller(), input(magnet())).await), "No torrent engine is configured");
        house.engine("seedbox", "a").await;
        let with = |source, save_path: Option<&str>, category: Option<&str>| {
            let mut add = input(source);
            add.options.save_path = save_path.map(Into::into);
            add.options.category = category.map(Into::into);
            let (torrents, caller) = (house.torrents.clone(), house.caller());
            async move { message(torrents.add(caller, add).await) }
        };
        assert_eq!(with(magnet(), Some(""), None).await, "A path is required.");
        assert_eq!(with(magnet(), None, Some("a\"b")).await, "Invalid category: illegal characters");
        assert_eq!(with(AddSource::File(b"nonsense".as_slice().into()), None, None).await, "Invalid .torrent file");
        assert_eq!(with(AddSource::Url("ftp://x/a".into()), None, None).await, "Only http(s) torrent URLs are allowed");
        let internal = with(AddSource::Url("http://127.0.0.1/a.torrent".into()), None, None).await;
        assert!(internal.starts_with("Torrent URL resolves to a blocked internal address"), "{internal}");
        let client = house.kinds.engine("a");
        let asking = |change: fn(&mut AddOptions)| {
            let mut add = input(magnet());
            change(&mut add.options);
            house.torrents.add(house.caller(), add)
        };
        let lacks = asking(|options| options.sequential_download = true).await.unwrap_err();
        assert_eq!(lacks.code(), "unsupported.sequential", "it would be dropped without a word");
        assert_eq!(ApiError::from(lacks).status().as_u16(), 501);
        for word in [capability::DOWNLOAD_PATH, capability::SHARE_LIMITS, capability::SHARE_ACTION] {
            client.offer(word);
        }
        assert_eq!(message(asking(|options| options.download_path = Some(String::new())).await), "A path is required.");
        let mut taking = input(magnet());
        taking.options.share_limits = Some(ShareLimits { action: ShareAction::RemoveWithData, ..ShareLimits::default() });
        let refused = message(house.torrents.add(house.caller(), taking).await);
        assert!(refused.contains("choose the action stop or remove"), "{refused}");
        assert!(client.added.lock().unwrap().is_empty());
        asking(|options| options.download_path = Some("/downloads//part".into())).await.unwrap();
        let path = client.added.lock().unwrap()[0].options.download_path.clone();
        assert_eq!(path.as_deref(), Some("/downloads/part"), "judged like a save path");
        house.torrents.shutdown().await;
    }

    async fn a_panic_costs_one_read_and_is_counted(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        client.put(torrent(1));
        client.panics.store(1, Ordering::SeqCst);
        let id = house.engine("seedbox", "a").await;
        let refused = names(&house, EngineChoice::One(None)).await;
        assert_eq!(refused, Err("seedbox cannot be reached: reading its list failed unexpectedly".into()));
        assert!(house.torrents.status(&id).is_some_and(|status| !status.online));
        eventually("it is read again", || house.torrents.torrent(&id, &hash(1)).is_some()).await;
        client.panics.store(1, Ordering::SeqCst);
        house.torrents.resolve(None).unwrap().poke();
        eventually("it failed again", || house.torrents.status(&id).is_some_and(|status| !status.online)).await;
        assert_eq!(names(&house, EngineChoice::One(None)).await.unwrap(), ["torrent 1"], "its last list is served");
        client.put(torrent(2));
        eventually("it is read once more", || house.torrents.torrent(&id, &hash(2)).is_some()).await;
        eventually("it is online", || house.torrents.status(&id).is_some_and(|status| status.online)).await;
        let counted = prometheus::TextEncoder::new().encode_to_string(&house.ground.metrics.gather()).unwrap();
        assert!(counted.contains("quartermaster_loop_panics_total{loop=\"torrent_sync\"} 2"), "{counted}");
        house.torrents.shutdown().await;
        let counted = prometheus::TextEncoder::new().encode_to_string(&house.ground.metrics.gather()).unwrap();
        assert!(!counted.contains(&id), "the series of an engine go with it: {counted}");
    }

    async fn a_placeholder_name_is_mended_from_the_files(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let client = house.kinds.engine("a");
        let file = File { index: 0, path: "Show/a.mkv".into(), size: 1, downloaded: 0, progress: 0.0, priority: 1, availability: None };
        client.files.lock().unwrap().push(file);
        client.put(Torrent { name: hash(1).to_string(), ..torrent(1) });
        let id = house.engine("seedbox", "a").await;
        let name = || house.torrents.torrent(&id, &hash(1)).map(|entry| entry.torrent.name.clone());
        eventually("it has a name", || name().as_deref() == Some("Show")).await;
        assert!(client.polls.load(Ordering::SeqCst) > 1);
        house.torrents.shutdown().await;
    }
}
