//! A disk that is full and folders that forbid, met by the real binary: a clear answer, nothing lost, no unfinished copy
//! left behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use qm_testkit::http::Http;
use qm_testkit::process::{Process, free_port};
use qm_testkit::server::PASSWORD;
use qm_testkit::wait::until;
use qm_testkit::{Api, TestDb, binary, both_databases};
use serde_json::{Value, json};

use super::site::{Site, complaint, temporaries, tree};

/// The server in a mount namespace of its own, in which `small` below the root is a disk of 2 MiB. Where the tests are
/// run by root, it has not root's right to pass over permissions.
struct Fenced {
    process: Process,
    api: Api,
    site: Site,
    _dir: tempfile::TempDir,
}

impl Fenced {
    async fn start(db: &TestDb) -> Fenced {
        let (dir, site) = (tempfile::tempdir().expect("a temporary directory"), Site::new());
        site.folder("small");
        let is_root = rustix::process::geteuid().is_root();
        let (namespace, rights) = if is_root {
            let kept_from = "--bounding-set=-dac_override,-dac_read_search,-fowner";
            (
                ["-m", "--propagation=private"].as_slice(),
                format!("setpriv {kept_from} "),
            )
        } else {
            (["-r", "-m", "--propagation=private"].as_slice(), String::new())
        };
        let script = format!("mount -t tmpfs -o size=2m,nr_inodes=60 none \"$SMALL\" && exec {rights}\"$0\"");
        let server = binary::command(dir.path(), db.url());
        let variables: Vec<(OsString, OsString)> = server
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let port = free_port();
        let mut command = Command::new("unshare");
        command
            .args(namespace)
            .args(["sh", "-c", &script])
            .arg(server.get_program())
            .envs(variables)
            .env("SMALL", site.path_of("small"))
            .env("FILE_MANAGER_ROOTS", site.roots())
            .env("PORT", port.to_string());
        let mut process = Process::start("fenced", dir.path(), &mut command);
        let anonymous = Api::new(Http::new(), format!("http://127.0.0.1:{port}"), None);
        let login = json!({ "username": "admin", "password": PASSWORD });
        let session = until("the server to log us in", || {
            process.assert_running();
            let request = anonymous.request("POST", "/api/auth/login").json(&login);
            async move {
                request
                    .send()
                    .await
                    .ok()
                    .filter(|reply| reply.status == 201)
                    .map(|reply| reply.json())
            }
        })
        .await;
        let api = anonymous.with_token(session["accessToken"].as_str().map(str::to_owned));
        Fenced {
            process,
            api,
            site,
            _dir: dir,
        }
    }

    /// The root as the server sees it, with the small disk.
    fn root(&self) -> PathBuf {
        let below = self.site.root.strip_prefix("/").expect("an absolute path");
        Path::new("/proc")
            .join(self.process.pid().to_string())
            .join("root")
            .join(below)
    }

    /// Everything in the root, but for the times of folders: an attempt that was undone has touched them.
    fn content(&self) -> BTreeMap<PathBuf, String> {
        let mut all = tree(&self.root());
        for (path, state) in &mut all {
            if path.is_dir() {
                let kept = state.split(' ').take(2).collect::<Vec<_>>();
                *state = kept.join(" ");
            }
        }
        all.retain(|path, _| !path.ends_with(".quartermaster-trash"));
        all
    }

    /// Asks for something that cannot be done: the answer says why, and everything is as before.
    async fn refused(&self, path: &str, body: Value, status: u16, wanted: &str) {
        let before = self.content();
        let reply = self.api.send("POST", path, Some(&body)).await;
        let message = complaint(&reply).unwrap_or_else(|bad| panic!("{path} {body}: {bad}"));
        assert_eq!(reply.status, status, "{path} {body}: {message}");
        assert!(message.contains(wanted), "{path} {body}: {message}");
        assert_eq!(self.content(), before, "{path} {body}");
        assert_eq!(temporaries(&self.root()), Vec::<PathBuf>::new(), "{path} {body}");
        let trash = self.api.get("/api/files/trash").await;
        let trashed = self.root().join(".quartermaster-trash");
        let payloads = std::fs::read_dir(trashed).map_or(0, Iterator::count);
        assert_eq!(trash.as_array().map(Vec::len), Some(payloads), "{path} {body}");
    }

    fn forbid(&self, rel: &str, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.site.path_of(rel), permissions).expect("our own file");
    }
}

fn transfer(source: &str, destination: &str) -> Value {
    json!({ "source": source, "destination": destination, "verify": true })
}

