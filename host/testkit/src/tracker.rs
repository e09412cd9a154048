//! A BitTorrent tracker on loopback: Debian's `opentracker`, whose build serves the torrents of a list only.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::http::Http;
use crate::process::{Process, free_port};
use crate::wait::until_true;

/// A running tracker; it forgets everything when dropped.
pub struct Tracker {
    process: Process,
    list: PathBuf,
    port: u16,
    http: Http,
    _dir: TempDir,
}

impl Tracker {
    pub async fn start() -> Tracker {
        let dir = tempfile::tempdir().expect("a temporary directory");
        open_to_all(dir.path());
        let list = dir.path().join("allowed");
        std::fs::write(&list, "").expect("an empty list");
        let http = Http::new();
        for _ in 0..5 {
            let port = free_port();
            // Started as root it changes its root to `-d` and becomes `nobody`; hence the relative list.
            let mut command = Command::new("opentracker");
            command.current_dir(dir.path()).args([
                "-i",
                "127.0.0.1",
                "-p",
                &port.to_string(),
                "-P",
                &port.to_string(),
            ]);
            command.arg("-d").arg(dir.path()).args(["-w", "allowed"]);
            let mut process = Process::start("opentracker", dir.path(), &mut command);
            while process.exit_status().is_none() {
                if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                    return Tracker {
                        process,
                        list,
                        port,
                        http,
                        _dir: dir,
                    };
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        panic!("opentracker found no port it could bind");
    }

    /// The announce address to put into a torrent.
    pub fn announce(&self) -> String {
        format!("http://127.0.0.1:{}/announce", self.port)
    }

    /// Lets clients announce a torrent; returns once the tracker has read the list.
    pub async fn allow(&self, hash: &str) {
        let mut list = std::fs::read_to_string(&self.list).unwrap_or_default();
        list.push_str(hash);
        list.push('\n');
        std::fs::write(&self.list, list).expect("the list is ours");
        self.process.signal("HUP");
        let query = format!("{}&event=stopped", self.query(hash));
        until_true("the tracker to read its list", || async {
            self.http
                .get(&query)
                .await
                .is_ok_and(|reply| !reply.text().contains("failure"))
        })
        .await;
    }

    /// Waits until a client announced itself as a seeder: a leecher that comes now is told of it at once.
    pub async fn until_seeded(&self, hash: &str) {
        let scrape = self.query(hash).replace("/announce", "/scrape");
        until_true("a seeder at the tracker", || async {
            self.http.get(&scrape).await.is_ok_and(|reply| {
                let text = reply.text();
                text.contains("8:completei") && !text.contains("8:completei0e")
            })
        })
        .await;
    }

    fn query(&self, hash: &str) -> String {
        let escaped: String = hash
            .as_bytes()
            .chunks(2)
            .map(|pair| format!("%{}", String::from_utf8_lossy(pair)))
            .collect();
        format!(
            "{}?info_hash={escaped}&peer_id=-QM0000-000000000000&port=1&left=1&uploaded=0&downloaded=0&compact=1",
            self.announce()
        )
    }
}

/// Parts that drop root must still enter their directory.
fn open_to_all(dir: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).expect("the directory is ours");
}
