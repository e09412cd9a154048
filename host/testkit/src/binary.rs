//! The real `quartermaster` binary as a child process: for what only a process shows, such as `kill -9`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use qm_kernel::Ctx;
use qm_server::app::{Brought, Ending};
use qm_server::config::Config;
use qm_server::start::start;

use crate::api::Api;
use crate::code;
use crate::database::block_on;
use crate::http::Http;
use crate::process::Process;
use crate::server::PASSWORD;
use crate::wait::{until, until_true};

/// Time between two looks at the plugins of a server that compiles them.
const LOOK_EVERY: Duration = Duration::from_millis(600);

/// A running server process.
pub struct Binary {
    process: Process,
    address: SocketAddr,
}

/// The binary of the build this test belongs to.
///
/// # Panics
/// When it is not built.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("target/<profile>/deps/<test>");
    let binary = profile.join("quartermaster");
    assert!(
        binary.exists(),
        "{} is not built: run `cargo build -p qm-server`",
        binary.display()
    );
    binary
}

/// The server as a program, its files all below `dir`.
pub fn command(dir: &Path, database_url: &str) -> Command {
    equipped(Command::new(path()), dir, database_url)
}

/// This very test program as a server, for one that is put together otherwise than the real one: `test` names the ignored
/// test that plays it. It says where it listens, as the real one does.
pub fn played_by(test: &str, dir: &Path, database_url: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running test has a path"));
    command.args(["--ignored", "--exact", test, "--nocapture"]);
    equipped(command, dir, database_url)
}

/// Plays the server until it is told to end, and then ends the process: the body of the test that [`played_by`] names. It is
/// a server like any other, but for what `brought` makes of it.
///
/// # Panics
/// When it cannot be started.
pub fn play(brought: impl FnOnce() -> Brought) -> ! {
    let ending = block_on(async {
        let brought = brought();
        let config = Config::from_env().unwrap_or_else(|error| panic!("{error}"));
        let mut asked = Box::pin(std::future::pending());
        let app = start(config, Ctx::system(), brought, asked.as_mut()).await;
        let app = app
            .unwrap_or_else(|error| panic!("{error}"))
            .expect("nobody asks it to end");
        println!("listening on http://{}", app.address());
        app.run(asked).await
    });
    std::process::exit(if ending == Ending::Succeeded { 4 } else { 0 });
}

/// `DATA_DIR` of the server whose files are below `dir`.
fn data_dir(dir: &Path) -> PathBuf {
    dir.join("data")
}

fn equipped(mut command: Command, dir: &Path, database_url: &str) -> Command {
    let plugins = dir.join("plugins");
    std::fs::create_dir_all(&plugins).expect("our own directory");
    command
        .env_clear()
        .current_dir(dir)
        .env("DATA_DIR", data_dir(dir))
        .env("PLUGINS_DIR", plugins)
        .env("PORT", "0");
    command
        .env("DATABASE_URL", database_url)
        .env("ADMIN_PASSWORD", PASSWORD)
        // Beside the data: a root that holds it is refused.
        .env("FILE_MANAGER_ROOTS", dir.join("downloads"));
    command
}

impl Binary {
    /// Starts it and waits until it answers and has its plugins.
    pub async fn start(dir: &Path, database_url: &str) -> Binary {
        Self::start_with(dir, database_url, &[]).await
    }

    /// The same, with more variables set.
    pub async fn start_with(dir: &Path, database_url: &str, env: &[(&str, &str)]) -> Binary {
        Self::active_of(dir, command(dir, database_url).envs(env.iter().copied())).await
    }

    /// The same by a command of the caller's.
    pub async fn active_of(dir: &Path, command: &mut Command) -> Binary {
        let binary = Self::listen(dir, command).await;
        // Another node may have been active a moment ago.
        binary.active().await;
        binary.settled(&dir.join("plugins")).await;
        code::keep(&data_dir(dir));
        binary
    }

    /// Starts one beside another on the same database, and waits until it answers that it stands by.
    pub async fn stand_by(dir: &Path, database_url: &str, env: &[(&str, &str)]) -> Binary {
        Self::standby_of(dir, command(dir, database_url).envs(env.iter().copied())).await
    }

    /// The same by a command of the caller's.
    pub async fn standby_of(dir: &Path, command: &mut Command) -> Binary {
        let binary = Self::listen(dir, command).await;
        until_true("the server to stand by", || async {
            binary.ready().await.is_some_and(|status| status == 503)
        })
        .await;
        binary
    }

    async fn listen(dir: &Path, command: &mut Command) -> Binary {
        code::lend(&data_dir(dir));
        // A log of its own each time: the port of the last start must not be read again.
        let _ = std::fs::remove_file(dir.join("quartermaster.log"));
        let mut process = Process::start("quartermaster", dir, command);
        let address = until("the server to say where it listens", || {
            process.assert_running();
            let address = listening_at(&process.output());
            async move { address }
        })
        .await;
        Binary { process, address }
    }

    /// The HTTP status of its readiness route; `None` when it does not answer.
    pub async fn ready(&self) -> Option<u16> {
        let url = format!("http://{}/api/system/ready", self.address);
        Http::new().get(&url).await.ok().map(|reply| reply.status)
    }

    /// Waits until it is the active server of its database.
    pub async fn active(&self) {
        until_true("the server to be ready", || async {
            self.ready().await == Some(200)
        })
        .await;
    }

    /// It answers before its plugins are compiled; tests that add engines wait for them.
    async fn settled(&self, plugins: &Path) {
        if std::fs::read_dir(plugins).map_or(0, Iterator::count) == 0 {
            return;
        }
        let admin = self.admin().await;
        until_true("the plugins to be compiled", || async {
            let list = admin.get("/api/plugins").await;
            let all = list.as_array().map_or(&[][..], Vec::as_slice);
            let are_compiled = all.iter().all(|plugin| plugin["state"] != "compiling");
            if !are_compiled {
                // Two a second is what the throttle lets pass, and compiling takes its time.
                tokio::time::sleep(LOOK_EVERY).await;
            }
            are_compiled
        })
        .await;
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Waits until it ends by itself; answers its exit status.
    pub async fn ended(&mut self) -> ExitStatus {
        until("the server to end", || {
            let status = self.process.exit_status();
            async move { status }
        })
        .await
    }

    /// SIGKILL, and gone.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGTERM; answers how it ended.
    pub async fn stop(&mut self) -> ExitStatus {
        self.process.signal("TERM");
        self.ended().await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The API without a user.
    pub fn anonymous(&self) -> Api {
        Api::new(Http::new(), format!("http://{}", self.address), None)
    }

    /// The administrator, logged in.
    pub async fn admin(&self) -> Api {
        let anonymous = self.anonymous();
        let login = serde_json::json!({ "username": "admin", "password": PASSWORD });
        let session = anonymous.post("/api/auth/login", login).await;
        anonymous.with_token(session["accessToken"].as_str().map(str::to_owned))
    }
}

/// The address in `http://127.0.0.1:PORT`, as the server prints it.
fn listening_at(output: &str) -> Option<SocketAddr> {
    let (_, rest) = output.split_once("http://")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':')?;
    rest[..end].parse().ok()
}
