//! A private PostgreSQL server for tests: data in a temporary directory, loopback only, no durability.
//!
//! It ends with the process that started it, however that ends: a shell supervises it, and stops it and
//! removes its files when the pipe to its standard input closes.

use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Script of the supervising shell: `$1` the programs, `$2` the server's directory, `$3` the port.
const KEEPER: &str = r#"
"$1/postgres" -D "$2/data" -p "$3" >"$2/log" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -INT "$server" 2>/dev/null
wait "$server"
rm -rf "$2"
"#;

const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 32MB
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
";

/// A running server. Ends when dropped.
pub struct PostgresServer {
    keeper: Child,
    url: String,
}

impl PostgresServer {
    /// Starts one and waits until it answers; blocks for a second or two. The error says what is missing.
    pub fn start() -> Result<PostgresServer, String> {
        let programs = find_programs().ok_or(
            "no PostgreSQL server is installed (looked for `initdb` in PATH and /usr/lib/postgresql)",
        )?;
        let owner = owner()?;
        let mut reason = String::new();
        // The port is free now and may be taken by the time the server binds it: then try another.
        for attempt in 0..3 {
            match Self::try_start(&programs, owner, attempt) {
                Ok(server) => return Ok(server),
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }

    /// `postgres://…` of its superuser.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn try_start(programs: &Path, owner: Option<(u32, u32)>, attempt: u32) -> Result<PostgresServer, String> {
        let home = std::env::temp_dir().join(format!("qm-test-pg-{}-{attempt}", std::process::id()));
        let say = |what: &str, error: io::Error| format!("{what} `{}`: {error}", home.display());
        std::fs::create_dir(&home).map_err(|error| say("cannot make", error))?;
        if let Some((uid, gid)) = owner {
            std::os::unix::fs::chown(&home, Some(uid), Some(gid))
                .map_err(|error| say("cannot hand over", error))?;
        }
        initialise(programs, &home, owner)?;
        let port = free_port().map_err(|error| say("no free port for", error))?;
        let mut keeper = as_owner("sh", owner);
        keeper
            .args(["-c", KEEPER, "keeper"])
            .arg(programs)
            .arg(&home)
            .arg(port.to_string());
        let keeper = keeper
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| say("cannot start a server in", error))?;
        let server = PostgresServer {
            keeper,
            url: format!("postgres://postgres@127.0.0.1:{port}/postgres"),
        };
        wait_until_ready(&home)?;
        Ok(server)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn initialise(programs: &Path, home: &Path, owner: Option<(u32, u32)>) -> Result<(), String> {
    let output = as_owner(programs.join("initdb"), owner)
        .args([
            "-U",
            "postgres",
            "--auth=trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ])
        .arg(home.join("data"))
        .current_dir("/")
        .output()
        .map_err(|error| format!("cannot run initdb: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "initdb failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let settings = home.join("data/postgresql.conf");
    std::fs::write(&settings, SETTINGS)
        .map_err(|error| format!("cannot write `{}`: {error}", settings.display()))
}

/// The last line of `postmaster.pid` holds the server's state.
fn wait_until_ready(home: &Path) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_mins(1);
    while Instant::now() < deadline {
        let state = std::fs::read_to_string(home.join("data/postmaster.pid")).unwrap_or_default();
        if state.lines().last().is_some_and(|line| line.trim() == "ready") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = std::fs::read_to_string(home.join("log")).unwrap_or_default();
    Err(format!("the PostgreSQL server did not come up: {}", log.trim()))
}

/// PostgreSQL refuses to run as root: then it runs as the user of its package.
fn owner() -> Result<Option<(u32, u32)>, String> {
    let id = |args: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(args).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return Ok(None);
    }
    match (id(&["-u", "postgres"]), id(&["-g", "postgres"])) {
        (Some(uid), Some(gid)) => Ok(Some((uid, gid))),
        _ => Err("PostgreSQL does not run as root, and there is no user `postgres` to run it as".to_owned()),
    }
}

fn as_owner(program: impl AsRef<std::ffi::OsStr>, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = owner {
        command.uid(uid).gid(gid);
    }
    command
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The newest installed version's programs, those in PATH first.
fn find_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_initdb = |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
    if let Some(folder) = std::env::split_paths(&path).find(has_initdb) {
        return Some(folder);
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, folder)| has_initdb(folder))
        .max()
        .map(|(_, folder)| folder)
}
