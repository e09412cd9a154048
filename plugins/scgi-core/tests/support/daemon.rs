//! A real rTorrent, of any generation, with a session of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use qm_generations::{Program, died, free_port};
use scgi_core::native::{Native, NativeClock};
use scgi_core::wire::Exchange;
use scgi_core::{Client, Endpoint, xml};

pub type NativeClient = Client<Native, NativeClock>;

/// A daemon that ends with the test.
pub struct Daemon {
    child: Child,
    program: Program,
    /// File of its output.
    log: PathBuf,
    pub endpoint: Endpoint,
    /// Default folder for downloads.
    pub downloads: PathBuf,
    /// Port for connections of other clients.
    pub peer_port: u16,
}

/// Kind of socket that rTorrent opens.
pub enum Listen {
    Tcp,
    Unix,
}

impl Daemon {
    /// Starts one in `home`.
    pub fn start(program: &Program, home: &Path, listen: Listen) -> Self {
        let downloads = home.join("downloads");
        let session = home.join("session");
        std::fs::create_dir_all(&downloads).unwrap();
        std::fs::create_dir_all(&session).unwrap();
        let peer_port = free_port();
        let (endpoint, scgi) = match listen {
            Listen::Tcp => {
                let port = free_port();
                let endpoint = Endpoint::Tcp {
                    host: "127.0.0.1".to_owned(),
                    port,
                };
                (endpoint, format!("network.scgi.open_port = 127.0.0.1:{port}"))
            }
            Listen::Unix => {
                let path = home.join("rpc.socket").display().to_string();
                (
                    Endpoint::Unix { path: path.clone() },
                    format!("network.scgi.open_local = {path}"),
                )
            }
        };
        let settings = format!(
            "{scgi}\nsession.path.set = {}\ndirectory.default.set = {}\nnetwork.port_range.set = {peer_port}-{peer_port}\n\
             network.bind_address.set = 127.0.0.1\ndht.mode.set = off\nprotocol.pex.set = no\nsystem.daemon.set = true\n",
            session.display(),
            downloads.display()
        );
        let file = home.join("rtorrent.rc");
        std::fs::write(&file, settings).unwrap();
        let log = home.join("rtorrent.log");
        let printed = std::fs::File::create(&log).unwrap();
        let child = program
            .command()
            .args(["-n", "-o", &format!("import={}", file.display())])
            .stdin(Stdio::null())
            .stdout(printed.try_clone().unwrap())
            .stderr(printed)
            .spawn()
            .unwrap();
        let daemon = Self {
            child,
            program: program.clone(),
            log,
            endpoint,
            downloads,
            peer_port,
        };
        let client = daemon.client();
        wait_for("rTorrent to answer", || client.health().ok());
        daemon
    }

    /// Asks it to end, as its owner would, and waits until it has.
    pub fn end(mut self) {
        // Some close the connection before they answer.
        let request = xml::call("system.shutdown.quick", &[]);
        if let Ok(mut exchange) = Exchange::start(&Native, &self.endpoint, 10_000, request) {
            let _ = exchange.piece();
        }
        wait_for("the end of rTorrent", || self.child.try_wait().unwrap());
    }

    pub fn client(&self) -> NativeClient {
        Client::new(self.endpoint.clone(), 10_000, Native, NativeClock::default())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            died(&self.program, status);
            let printed = std::fs::read(&self.log).unwrap_or_default();
            eprintln!("{} said: {}", self.program, String::from_utf8_lossy(&printed));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is something to see, for 30 s.
pub fn wait_for<R>(what: &str, mut look: impl FnMut() -> Option<R>) -> R {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(result) = look() {
            return result;
        }
        assert!(Instant::now() < deadline, "waited 30 s for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
