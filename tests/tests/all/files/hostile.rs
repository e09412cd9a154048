//! Hostile paths against every route that takes one, through the whole server: refused with the API's error or handled
//! inside the root, never a hang, and nobody outside is read or touched.
//!
//! The routes and their texts come from the served document; [`FIELDS`] says what each text holds, and a text without a row
//! fails.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use qm_kernel::Role;
use qm_testkit::database::run;
use qm_testkit::http::Reply;
use qm_testkit::{Api, Backend, TestDb, TestServer, both_databases, token};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::site::{Site, complaint, percent, raw_name, remove, sung, tree};
use super::table::{
    ABSOLUTE, ELSEWHERE, FIELDS, Field, Holds, Must, NAMES, NO_PLACES, PATHS, QUERIES, RAW_PATHS, is_attacked,
};
use crate::document::fresh;

/// The longest an answer may take: what waits for a FIFO waits for ever.
const DEADLINE: Duration = Duration::from_mins(1);
/// The content of a file outside that has a second name (a hard link) inside.
const SHARED: &str = "also known outside";
/// No client sends an address longer than this.
const LONGEST_QUERY: usize = 8000;

/// A running server, and what it must not touch.
struct Target {
    server: TestServer,
    site: Site,
    /// The root as it is configured: itself, or a link to it.
    configured: PathBuf,
    outside: BTreeMap<PathBuf, String>,
}

impl Target {
    async fn start(db: &TestDb, through_a_link: bool) -> Target {
        let site = Site::in_memory();
        let configured = if through_a_link {
            let link = site.beside("linked");
            symlink("root", &link).expect("our own directory");
            link
        } else {
            site.root.clone()
        };
        std::fs::write(site.beside("shared"), SHARED).expect("our own directory");
        let server = TestServer::builder(db)
            .env("FILE_MANAGER_ROOTS", configured.display().to_string())
            .start()
            .await;
        let mut target = Target {
            server,
            site,
            configured,
            outside: BTreeMap::new(),
        };
        target.populate();
        target.outside = target.look_outside();
        target
    }

    fn look_outside(&self) -> BTreeMap<PathBuf, String> {
        let mut all = tree(&self.site.canary);
        all.extend(tree(&self.site.beside("shared")));
        all
    }

