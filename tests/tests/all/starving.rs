//! One user has everything hang that a user can have hang, as often as they like: others notice nothing, and the server ends
//! within its grace.
//!
//! The disk that never answers is a FUSE file system without anybody who serves it: the state of a network mount whose server
//! is gone. Where this machine makes none the rest is tested, and a line `unproven: …` says so.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use qm_testkit::binary::Binary;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, both_databases};
use serde_json::{Value, json};

const VALIDATE: &str = "/api/media/providers/titledb/dataset/validate";
const IMPORT: &str = "/api/media/providers/titledb/dataset/import";
const TITLES: &str = "title.basics.tsv.gz";
const PASSWORD: &str = "a good long password";
/// Requests of each kind, more than the service has threads of any kind.
const FLOOD: usize = 36;
/// For an answer that waits for nothing of the flood; that would take for ever.
const SOON: Duration = Duration::from_mins(1);

/// A directory on which every look hangs until it is dropped.
struct HungMount<'a> {
    holder: Child,
    at: &'a Path,
}

impl<'a> HungMount<'a> {
    fn mount_at(at: &'a Path) -> Option<Self> {
        std::fs::create_dir(at).expect("our own directory");
        let script = "exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung \"$0\" \
                      && echo mounted && exec sleep infinity";
        let mut holder = Command::new("sh")
            .args(["-c", script])
            .arg(at)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut said = String::new();
        let told = holder.stdout.take().expect("a pipe");
        let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(told), &mut said);
        if said.trim() == "mounted" {
            return Some(Self { holder, at });
        }
        println!("unproven: no file system that hangs can be mounted here");
        let _ = holder.wait();
        None
    }
}

impl Drop for HungMount<'_> {
    fn drop(&mut self) {
        // The file system ends with whoever holds it, and those who hang in it get an error.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let _ = Command::new("umount").arg("-l").arg(self.at).status();
    }
}

/// A file of a few MiB that expands to one line of 2 GiB.
fn write_bomb(file: &Path) {
    let block = vec![b'x'; 16 << 20];
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&block).expect("in memory");
    let member = encoder.finish().expect("in memory");
    // Members one behind the other are one text.
    std::fs::write(file, member.repeat(128)).expect("our own file");
}

async fn login(anonymous: &Api, name: &str) -> Api {
    let session = anonymous
        .post(
            "/api/auth/login",
            json!({ "username": name, "password": PASSWORD }),
        )
        .await;
    anonymous.with_token(session["accessToken"].as_str().map(str::to_owned))
}

async fn add_user(admin: &Api, name: &str, role: &str) -> Api {
    let user = json!({
        "username": name, "email": format!("{name}@example.org"), "password": PASSWORD, "roleNames": [role],
    });
    admin.post("/api/users", user).await;
    login(admin, name).await
}

/// Sends the same again and again; each goes on by itself.
fn flood(api: &Api, method: &'static str, path: &str, body: &Value) -> Vec<tokio::task::JoinHandle<u16>> {
    let send = |_| {
        let (api, path, body) = (api.clone(), path.to_owned(), body.clone());
        tokio::spawn(async move {
            let body = (method == "POST").then_some(&body);
            let request = api.request(method, &path);
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            // It is cut off where the server ends first.
            request.send().await.map_or(0, |reply| reply.status)
        })
    };
    (0..FLOOD).map(send).collect()
}

/// Work of everybody else, while one has everything hang. A login is one of the five in a minute that one address has.
async fn others_notice_nothing(when: &str, server: &Binary, user: &Api, logs_in: bool) {
    let anonymous = server.anonymous();
    let all = async {
        let again = if logs_in {
            login(&anonymous, "calm").await
        } else {
            user.clone()
        };
        for api in [user, &again] {
            for path in [
                "/api/files?path=calm",
                "/api/media/libraries",
                "/api/media/providers/titledb/status",
                "/api/torrents",
            ] {
                let reply = api.send("GET", path, None).await;
                assert!(
                    reply.status == 200 || path == "/api/torrents" && reply.status == 404,
                    "{when}: {path}: {}",
                    reply.text()
                );
            }
        }
        anonymous.get("/api/system/live").await;
    };
    let answered = tokio::time::timeout(SOON, all).await;
    assert!(answered.is_ok(), "{when}: others wait for what hangs");
}

