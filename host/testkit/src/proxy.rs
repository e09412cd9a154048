//! Real reverse proxies in front of a server, running the very example configurations that the project ships: names,
//! ports and certificates are put in, nothing else is changed.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Process, free_port};

/// A running reverse proxy on 127.0.0.1.
pub struct Proxy {
    process: Process,
    port: u16,
    dir: TempDir,
}

/// The name the examples stand for.
const NAME: &str = "quartermaster.example.org";
/// Where the examples expect the service.
const UPSTREAM: &str = "127.0.0.1:4000";

impl Proxy {
    /// Debian's nginx with `docs/deploy/nginx.conf.example`.
    pub async fn nginx(upstream: SocketAddr) -> Proxy {
        Self::start("nginx", |dir, port| {
            std::fs::write(dir.join("site.conf"), nginx_site(dir, upstream, port))
                .expect("our own directory");
            std::fs::write(dir.join("nginx.conf"), nginx_main(dir)).expect("our own directory");
            let mut command = Command::new("/usr/sbin/nginx");
            command
                .arg("-p")
                .arg(dir)
                .arg("-c")
                .arg(dir.join("nginx.conf"))
                .args(["-e", "stderr"]);
            command
        })
        .await
    }

    /// Debian's Caddy with `docs/deploy/Caddyfile`.
    pub async fn caddy(upstream: SocketAddr) -> Proxy {
        Self::start("caddy", |dir, port| {
            std::fs::write(dir.join("Caddyfile"), caddyfile(dir, upstream, port)).expect("our own directory");
            let mut command = Command::new("caddy");
            command
                .args(["run", "--adapter", "caddyfile", "--config"])
                .arg(dir.join("Caddyfile"));
            command
                .env("HOME", dir)
                .env("XDG_DATA_HOME", dir)
                .env("XDG_CONFIG_HOME", dir);
            command
        })
        .await
    }

    async fn start(name: &'static str, command: impl Fn(&Path, u16) -> Command) -> Proxy {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for _ in 0..5 {
            let port = free_port();
            let mut process = Process::start(name, dir.path(), &mut command(dir.path(), port));
            while process.exit_status().is_none() {
                if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                    return Proxy { process, port, dir };
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            eprintln!("{name} did not start: {}", process.output());
        }
        panic!("{name} found no port it could bind");
    }

    /// `http://127.0.0.1:PORT`
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Bytes of bodies it keeps on disk at this moment. Such files have lost their names at once and live as long as
    /// they are open, so they are looked for among what the process holds open.
    pub fn buffered_bytes(&self) -> u64 {
        let buffers = self.dir.path().join("buffers");
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.process.pid()));
        open.into_iter()
            .flatten()
            .flatten()
            .filter(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.starts_with(&buffers)))
            .filter_map(|file| std::fs::metadata(file.path()).ok())
            .map(|data| data.len())
            .sum()
    }

    /// Does `work` and answers what came of it, with the most [`Proxy::buffered_bytes`] seen meanwhile.
    pub async fn watched<T>(&self, work: impl Future<Output = T>) -> (T, u64) {
        let mut work = std::pin::pin!(work);
        let mut most = 0;
        loop {
            tokio::select! {
                value = &mut work => return (value, most),
                () = tokio::time::sleep(std::time::Duration::from_millis(1)) => most = most.max(self.buffered_bytes()),
            }
        }
    }

    /// Everything it printed so far.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// The text of its request log; empty when there is none yet.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("quartermaster.log")).unwrap_or_default()
    }
}

/// An example of `docs/deploy`, with our upstream in it.
fn example(file: &str, upstream: SocketAddr) -> String {
    let path = crate::checkout().join("docs/deploy").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    replaced(&text, UPSTREAM, &upstream.to_string())
}

/// # Panics
/// When the example no longer holds what is to be replaced: then this module is out of date.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in the example");
    text.replace(from, to)
}

fn nginx_site(dir: &Path, upstream: SocketAddr, port: u16) -> String {
    let text = example("nginx.conf.example", upstream);
    let text = replaced(&text, "/var/log/nginx/quartermaster.log", &logged_to(dir));
    let text = replaced(&text, "error_log /var/log/nginx/error.log", "error_log stderr");
    // The example's last server redirects port 80 to the first one, and is not started.
    let (text, _) = text
        .split_once("server {\n    listen 80;")
        .expect("the redirecting server comes last");
    let text = replaced(text, "listen 443 ssl;", &format!("listen 127.0.0.1:{port};"));
    let text = replaced(&text, NAME, "_");
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("ssl_certificate"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The main configuration that Debian ships as nginx.conf, reduced to one process and our directory.
fn nginx_main(dir: &Path) -> String {
    let buffers = dir.join("buffers");
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|kind| {
        let path = buffers.join(kind);
        std::fs::create_dir_all(&path).expect("our own directory");
        format!("  {kind}_temp_path {};\n", path.display())
    });
    let dir = dir.display();
    format!(
        "daemon off;\nmaster_process off;\npid {dir}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n  access_log off;\n{}  \
         include {dir}/site.conf;\n}}\n",
        kinds.concat()
    )
}

fn caddyfile(dir: &Path, upstream: SocketAddr, port: u16) -> String {
    let text = example("Caddyfile", upstream);
    let text = replaced(&text, "/var/log/caddy/quartermaster.log", &logged_to(dir));
    let site = replaced(&text, NAME, &format!("http://127.0.0.1:{port}"));
    // The options that hold for the whole program come first, and only once.
    let (options, site) = site.split_once("{\n").expect("the example begins with options");
    format!("{options}{{\n\tadmin off\n\tauto_https off\n{site}")
}

fn logged_to(dir: &Path) -> String {
    dir.join("quartermaster.log").display().to_string()
}