    /// Everything inside, as at first.
    fn populate(&self) {
        let site = &self.site;
        for entry in std::fs::read_dir(&site.root).expect("our own directory") {
            remove(&entry.expect("an entry").path());
        }
        for file in ["file", "other", "folder/file", "folder/sub/file", "Twin", "twin"] {
            site.write(file, "inside");
        }
        for folder in ["spare", "traps"] {
            site.folder(folder);
        }
        site.write("n".repeat(255), "long");
        site.write(raw_name(b"\xffname"), "raw");
        let canary = site.canary.display().to_string();
        for (link, to) in [
            ("to-secret", format!("{canary}/secret").as_str()),
            ("to-canary", &canary),
            ("to-canary-relative", "../root-canary"),
            ("folder/climbing", "../../root-canary"),
            ("chain", "chain-b"),
            ("chain-b", &canary),
            ("to-slash", "/"),
            ("to-proc", "/proc/self/root"),
            ("to-cwd", "/proc/self/cwd"),
            ("to-fd", "/proc/self/fd"),
            ("dangling", "nowhere"),
            ("loop-a", "loop-b"),
            ("loop-b", "loop-a"),
            ("to-file", "file"),
            ("to-folder", "folder"),
            ("to-root", "."),
            ("to-trash", ".quartermaster-trash"),
            ("to-fifo", "fifo"),
            ("traps/to-canary", &canary),
        ] {
            symlink(to, site.path_of(link)).expect("our own directory");
        }
        for below in ["", "traps/"] {
            let make = |name: &str, kind: FileType, device: u64| {
                let path = site.path_of(format!("{below}{name}"));
                mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, device)
            };
            make("fifo", FileType::Fifo, 0).expect("anybody may make a FIFO");
            make("socket", FileType::Socket, 0).expect("anybody may make a socket");
            // Only root may make a device; everybody else has a name less to attack.
            let _ = make("device", FileType::CharacterDevice, rustix::fs::makedev(1, 5));
            std::fs::hard_link(site.beside("shared"), site.path_of(format!("{below}hard")))
                .expect("our own directory");
        }
    }

    /// A value of a table in full.
    fn fill(&self, text: &str) -> String {
        text.replace("{canary}", &self.site.canary.display().to_string())
            .replace("{root}", &self.configured.display().to_string())
            .replace("{255}", &"n".repeat(255))
            .replace("{255 wide}", &"\u{e9}".repeat(255))
            .replace("{256}", &"n".repeat(256))
            .replace("{deep}", &"directory-d/".repeat(400))
            .replace("{70000}", &"n".repeat(70_000))
    }

    async fn send(&self, field: &Field, query: &str, body: Option<String>) -> Result<Reply, String> {
        let (method, path) = field.route.split_once(' ').expect("METHOD /path");
        let request = fresh(&self.server.admin(), method, &format!("{path}{query}"));
        let request = match body {
            Some(body) => request.body("application/json", body),
            None => request,
        };
        match tokio::time::timeout(DEADLINE, request.send()).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(format!("no answer: {error}")),
            Err(_) => Err(format!("no answer within {DEADLINE:?}")),
        }
    }

    /// Sends one attack and judges what came of it.
    async fn attack(
        &self,
        field: &Field,
        must: Must,
        query: &str,
        body: Option<String>,
    ) -> Result<(), String> {
        let reply = self.send(field, query, body).await?;
        if let Some(said) = sung(&reply) {
            return Err(said);
        }
        if reply.header("x-evil").is_some() {
            return Err("it set a header".to_owned());
        }
        if reply.status >= 400 {
            complaint(&reply)?;
        }
        if must == Must::Refuse && !refused(field.route, &reply) {
            return Err(format!("not refused: {} {}", reply.status, reply.text()));
        }
        if reply.status >= 500 {
            return Err(format!("{} {}", reply.status, reply.text()));
        }
        if !field.route.starts_with("GET") {
            if self.look_outside() != self.outside {
                return Err(format!("the outside was touched: {}", reply.text()));
            }
            if reply.status < 300 {
                self.put_back(field.route).await;
            }
        }
        Ok(())
    }

    async fn put_back(&self, route: &str) {
        self.populate();
        if route == "PUT /api/files/root" {
            let body = json!({ "path": self.configured });
            self.server.admin().put("/api/files/root", body).await;
        }
    }

    /// Every way to put this table's values into a field: value, query, body.
    fn ways(&self, field: &Field, values: &[(&str, Must)], raw: bool) -> Vec<Way> {
        let mut ways = Vec::new();
        for &(value, must) in values {
            let value = self.fill(value);
            if field.bodies.is_empty() {
                let encoded = percent(value.as_bytes());
                if encoded.len() <= LONGEST_QUERY {
                    ways.push(Way::new(&value, must, self.query(field, &encoded), None));
                }
            }
            for body in field.bodies {
                let body = put(body, field.name, &value, raw);
                ways.push(Way::new(&value, must, String::new(), Some(body)));
            }
        }
        ways
    }

    fn all_ways(&self, field: &Field) -> Vec<Way> {
        match field.holds {
            Holds::Path if field.bodies.is_empty() => {
                let plain = QUERIES.iter().map(|&(value, must)| {
                    let value = self.fill(value);
                    Way::new(&value, must, self.query(field, &value), None)
                });
                plain.chain(self.ways(field, PATHS, false)).collect()
            }
            Holds::Path => {
                let mut ways = self.ways(field, PATHS, false);
                ways.extend(self.ways(field, RAW_PATHS, true));
                ways
            }
            Holds::Raw => self.ways(field, RAW_PATHS, false),
            Holds::Absolute => self.ways(field, ABSOLUTE, false),
            Holds::Name => self.ways(field, NAMES, false),
            Holds::Other(_) => Vec::new(),
        }
    }
}

impl Target {
    /// The query of a GET that names `value`, which is percent-encoded already; streams get a ticket for what it leads to,
    /// wherever that is.
    fn query(&self, field: &Field, value: &str) -> String {
        let mut query = format!("?{}={value}", field.name);
        if field.route == "GET /api/files/stream" {
            let mut path = decoded(value.split('&').next().unwrap_or_default());
            if field.name == "pathRaw" {
                path = decoded(&String::from_utf8_lossy(&path));
            }
            let below: Vec<u8> = path.iter().copied().skip_while(|byte| *byte == b'/').collect();
            let file = self.site.path_of(raw_name(&below));
            let user = self.server.user_id(Role::SuperAdmin);
            let claims =
                token::ticket_claims(&self.site.root, &normal(&path), &file, user, 4_000_000_000_000);
            query = format!("{query}&ticket={}", token::ticket(&claims));
        }
        query
    }
}

/// One request.
struct Way {
    value: String,
    must: Must,
    query: String,
    body: Option<String>,
}

impl Way {
    fn new(value: &str, must: Must, query: String, body: Option<Value>) -> Way {
        Way {
            value: value.chars().take(60).collect(),
            must,
            query,
            body: body.map(|body| body.to_string()),
        }
    }
}