both_databases! {
    async fn a_full_disk_loses_nothing(db: &TestDb) {
        let fenced = Fenced::start(db).await;
        fenced.site.write("large", vec![7; 3 << 20]);
        fenced.site.write("tree/a", vec![1; 1 << 20]);
        fenced.site.write("tree/sub/b", vec![2; 2 << 20]);
        for number in 0..100 {
            fenced.site.write(format!("many/{number}"), "x");
        }
        let small = fenced.root().join("small");
        std::fs::write(small.join("there"), "on the small disk").expect("it has room");
        let full = "No space left on the device";
        for item in ["large", "tree", "many"] {
            for route in ["/api/files/move", "/api/files/copy"] {
                fenced.refused(route, transfer(item, "small"), 400, full).await;
                fenced.refused(route, transfer(item, "small/new/place"), 400, full).await;
            }
        }
        // What replaces something there leaves it there.
        std::fs::write(small.join("large"), "the old one").expect("it has room");
        let mut replacing = transfer("large", "small");
        replacing["overwrite"] = json!(true);
        fenced.refused("/api/files/move", replacing.clone(), 400, full).await;
        fenced.refused("/api/files/copy", replacing, 400, full).await;
        // The trash lies on the root's disk: what comes from the small one crosses over, and does not find its place again.
        std::fs::write(small.join("film"), vec![3; 1 << 20]).expect("it has room");
        fenced.api.post("/api/files/delete", json!({ "path": "small/film" })).await;
        std::fs::write(small.join("filler"), vec![4; 1500 << 10]).expect("it has room");
        let trash = fenced.api.get("/api/files/trash").await;
        let restore = json!({ "id": trash[0]["id"] });
        fenced.refused("/api/files/trash/restore", restore.clone(), 400, full).await;
        std::fs::remove_file(small.join("filler")).expect("our own file");
        fenced.api.post("/api/files/trash/restore", restore).await;
        assert_eq!(std::fs::read(small.join("film")).expect("it is back"), vec![3; 1 << 20]);
        // With room enough the same request goes through.
        std::fs::remove_file(small.join("film")).expect("our own file");
        fenced.site.write("fits", vec![5; 1 << 20]);
        fenced.api.post("/api/files/move", transfer("fits", "small")).await;
        assert!(!fenced.site.path_of("fits").exists() && small.join("fits").exists());
    }

    async fn permissions_are_kept_to(db: &TestDb) {
        let fenced = Fenced::start(db).await;
        fenced.site.write("file", "ours");
        fenced.site.write("sealed/inside", "nobody takes it out");
        fenced.site.write("closed/inside", "nobody sees it");
        fenced.site.write("secretive", "nobody reads it");
        fenced.site.write("tree/readable", "one");
        fenced.site.write("tree/sub/unreadable", "two");
        fenced.forbid("sealed", 0o555);
        fenced.forbid("closed", 0o000);
        fenced.forbid("secretive", 0o000);
        fenced.forbid("tree/sub/unreadable", 0o000);
        let denied = "Permission denied";
        for (route, body) in [
            ("/api/files/move", transfer("file", "sealed")),
            ("/api/files/copy", transfer("file", "sealed")),
            ("/api/files/copy", transfer("tree", "sealed/new")),
            ("/api/files/move", transfer("sealed/inside", "/")),
            ("/api/files/rename", json!({ "path": "sealed/inside", "newName": "other" })),
            ("/api/files/folders", json!({ "path": "sealed", "name": "new" })),
            ("/api/files/delete", json!({ "path": "sealed/inside" })),
            ("/api/files/delete", json!({ "path": "sealed/inside", "permanent": true })),
            ("/api/files/copy", transfer("secretive", "tree")),
            ("/api/files/copy", transfer("closed", "tree")),
            // Half of it could be read: none of it arrives.
            ("/api/files/copy", transfer("tree", "small")),
            ("/api/files/move", transfer("tree", "small")),
            ("/api/files/move", transfer("file", "closed")),
            ("/api/files/media-ticket", json!({ "path": "secretive" })),
            ("/api/files/ensure-dir", json!({ "path": fenced.site.path_of("sealed/new") })),
        ] {
            fenced.refused(route, body, 403, denied).await;
        }
        for path in ["/api/files?path=closed", "/api/files/download?path=secretive", "/api/files/preview?path=secretive"] {
            let reply = fenced.api.send("GET", path, None).await;
            assert_eq!(reply.status, 403, "{path}: {}", reply.text());
            assert!(complaint(&reply).is_ok_and(|message| message.contains(denied)), "{path}: {}", reply.text());
        }
        // What may be done is done: a file nobody may read can be renamed, and goes to the trash and back.
        fenced.api.post("/api/files/rename", json!({ "path": "secretive", "newName": "renamed" })).await;
        fenced.api.post("/api/files/delete", json!({ "path": "renamed" })).await;
        let trash = fenced.api.get("/api/files/trash").await;
        fenced.api.post("/api/files/trash/restore", json!({ "id": trash[0]["id"] })).await;
        assert!(fenced.site.path_of("renamed").exists());
        fenced.forbid("closed", 0o755);
        fenced.forbid("sealed", 0o755);
    }
}
