//! `cargo xtask pictures`: the pictures of the README, a screenshot of the API documentation and a drawing of the parts.

mod drawing;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{paths, run, setup};

const FOLDER: &str = "docs/pictures";
const DRAWING: &str = "parts.svg";
const SCREENSHOT: &str = "api-docs.png";
/// Size of the screenshot's window in pixels.
const WINDOW: (u32, u32) = (1200, 860);
/// Bound of the screenshot's size: the file is in the repository.
const MAX_BYTES: u64 = 300 * 1024;
/// Time within which the server answers after its start.
const START: Duration = Duration::from_mins(2);

/// Writes the drawing, then starts the server and takes the screenshot.
pub fn run() -> Result<(), String> {
    setup::packages(&["chromium"])?;
    let folder = paths::root().join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let drawing = folder.join(DRAWING);
    std::fs::write(&drawing, drawing::svg()?)
        .map_err(|error| format!("cannot write {}: {error}", drawing.display()))?;
    println!("{} written", drawing.display());
    let binary = run::build_server("dev")?;
    let server = Server::start(&binary)?;
    let screenshot = folder.join(SCREENSHOT);
    server.photograph("/api/docs", &screenshot)?;
    let size = std::fs::metadata(&screenshot).map_or(0, |file| file.len());
    if size == 0 || size > MAX_BYTES {
        return Err(format!(
            "{} has {size} bytes, which should be 1 to {MAX_BYTES}",
            screenshot.display()
        ));
    }
    println!("{} written ({} KiB)", screenshot.display(), size / 1024);
    Ok(())
}

/// A server with a data directory of its own, which ends and goes with this value.
struct Server {
    process: Child,
    port: u16,
    home: PathBuf,
}

impl Server {
    fn start(binary: &Path) -> Result<Self, String> {
        let home = std::env::temp_dir().join(format!("quartermaster-pictures-{}", std::process::id()));
        for folder in ["data", "plugins", "downloads"] {
            std::fs::create_dir_all(home.join(folder))
                .map_err(|error| format!("cannot make {}: {error}", home.display()))?;
        }
        let port = free_port()?;
        let process = Command::new(binary)
            // Variables of the caller would name another database or a production server, which has no such page.
            .env_clear()
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("DATA_DIR", home.join("data"))
            .env("PLUGINS_DIR", home.join("plugins"))
            .env("FILE_MANAGER_ROOTS", home.join("downloads"))
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("`{}` did not start: {error}", binary.display()))?;
        let mut server = Self { process, port, home };
        server.await_answer()?;
        Ok(server)
    }

    fn await_answer(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        while !is_live(self.port) {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(format!("the server ended with {status}"));
            }
            if begun.elapsed() > START {
                return Err(format!("the server does not answer on port {}", self.port));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn photograph(&self, page: &str, file: &Path) -> Result<(), String> {
        let (width, height) = WINDOW;
        let mut chromium = Command::new("chromium");
        chromium
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"])
            // The page fetches and renders its document after it was loaded.
            .arg("--virtual-time-budget=10000")
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", self.home.join("profile").display()))
            .arg(format!("--screenshot={}", file.display()))
            .arg(format!("http://127.0.0.1:{}{page}", self.port))
            .env("HOME", &self.home)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        setup::ended("chromium", &["--headless", "--screenshot"], &mut chromium)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has ended already and a folder that is gone are no failures here.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn free_port() -> Result<u16, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no port is free: {error}"))
}

fn is_live(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let request = "GET /api/system/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut reply = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut reply).is_ok()
        && reply.starts_with("HTTP/1.1 200")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_pictures_are_those_of_the_command() {
        let folder = paths::root().join(FOLDER);
        let committed = std::fs::read_to_string(folder.join(DRAWING)).unwrap_or_default();
        assert!(
            drawing::svg() == Ok(committed),
            "{FOLDER}/{DRAWING} is out of date: run `cargo xtask pictures` and commit it"
        );
        let screenshot = std::fs::metadata(folder.join(SCREENSHOT)).expect("the screenshot is committed");
        assert!((1..=MAX_BYTES).contains(&screenshot.len()));
    }
}
