//! Renames on real disks that are full, sealed, fail, or take two spellings of a name for one: a clear answer for each file,
//! nothing lost, and an undo that brings everything back.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use qm_testkit::http::Http;
use qm_testkit::process::{Process, free_port};
use qm_testkit::server::PASSWORD;
use qm_testkit::wait::until;
use qm_testkit::{Api, TestDb, binary, both_databases};
use serde_json::{Value, json};

use super::shelf::{Inventory, apply, assert_same, assert_whole, inventory, list_files, plant, undo_all};
use crate::files::site::{Site, temporaries};

/// A disk of 6 MiB.
const SMALL: &str = "truncate -s 6M \"$IMAGE\"; mkfs.ext4 -q -O ^has_journal -m 0 \"$IMAGE\"; mount -o loop \"$IMAGE\" \"$DISK\"";
/// A disk with the files of the seed, which nobody may write to.
const SEALED: &str = "truncate -s 64M \"$IMAGE\"; mkfs.ext4 -q \"$IMAGE\"; mount -o loop \"$IMAGE\" \"$DISK\"; \
    cp -a \"$SEED/.\" \"$DISK\"; mount -o remount,ro \"$DISK\"";
/// A disk with the files of the seed, which grew for a film, and of which all that came then is cut off.
const FAILING: &str = "truncate -s 8M \"$IMAGE\"; mkfs.ext4 -q -O ^has_journal \"$IMAGE\"; mount -o loop \"$IMAGE\" \"$DISK\"; \
    cp -a \"$SEED/.\" \"$DISK\"; umount \"$DISK\"; truncate -s 40M \"$IMAGE\"; resize2fs -f \"$IMAGE\" >&2; \
    mount -o loop,noatime \"$IMAGE\" \"$DISK\"; \
    dd if=/dev/urandom of=\"$DISK/dl/Film.S09E09.mkv\" bs=1M count=16 conv=fsync status=none; sync -f \"$DISK\"; \
    dd if=\"$DISK/dl/Film.S09E09.mkv\" iflag=nocache count=0 status=none; truncate -s 8M \"$IMAGE\"";
/// NTFS whose names have no case, by a driver that runs as a program and ends with the server.
const CASELESS: &str = "truncate -s 64M \"$IMAGE\"; mkntfs -q -Q -F \"$IMAGE\" >&2; \
    setpriv --pdeathsig KILL lowntfs-3g -o no_detach,ignore_case \"$IMAGE\" \"$DISK\" & \
    looks=0; until grep -q \" $DISK fuse\" /proc/mounts; do looks=$((looks + 1)); test $looks -lt 600; sleep 0.1; done";

/// The server in a mount namespace of its own, in which `disk` below the root is a disk that `setup` (shell) mounted.
struct Fenced {
    process: Process,
    api: Api,
    site: Site,
    _dir: tempfile::TempDir,
}

