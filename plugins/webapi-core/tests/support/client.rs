//! A real qbittorrent-nox, of any generation, with a profile of its own, on the loopback interface alone.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use qm_generations::{Program, died, free_port};
use serde_json::Value;
use webapi_core::{Answer, NetError, Request};

use super::http::{Whole, send};

pub const USER: &str = "admin";
pub const PASSWORD: &str = "of the tests & theirs";

pub struct Client {
    program: Program,
    child: Child,
    home: tempfile::TempDir,
    port: u16,
    /// A login of the test's own, to ask the client behind the session's back.
    cookie: String,
}

impl Client {
    /// After `ban_after` failed logins it bans, 0 = never.
    pub fn start(program: &Program, ban_after: u32) -> Client {
        // Another process may take a port before the client does; then there is a next one.
        for _ in 0..5 {
            let home = tempfile::tempdir().expect("a directory");
            let port = free_port();
            write_settings(home.path(), port, ban_after);
            let child = spawn(program, home.path());
            let mut client = Client {
                program: program.clone(),
                child,
                home,
                port,
                cookie: String::new(),
            };
            if client.is_up() {
                return client;
            }
        }
        panic!("{program} does not start")
    }

    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Folder in which the client runs and saves; a record must not contain it.
    pub fn home(&self) -> String {
        self.home.path().display().to_string()
    }

    /// Asks the client itself, with a login of the test's own.
    pub fn ask(&self, path: &str) -> Whole {
        self.request("GET", path, "")
    }

    pub fn tell(&self, path: &str, form: &str) -> Whole {
        self.request("POST", path, form)
    }

    fn request(&self, method: &'static str, path: &str, form: &str) -> Whole {
        let answer = request(self.port, method, path, form, &self.cookie);
        let answer = answer.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        assert!(answer.status < 300, "{path}: {} {}", answer.status, answer.text());
        answer
    }

    /// Entry of one torrent in `torrents/info`, by the client's name for it.
    pub fn torrent(&self, id: &str) -> Option<Value> {
        let list = self.ask(&format!("/torrents/info?hashes={id}")).json();
        list.as_array().expect("a list").first().cloned()
    }

    pub fn wait_for(&self, what: &str, mut done: impl FnMut(&Client) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !done(self) {
            assert!(Instant::now() < deadline, "the client never came to: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the process and starts it again with the same profile, on the same port.
    pub fn restart(&mut self) {
        self.stop();
        self.child = spawn(&self.program, self.home.path());
        assert!(self.is_up(), "the client does not start again");
    }

    /// Lets it save what it knows, then makes sure.
    pub fn stop(&mut self) {
        self.tell("/app/shutdown", "");
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.child.try_wait().expect("a child").is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.kill();
    }

    fn kill(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }

    /// True once a login works; false when the process ended or took too long.
    fn is_up(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_mins(1);
        let credentials = format!(
            "username={USER}&password={}",
            PASSWORD.replace(' ', "%20").replace('&', "%26")
        );
        while Instant::now() < deadline {
            if self.child.try_wait().expect("a child").is_some() {
                return false;
            }
            if let Ok(answer) = request(self.port, "POST", "/auth/login", &credentials, "")
                && let Some(line) = answer.header_values("set-cookie").first()
            {
                line.split(';')
                    .next()
                    .expect("a cookie")
                    .clone_into(&mut self.cookie);
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        self.kill();
        false
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            died(&self.program, status);
        }
        self.kill();
    }
}

fn spawn(program: &Program, home: &Path) -> Child {
    program
        .command()
        .arg(format!("--profile={}", home.display()))
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the client starts")
}

fn request(port: u16, method: &'static str, path: &str, form: &str, cookie: &str) -> Result<Whole, NetError> {
    let request = Request {
        method,
        url: format!("http://127.0.0.1:{port}/api/v2{path}"),
        headers: vec![
            ("Cookie", cookie.to_owned()),
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
        ],
        body: form.into(),
        idle_ms: 5000,
        max_body: u64::MAX,
    };
    send(&request)
}

fn write_settings(home: &Path, port: u16, ban_after: u32) {
    let dir = home.join("qBittorrent/config");
    std::fs::create_dir_all(&dir).expect("a directory");
    let salt = [7u8; 16];
    let mut key = [0u8; 64];
    pbkdf2::pbkdf2_hmac::<sha2::Sha512>(PASSWORD.as_bytes(), &salt, 100_000, &mut key);
    let password = format!("{}:{}", STANDARD.encode(salt), STANDARD.encode(key));
    let downloads = home.join("downloads");
    let text = format!(
        "[LegalNotice]\nAccepted=true\n\n[Preferences]\nWebUI\\Address=127.0.0.1\nWebUI\\Port={port}\n\
         WebUI\\LocalHostAuth=true\nWebUI\\UseUPnP=false\nWebUI\\Username={USER}\n\
         WebUI\\Password_PBKDF2=\"@ByteArray({password})\"\nWebUI\\MaxAuthenticationFailCount={ban_after}\n\n\
         [BitTorrent]\nSession\\DHTEnabled=false\nSession\\LSDEnabled=false\nSession\\PeXEnabled=false\n\
         Session\\Interface=lo\nSession\\InterfaceName=lo\nSession\\InterfaceAddress=127.0.0.1\nSession\\Port={}\n\
         Session\\QueueingSystemEnabled=false\nSession\\DefaultSavePath={}\n\n[Network]\nPortForwardingEnabled=false\n",
        free_port(),
        downloads.display(),
    );
    std::fs::write(dir.join("qBittorrent.conf"), text).expect("settings");
}
