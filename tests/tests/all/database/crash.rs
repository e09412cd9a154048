//! Kill -9 in the middle of many mixed writes, again and again on one database: every write that was acknowledged is
//! there, every row has its audit and every audit its row, and what was under way is there whole or not at all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qm_testkit::binary::{self, Binary};
use qm_testkit::{Api, Backend, both_databases, plugins};
use serde_json::{Value, json};

use crate::dice::Dice;

/// Writes of one round, were it not for the kill.
const WRITES: usize = 1000;
const ROUNDS: usize = 3;
const WORKERS: usize = 4;
/// The setting of each worker. None is stored by a server that starts, and each takes whatever a writer gives it.
const SETTINGS: [&str; WORKERS] = [
    "media.metadataProviderOrder",
    "media.universalScraper.fields",
    "rss.evaluationRetentionDays",
    "rss.historyRetentionDays",
];
/// Nothing is stored there: categories name it.
const ROOT: &str = "/downloads";

/// The kind of object that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    User,
    Engine,
    Key,
    Category,
    Tag,
    Setting,
}

impl Kind {
    /// The area that begins the actions of its audit rows.
    fn area(self) -> &'static str {
        match self {
            Kind::User => "users",
            Kind::Engine => "engines",
            Kind::Key => "apikeys",
            Kind::Category => "categories",
            Kind::Tag => "tags",
            Kind::Setting => "settings",
        }
    }
}

/// One object as far as the answers told us. It is known by its name, because a creation that was cut short gave us no
/// id.
#[derive(Clone, Debug, Default)]
struct Object {
    id: Option<String>,
    /// Its content; `None` once deleted, or not yet created.
    state: Option<String>,
    /// Acknowledged writes.
    writes: usize,
    /// Asked for, and not acknowledged when the server died.
    pending: Option<Pending>,
}

/// A write that may or may not have happened: the state it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pending(Option<String>);

type Objects = BTreeMap<(Kind, String), Object>;

/// A request and the state it leads to.
struct Write {
    method: &'static str,
    path: String,
    body: Option<Value>,
    then: Option<String>,
}

/// The request that creates an object, or, with `change`, one that changes or ends an object that is there. `text` is
/// new each time.
fn write(kind: Kind, name: &str, object: &Object, text: &str, change: bool) -> Write {
    let make = |path: &str, body: Value, then: &str| Write {
        method: "POST",
        path: path.to_owned(),
        body: Some(body),
        then: Some(then.to_owned()),
    };
    let Some(id) = object.id.as_deref().filter(|_| object.state.is_some()) else {
        return match kind {
            Kind::User => {
                let email = format!("{name}@example.org");
                let body = json!({ "username": name, "email": email, "password": "long enough", "displayName": text, "roleNames": ["USER"] });
                make("/api/users", body, text)
            }
            Kind::Engine => {
                let config = json!({ "mode": "scgi-tcp", "host": "127.0.0.1", "port": 9 });
                let body =
                    json!({ "name": name, "kind": "scgi_client", "config": config, "isEnabled": false });
                make("/api/engines", body, name)
            }
            Kind::Key => make("/api/api-keys", json!({ "name": name, "scopes": [text] }), text),
            Kind::Category => make(
                "/api/categories",
                json!({ "name": name, "savePath": format!("{ROOT}/{text}") }),
                text,
            ),
            Kind::Tag => make("/api/tags", json!({ "name": name, "color": text }), text),
            Kind::Setting => Write {
                method: "PUT",
                ..make(&format!("/api/settings/{name}"), json!({ "value": text }), text)
            },
        };
    };
    let path = |collection: &str| format!("/api/{collection}/{id}");
    let (method, path, body, then) = match kind {
        Kind::User if change => (
            "PATCH",
            path("users"),
            Some(json!({ "displayName": text, "roleNames": ["USER"] })),
            Some(text),
        ),
        Kind::User => ("DELETE", path("users"), None, None),
        Kind::Engine => ("DELETE", path("engines"), None, None),
        Kind::Key => ("DELETE", path("api-keys"), None, Some("revoked")),
        Kind::Category => ("DELETE", path("categories"), None, None),
        Kind::Tag => ("DELETE", path("tags"), None, None),
        Kind::Setting => (
            "PUT",
            path("settings"),
            Some(json!({ "value": text })),
            Some(text),
        ),
    };
    Write {
        method,
        path,
        body,
        then: then.map(str::to_owned),
    }
}