impl Fenced {
    async fn start(db: &TestDb, site: Site, setup: &str) -> Fenced {
        let dir = tempfile::tempdir().expect("a temporary directory");
        site.folder("disk");
        let script = format!("set -e; {setup}; exec \"$0\"");
        let server = binary::command(dir.path(), db.url());
        let variables: Vec<(OsString, OsString)> = server
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let port = free_port();
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation=private", "sh", "-c", &script])
            .arg(server.get_program())
            .envs(variables)
            .env("DISK", site.path_of("disk"))
            .env("IMAGE", site.beside("image"))
            .env("SEED", site.beside("seed"))
            .env("FILE_MANAGER_ROOTS", site.roots())
            .env("THROTTLE_LIMIT", "1000000")
            .env("PORT", port.to_string());
        let mut process = Process::start("fenced", dir.path(), &mut command);
        let anonymous = Api::new(Http::new(), format!("http://127.0.0.1:{port}"), None);
        let login = json!({ "username": "admin", "password": PASSWORD });
        let session = until("the server to log us in", || {
            process.assert_running();
            let request = anonymous.request("POST", "/api/auth/login").json(&login);
            async move {
                let reply = request.send().await.ok()?;
                (reply.status == 201).then(|| reply.json())
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

    /// The root as the server sees it, with the disk.
    fn root(&self) -> PathBuf {
        let below = self.site.root.strip_prefix("/").expect("an absolute path");
        let process = Path::new("/proc").join(self.process.pid().to_string());
        process.join("root").join(below)
    }

    fn look(&self) -> Inventory {
        inventory(&self.root())
    }

    /// Renames what is in one folder for a library in another one; the answer.
    async fn rename(&self, from: &str, library: &str, mode: &str) -> Value {
        let (from, library) = (self.site.path_of(from), self.site.path_of(library));
        apply(&self.api, &from, &library, mode).await
    }

    /// Undoes everything, and finds everything as it was.
    async fn undo(&self, before: &Inventory, when: &str) {
        undo_all(&self.api).await;
        assert_same(before, &self.look(), when);
        assert_eq!(temporaries(&self.root()), Vec::<PathBuf>::new(), "{when}");
    }
}

/// The numbers of files that got names, and of those that could not, each of which says why.
fn counts(told: &Value, why: &str) -> (u64, u64) {
    let number = |name: &str| told[name].as_u64().expect("a number");
    for problem in told["problems"].as_array().expect("a list") {
        let message = problem["message"].as_str().expect("a message");
        let is_fault = problem["status"] == "failed";
        assert!(!is_fault || message.contains(why), "{problem}");
    }
    (number("applied"), number("failed"))
}

/// True if the tests may mount disks here, and these programs are there. Else they say so; with `CI=true` they fail.
fn can_mount(programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&paths).chain(["/sbin".into(), "/usr/sbin".into()]);
        folders
            .map(|folder| folder.join(program))
            .any(|path| path.is_file())
    };
    let missing: Vec<&&str> = programs.iter().filter(|program| !is_there(program)).collect();
    let reason = if !rustix::process::geteuid().is_root() {
        "only root mounts disks".to_owned()
    } else if !missing.is_empty() {
        format!("{missing:?} are missing: `cargo xtask setup` installs them")
    } else if programs.contains(&"lowntfs-3g") && !Path::new("/dev/fuse").exists() {
        "the kernel has no /dev/fuse, and its own disks know the case of names".to_owned()
    } else {
        return true;
    };
    let is_ci = std::env::var("CI").is_ok_and(|text| text == "true");
    assert!(!is_ci, "{reason}");
    eprintln!("skipping renames on a disk of {programs:?}: {reason}");
    false
}

both_databases! {
    async fn a_full_disk_takes_what_fits(db: &TestDb) {
        if !can_mount(&["mkfs.ext4"]) {
            return;
        }
        let site = Site::new();
        plant(&site.path_of("dl"), 150, 0);
        let fenced = Fenced::start(db, site, SMALL).await;
        let before = fenced.look();
        for mode in ["rename_move", "copy", "hardlink"] {
            let told = fenced.rename("dl", "disk", mode).await;
            let (applied, failed) = counts(&told, "No space left on the device: free some space");
            assert!(applied > 10 && failed > 10, "{mode}: {told}");
            assert_whole(&before, &fenced.look(), mode);
            fenced.undo(&before, mode).await;
        }
    }

    async fn a_sealed_disk_is_named_and_can_be_copied_from(db: &TestDb) {
        if !can_mount(&["mkfs.ext4"]) {
            return;
        }
        let site = Site::new();
        plant(&site.path_of("dl"), 60, 0);
        plant(&site.beside("seed/dl"), 60, 1000);
        let fenced = Fenced::start(db, site, SEALED).await;
        fenced.site.folder("tv");
        let before = fenced.look();
        for mode in ["rename_move", "copy", "hardlink", "symlink"] {
            let told = fenced.rename("dl", "disk", mode).await;
            let (applied, failed) = counts(&told, "read-only");
            assert!(applied == 0 && failed > 40, "{mode}: {told}");
            assert_same(&before, &fenced.look(), mode);
        }
        let told = fenced.rename("disk/dl", "tv", "rename_move").await;
        let (applied, failed) = counts(&told, "");
        assert!(applied == 0 && failed > 40, "{told}");
        assert_same(&before, &fenced.look(), "no original could go, so no copy stays");
        for mode in ["copy", "hardlink", "symlink"] {
            let told = fenced.rename("disk/dl", "tv", mode).await;
            let (applied, failed) = counts(&told, "");
            assert!(applied > 40 && failed == 0, "{mode}: {told}");
            assert_whole(&before, &fenced.look(), mode);
            fenced.undo(&before, mode).await;
        }
    }

    async fn a_disk_that_fails_is_named_and_the_rest_goes_on(db: &TestDb) {
        if !can_mount(&["mkfs.ext4"]) {
            return;
        }
        let site = Site::new();
        plant(&site.beside("seed/dl"), 30, 0);
        let fenced = Fenced::start(db, site, FAILING).await;
        fenced.site.folder("tv");
        let film = "disk/dl/Film.S09E09.mkv";
        let look = || {
            let mut all = fenced.look();
            // Nobody can read it; that it is there is all that can be said.
            assert!(all.remove(Path::new(film)).is_some(), "the film is at its place");
            all
        };
        let before = look();
        for mode in ["copy", "hardlink", "rename_move"] {
            let told = fenced.rename("disk/dl", "tv", mode).await;
            let (applied, failed) = counts(&told, "The disk reports an error");
            assert!(applied > 20 && failed == 1, "{mode}: {told}");
            assert_eq!(told["problems"][0]["source"], json!(fenced.site.path_of(film)), "{mode}: {told}");
            assert_whole(&before, &look(), mode);
            assert_eq!(temporaries(&fenced.root()), Vec::<PathBuf>::new(), "{mode}");
            // Nothing is to be written to such a disk.
            if mode != "rename_move" {
                undo_all(&fenced.api).await;
                assert_same(&before, &look(), mode);
            }
        }
    }

    async fn a_disk_whose_names_have_no_case_loses_nothing(db: &TestDb) {
        if !can_mount(&["mkntfs", "lowntfs-3g"]) {
            return;
        }
        let site = Site::new();
        plant(&site.path_of("dl"), 100, 0);
        // That driver lists long names in part.
        for path in list_files(&site.root) {
            if path.file_name().is_some_and(|name| name.len() > 200) {
                std::fs::remove_file(&path).expect("our own file");
            }
        }
        let fenced = Fenced::start(db, site, CASELESS).await;
        let probe = fenced.root().join("disk");
        std::fs::write(probe.join("Probe"), "x").expect("our own disk");
        assert!(probe.join("PROBE").exists(), "its names have no case");
        std::fs::remove_file(probe.join("probe")).expect("our own disk");
        let before = fenced.look();
        for mode in ["copy", "hardlink", "symlink", "rename_move"] {
            let told = fenced.rename("dl", "disk", mode).await;
            // The disk takes UTF-8 alone, also in what links point to.
            let (applied, failed) = counts(&told, "multibyte");
            assert!(applied > 70 && (failed == 0 || mode == "symlink"), "{mode}: {told}");
            assert_whole(&before, &fenced.look(), mode);
            if mode != "rename_move" {
                fenced.undo(&before, mode).await;
            }
        }
        // What lies there is named again, and in another spelling of its names only.
        let first = fenced.look();
        for (template, mode) in [
            ("{Series Title}/Season {season}/{Series Title} S{season:00}E{episode:00}.{ext}", "hardlink"),
            ("{Series Title}/SEASON {season}/{Series Title} - s{season:00}e{episode:00}.{ext}", "rename_in_place"),
            ("{Series Title}/Season {season:00}/{Series Title} - E{episode:00}.{ext}", "rename_in_place"),
        ] {
            let disk = fenced.site.path_of("disk");
            let body = json!({ "path": disk, "libraryPath": disk, "mode": mode, "kind": "tv", "template": template });
            let told = fenced.api.post("/api/media/apply", body).await;
            let (applied, failed) = counts(&told, "");
            assert!(failed == 0, "{template}: {told}");
            eprintln!("{template}: {applied} files");
            assert_whole(&before, &fenced.look(), template);
            let run = told["runId"].clone();
            if applied == 0 {
                assert_same(&first, &fenced.look(), template);
                continue;
            }
            let told = fenced.api.post("/api/media/rename/undo", json!({ "runId": run })).await;
            assert_eq!((&told["skipped"], &told["failed"]), (&json!([]), &json!(0)), "{template}: {told}");
            assert_same(&first, &fenced.look(), template);
        }
        fenced.undo(&before, "all of it").await;
    }
}