/// `body` with `value` at `name`, as text or as raw bytes.
pub fn put(body: &str, name: &str, value: &str, raw: bool) -> Value {
    let mut whole: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{body}: {error}"));
    let (above, last) = name.rsplit_once('.').unwrap_or(("", name));
    let above = match above {
        "" => &mut whole,
        list => &mut whole[list][0],
    };
    let value = if above[last].is_array() {
        json!([value])
    } else {
        json!(value)
    };
    let object = above.as_object_mut().expect("an object");
    if raw {
        object.remove(last);
        object.insert(format!("{last}Raw"), value);
    } else {
        object.insert(last.to_owned(), value);
    }
    whole
}

/// Nobody acted on it: an error, or an answer that nothing was done or found.
fn refused(route: &str, reply: &Reply) -> bool {
    if reply.status >= 400 {
        return true;
    }
    let (key, nothing) = match route {
        "GET /api/files/inspect" | "POST /api/files/delete/preview" => ("exists", json!(false)),
        "POST /api/files/bulk/delete-preview" => ("paths", json!(0)),
        "POST /api/files/bulk" | "POST /api/files/resolve-conflicts" => ("succeeded", json!(0)),
        "POST /api/files/cleanup-execute" => ("removed", json!(0)),
        "POST /api/files/move-conflicts" => ("conflicts", json!([])),
        _ => return false,
    };
    reply.json()[key] == nothing
}

/// The bytes that a percent-encoded text stands for.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = rest.get(1..3).filter(|_| first == '%');
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &rest[3..];
        } else {
            bytes.extend_from_slice(first.to_string().as_bytes());
            rest = &rest[first.len_utf8()..];
        }
    }
    bytes
}

/// The path a ticket has to be for.
fn normal(path: &[u8]) -> String {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.iter().map(|part| format!("/{}", percent(part))).collect()
}

async fn attack_everything(db: &TestDb, through_a_link: bool) {
    let target = Target::start(db, through_a_link).await;
    let mut findings = Vec::new();
    let mut attacks = 0;
    for field in FIELDS {
        for way in target.all_ways(field) {
            attacks += 1;
            let judged = target.attack(field, way.must, &way.query, way.body.clone()).await;
            if let Err(finding) = judged {
                let sent = way.body.unwrap_or(way.query);
                let sent: String = sent.chars().take(200).collect();
                findings.push(format!(
                    "{} with {} = {:?} ({sent}): {finding}",
                    field.route, field.name, way.value
                ));
            }
        }
    }
    assert!(
        findings.is_empty(),
        "{} findings:\n{}",
        findings.len(),
        findings.join("\n")
    );
    assert_eq!(target.look_outside(), target.outside);
    assert!(attacks > 3000, "{attacks} attacks");
    println!("{attacks} attacks");
}

/// The texts of a schema: name by name, with a dot for every level. Words of a fixed choice are left out.
fn texts(document: &Value, schema: &Value, above: &str, into: &mut BTreeSet<String>) {
    let schema = resolved(document, schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        texts(document, part, above, into);
    }
    for (name, declared) in schema["properties"].as_object().into_iter().flatten() {
        let name = format!("{above}{name}");
        let declared = resolved(document, declared);
        let item = declared.get("items").map(|item| resolved(document, item));
        let one = item.unwrap_or(declared);
        let kinds = one["type"].to_string();
        if one["properties"].is_object() {
            texts(document, one, &format!("{name}."), into);
        } else if one["enum"].is_null()
            && (one["type"].is_null() || kinds.contains("string") || kinds.contains("object"))
        {
            into.insert(name);
        }
    }
}

/// Behind references, and behind `null` as an alternative.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.trim_start_matches('#'));
        return resolved(document, found.expect("references lead somewhere"));
    }
    for alternatives in ["oneOf", "anyOf"] {
        let mut real = schema[alternatives].as_array().into_iter().flatten();
        if let Some(real) = real.find(|one| one["type"] != "null") {
            return resolved(document, real);
        }
    }
    schema
}

/// `METHOD /path name` of every text a request can hold.
async fn every_text(api: &Api) -> BTreeSet<String> {
    let document = api.get("/api/docs/openapi.json").await;
    let mut all = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let mut names = BTreeSet::new();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let is_text = parameter["schema"]["type"].to_string().contains("string");
                if parameter["in"] == "query" && is_text {
                    names.insert(parameter["name"].as_str().expect("a name").to_owned());
                }
            }
            let contents = operation["requestBody"]["content"].as_object();
            for content in contents.into_iter().flatten().map(|(_, content)| content) {
                texts(&document, &content["schema"], "", &mut names);
            }
            let method = method.to_uppercase();
            all.extend(names.into_iter().map(|name| format!("{method} {path} {name}")));
        }
    }
    all
}

// The database has no say in where a root leads, and these take thousands of requests: each on the one it fits. PostgreSQL
// refuses more texts than SQLite, and what is sent is the same.