async fn import_is(admin: &Api, status: &str) {
    until_true(&format!("the import to be {status}"), || async {
        let imports = admin.get("/api/media/providers/titledb/dataset/imports").await;
        imports[0]["status"] == status
    })
    .await;
}

both_databases! {
    async fn what_one_user_has_hang_starves_nobody_and_ends_with_the_server(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| root.path().join(name);
        for folder in ["calm", "bomb", "pipe", "link", "long"] {
            std::fs::create_dir(at(folder)).expect("our own directory");
        }
        std::fs::write(at("calm/file"), "x").expect("our own file");
        write_bomb(&at("bomb").join(TITLES));
        let pipe = at("pipe").join(TITLES);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
        std::os::unix::fs::symlink("/etc/passwd", at("link").join(TITLES)).expect("a link");
        let roots = root.path().display().to_string();
        let env = [("THROTTLE_LIMIT", "1000000"), ("FILE_MANAGER_ROOTS", roots.as_str())];
        let mut server = Binary::start_with(dir.path(), db.url(), &env).await;
        let admin = server.admin().await;
        let power = add_user(&admin, "power", "POWER_USER").await;
        let calm = add_user(&admin, "calm", "USER").await;
        others_notice_nothing("before", &server, &calm, false).await;

        // Files that are none of the data set: told at once, and not what stands in them.
        for (folder, why) in [("pipe", "is no regular file"), ("link", "is no regular file"), ("bomb", "more than 1 MiB")] {
            let body = json!({ "datasetPath": at(folder) });
            let reply = tokio::time::timeout(SOON, power.send("POST", VALIDATE, Some(&body))).await;
            let reply = reply.unwrap_or_else(|_| panic!("{folder}: nothing is told"));
            let text = reply.text();
            assert!(reply.status == 201 && text.contains(why) && !text.contains("root:"), "{folder}: {text}");
        }

        let hung = at("hung");
        let mount = HungMount::mount_at(&hung);
        let mut answers = Vec::new();
        for folder in ["bomb", "pipe", "hung"] {
            answers.push(flood(&power, "POST", VALIDATE, &json!({ "datasetPath": at(folder) })));
        }
        for path in ["/api/files?path=hung", "/api/files/properties?path=hung", "/api/files/preview?path=hung/file"] {
            answers.push(flood(&power, "GET", path, &Value::Null));
        }
        let library = json!({ "name": "hung", "path": hung.join("films"), "kind": "movie" });
        answers.push(flood(&power, "POST", "/api/media/libraries", &library));
        others_notice_nothing("while it hangs", &server, &calm, true).await;

        // Those that are refused are told to come back, and those that need not wait are answered.
        if mount.is_some() {
            until_true("the flood to be refused", || async {
                let body = json!({ "datasetPath": at("hung") });
                let reply = power.request("POST", VALIDATE).json(&body).send();
                let reply = tokio::time::timeout(SOON, reply).await.expect("an answer").expect("an answer");
                reply.status == 503 && reply.header("retry-after").is_some()
                    && reply.json()["code"] == "unavailable.busy"
            })
            .await;
        }
        others_notice_nothing("when it is refused", &server, &calm, false).await;

        // An import that is inside of a line of 37 GiB stops when it is told to, and the server with it.
        let long = at("long").join(TITLES);
        let header = "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres\n";
        let mut head = GzEncoder::new(Vec::new(), Compression::fast());
        head.write_all(header.as_bytes()).expect("in memory");
        let mut bytes = head.finish().expect("in memory");
        let bomb = std::fs::read(at("bomb").join(TITLES)).expect("our own file");
        for _ in 0..18 {
            bytes.extend_from_slice(&bomb);
        }
        std::fs::write(&long, bytes).expect("our own file");
        admin.post(IMPORT, json!({ "datasetPath": at("long") })).await;
        import_is(&admin, "running").await;
        others_notice_nothing("while it imports", &server, &calm, true).await;
        admin.act(&format!("{IMPORT}/stop")).await;
        import_is(&admin, "cancelled").await;

        let status = server.stop().await;
        assert!(status.success(), "{status}: {}", server.process().output());
        drop(mount);
        for answer in answers.into_iter().flatten() {
            let status = answer.await.expect("no panic");
            assert!([0, 200, 201, 400, 403, 404, 503].contains(&status), "{status}");
        }
    }
}