/// Writes until the server is gone. Answers the objects as the server acknowledged them.
async fn work(
    api: Api,
    mut objects: Objects,
    (prefix, setting): (String, &str),
    mut dice: Dice,
    acknowledged: Arc<AtomicUsize>,
) -> Objects {
    for number in 0.. {
        let kinds = [
            Kind::Category,
            Kind::Tag,
            Kind::Setting,
            Kind::Category,
            Kind::Tag,
            Kind::Setting,
            Kind::Setting,
            Kind::Engine,
            Kind::Engine,
            Kind::Key,
            Kind::User,
        ];
        let kind = kinds[dice.below(kinds.len())];
        let alive: Vec<String> = objects
            .iter()
            .filter(|((of, _), object)| {
                *of == kind && object.state.as_deref().is_some_and(|state| state != "revoked")
            })
            .map(|((_, name), _)| name.clone())
            .collect();
        let text = format!("{prefix}-{number}");
        let name = if kind == Kind::Setting {
            setting.to_owned()
        } else if alive.is_empty() || dice.below(3) == 0 {
            format!("{prefix}-{kind:?}-{number}")
        } else {
            alive[dice.below(alive.len())].clone()
        };
        let object = objects.entry((kind, name.clone())).or_default();
        let write = write(kind, &name, object, &text, dice.below(2) == 0);
        object.pending = Some(Pending(write.then.clone()));
        let mut request = api.request(write.method, &write.path);
        if let Some(body) = &write.body {
            request = request.json(body);
        }
        // The kill came first.
        let Ok(reply) = request.send().await else { break };
        assert!(
            reply.status < 300,
            "{} {}: {} {}",
            write.method,
            write.path,
            reply.status,
            reply.text()
        );
        object.pending = None;
        object.state = write.then;
        object.writes += 1;
        if object.id.is_none() {
            let key = if kind == Kind::Setting { "key" } else { "id" };
            // The answer that shows an API key tells its prefix, not its id.
            object.id = reply.json()[key].as_str().map(str::to_owned);
            if kind == Kind::Key {
                object.id = Some(key_id(&api, &name).await.unwrap_or_default()).filter(|id| !id.is_empty());
            }
        }
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
    objects
}

/// The id of our API key of that name; `None` when the server is gone.
async fn key_id(api: &Api, name: &str) -> Option<String> {
    let reply = api.request("GET", "/api/api-keys").send().await.ok()?;
    let keys = reply.json();
    let key = keys.as_array()?.iter().find(|key| key["name"] == name)?;
    key["id"].as_str().map(str::to_owned)
}

/// Every page of a list.
async fn pages(api: &Api, path: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for page in 1.. {
        let answer = api.get(&format!("{path}?pageSize=200&page={page}")).await;
        let found = answer["items"].as_array().expect("items").clone();
        if found.is_empty() {
            break;
        }
        items.extend(found);
    }
    items
}

/// The objects that are really there: id and state, by kind and name.
async fn found(api: &Api) -> BTreeMap<(Kind, String), (String, String)> {
    let mut all = BTreeMap::new();
    let mut add = |kind: Kind, name: &Value, id: &Value, state: String| {
        let (name, id) = (name.as_str().expect("a name"), id.as_str().expect("an id"));
        all.insert((kind, name.to_owned()), (id.to_owned(), state));
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for user in pages(api, "/api/users").await {
        if user["isSystem"] == json!(true) {
            continue;
        }
        // Nothing of a user may be missing: the roles are rows of their own.
        assert_eq!(user["roles"], json!(["USER"]), "half a user: {user}");
        assert_eq!(
            user["email"],
            json!(format!("{}@example.org", text(&user["username"])))
        );
        add(
            Kind::User,
            &user["username"],
            &user["id"],
            text(&user["displayName"]),
        );
    }
    let list = async |path: &str| api.get(path).await.as_array().expect("a list").clone();
    for engine in list("/api/engines").await {
        add(
            Kind::Engine,
            &engine["name"],
            &engine["id"],
            text(&engine["name"]),
        );
    }
    for key in list("/api/api-keys").await {
        let state = if key["revokedAt"].is_null() {
            text(&key["scopes"][0])
        } else {
            "revoked".to_owned()
        };
        add(Kind::Key, &key["name"], &key["id"], state);
    }
    for category in list("/api/categories").await {
        add(
            Kind::Category,
            &category["name"],
            &category["id"],
            text(&category["savePath"])
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned(),
        );
    }
    for tag in list("/api/tags").await {
        add(Kind::Tag, &tag["name"], &tag["id"], text(&tag["color"]));
    }
    let settings = api.get("/api/settings").await;
    for (key, value) in settings.as_object().expect("an object") {
        if SETTINGS.contains(&&**key) {
            add(Kind::Setting, &json!(key), &json!(key), text(value));
        }
    }
    all
}

/// Compares what we were told with what is there, object by object and audit row by audit row, and settles what was
/// under way.
async fn settle(api: &Api, objects: &mut Objects) {
    let found = found(api).await;
    for key in found.keys() {
        assert!(objects.contains_key(key), "{key:?} is there, and nobody made it");
    }
    let mut audited: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in pages(api, "/api/audit").await {
        let (action, id) = (
            row["action"].as_str().expect("an action"),
            row["objectId"].as_str(),
        );
        let area = action.split('.').next().unwrap_or_default();
        if let Some(id) = id.filter(|_| row["result"] == "success") {
            *audited.entry((area.to_owned(), id.to_owned())).or_default() += 1;
        }
    }
    for ((kind, name), object) in objects.iter_mut() {
        let there = found.get(&(*kind, name.clone()));
        let state = there.map(|(_, state)| state.clone());
        if let Some((id, _)) = there {
            let known = object.id.get_or_insert_with(|| id.clone());
            assert_eq!(known, id, "{kind:?} {name}");
        }
        if let Some(Pending(pending)) = object.pending.take() {
            assert!(
                state == object.state || state == pending,
                "{kind:?} {name} was {:?}, was to be {pending:?}, and is {state:?}",
                object.state
            );
            if state != object.state {
                (object.state, object.writes) = (pending, object.writes + 1);
            }
        }
        assert_eq!(
            state, object.state,
            "{kind:?} {name}: an acknowledged write is gone"
        );
        let Some(id) = &object.id else { continue };
        let rows = audited.remove(&(kind.area().to_owned(), id.clone())).unwrap_or(0);
        assert_eq!(rows, object.writes, "{kind:?} {name}: audit rows, writes");
    }
    let kinds = [
        Kind::User,
        Kind::Engine,
        Kind::Key,
        Kind::Category,
        Kind::Tag,
        Kind::Setting,
    ];
    let untrue: Vec<_> = audited
        .keys()
        .filter(|(area, _)| kinds.iter().any(|kind| kind.area() == area))
        .collect();
    assert!(
        untrue.is_empty(),
        "the audit tells of what was not done: {untrue:?}"
    );
}

/// The file itself took no harm: a backup checks it page by page first.
fn sound(dir: &Path, url: &str, round: usize) {
    let copy = dir.join(format!("copy-{round}.db"));
    let output = binary::command(dir, url)
        .arg("backup")
        .arg(&copy)
        .output()
        .expect("the binary is there");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(copy.exists(), "{}", copy.display());
}

both_databases! {
    async fn what_was_acknowledged_survives_a_kill_whole(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(dir.path().join("plugins")).expect("our own directory");
        plugins::install("scgi_client.wasm", &dir.path().join("plugins"));
        let mut dice = Dice::thrown();
        eprintln!("the dice: {}", dice.0);
        let env = [("THROTTLE_LIMIT", "1000000"), ("JWT_ACCESS_TTL", "1d"), ("FILE_MANAGER_ROOTS", ROOT)];
        let mut workers: Vec<Objects> = vec![Objects::new(); WORKERS];
        for round in 0..ROUNDS {
            let mut binary = Binary::start_with(dir.path(), db.url(), &env).await;
            let api = binary.admin().await;
            let acknowledged = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = workers
                .drain(..)
                .enumerate()
                .map(|(number, objects)| {
                    let dice = Dice(dice.below(usize::MAX) as u64);
                    let prefix = format!("crash{round}w{number}");
                    tokio::spawn(work(api.clone(), objects, (prefix, SETTINGS[number]), dice, acknowledged.clone()))
                })
                .collect();
            let last = WRITES / 20 + dice.below(WRITES * 9 / 10);
            while acknowledged.load(Ordering::SeqCst) < last {
                assert!(!tasks.iter().any(tokio::task::JoinHandle::is_finished), "a write was refused");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            binary.kill();
            for task in tasks {
                workers.push(task.await.expect("a worker ends without a panic"));
            }
            let binary = Binary::start_with(dir.path(), db.url(), &env).await;
            let api = binary.admin().await;
            let mut objects: Objects = workers.iter().flat_map(Clone::clone).collect();
            let writes: usize = objects.values().map(|object| object.writes).sum();
            assert!(writes >= last, "{writes} acknowledged writes");
            settle(&api, &mut objects).await;
            if db.backend == Backend::Sqlite {
                sound(dir.path(), db.url(), round);
            }
            for worker in &mut workers {
                for (key, object) in worker.iter_mut() {
                    *object = objects[key].clone();
                }
            }
        }
    }
}