#[test]
fn no_path_leads_out_of_a_root() {
    run(Backend::Postgres, async |db| attack_everything(db, false).await);
}

#[test]
fn no_path_leads_out_of_a_root_that_is_a_link() {
    run(Backend::Sqlite, async |db| attack_everything(db, true).await);
}

both_databases! {
    async fn every_text_of_the_file_manager_has_a_row(db: &TestDb) {
        let server = TestServer::builder(db).start().await;
        let all = every_text(&server.admin()).await;
        let (ours, others): (BTreeSet<String>, BTreeSet<String>) =
            all.into_iter().partition(|text| is_attacked(text));
        let rows: BTreeSet<String> = FIELDS.iter().map(|field| format!("{} {}", field.route, field.name)).collect();
        // A path of a body is attacked by its raw twin as well: the row of the one stands for both.
        let twins: BTreeSet<String> = FIELDS
            .iter()
            .filter(|field| field.holds == Holds::Path && !field.bodies.is_empty())
            .map(|field| format!("{} {}Raw", field.route, field.name))
            .collect();
        let ours: BTreeSet<String> = ours.difference(&twins).cloned().collect();
        assert_eq!(ours, rows, "texts of the document, rows");
        for field in FIELDS {
            if let Holds::Other(reason) = field.holds {
                assert!(!reason.is_empty(), "{}", field.route);
            }
        }
        let words = ["path", "destination", "directory", "folder", "source", "root"];
        let sounds_like_a_path = |text: &String| {
            let name = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
            words.iter().any(|word| name.contains(word))
        };
        let found: BTreeSet<String> = others.into_iter().filter(sounds_like_a_path).collect();
        let known: BTreeSet<String> = ELSEWHERE.iter().chain(NO_PLACES).map(|&text| text.to_owned()).collect();
        assert_eq!(found, known, "paths of other routes, known ones");
    }

    /// The condition that the other tests rely on: if the canary is within reach, its song is heard.
    async fn the_canary_is_heard_when_it_sings(db: &TestDb) {
        let site = Site::in_memory();
        let server = TestServer::builder(db)
            .env("FILE_MANAGER_ROOTS", site.canary.display().to_string())
            .start()
            .await;
        let before = tree(&site.canary);
        let api = server.admin();
        for path in ["/api/files", "/api/files/download?path=secret", "/api/files/preview?path=folder/link"] {
            let reply = api.send("GET", path, None).await;
            assert!(sung(&reply).is_some(), "{path}: {}", reply.text());
        }
        assert_eq!(tree(&site.canary), before, "reading leaves no trace");
        api.post("/api/files/folders", json!({ "path": "/folder/deep", "name": "new" })).await;
        assert_ne!(tree(&site.canary), before);
    }

    /// Whoever may not look outside must not learn what is there either.
    async fn an_answer_does_not_tell_what_exists_outside(db: &TestDb) {
        let target = Target::start(db, false).await;
        let canary = target.site.canary.display().to_string();
        let pairs = [
            ("to-canary/secret".to_owned(), "to-canary/absent".to_owned()),
            ("to-canary/folder".into(), "to-canary/absent".into()),
            ("to-canary/folder/secret".into(), "to-canary/absent/secret".into()),
            ("../root-canary/secret".into(), "../root-canary/absent".into()),
            ("to-proc/etc".into(), "to-proc/absent".into()),
        ];
        let absolute = [
            (format!("{canary}/secret"), format!("{canary}/absent")),
            (format!("{canary}/folder"), format!("{canary}/absent")),
            ("/etc/hostname".into(), "/etc/absent".into()),
        ];
        for field in FIELDS {
            let pairs: &[(String, String)] = match field.holds {
                Holds::Path => &pairs,
                Holds::Absolute => &absolute,
                Holds::Raw | Holds::Name | Holds::Other(_) => continue,
            };
            for (there, absent) in pairs {
                let (there, absent) = (collect_answers(&target, field, there).await, collect_answers(&target, field, absent).await);
                assert_eq!(there, absent, "{} {}", field.route, field.name);
            }
        }
        assert_eq!(target.look_outside(), target.outside);
    }
}

/// Statuses and bodies of all the answers to a path, without the names the paths differ in.
async fn collect_answers(target: &Target, field: &Field, path: &str) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    let value = [(path, Must::Refuse)];
    for way in target.ways(field, &value, false) {
        target.populate();
        let reply = target.send(field, &way.query, way.body).await.expect("an answer");
        let mut text = reply.text();
        for name in ["secret", "folder", "absent", "etc", "hostname"] {
            text = text.replace(name, "…");
        }
        answers.push((reply.status, text));
    }
    answers
}
