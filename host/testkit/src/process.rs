//! Child processes of a test: started with a log file of their own, ended by their own pid when dropped.
//!
//! Never ends a process it did not start. When a test fails, the end of the child's log goes into the test's output.

use std::fs::{File, OpenOptions};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub use qm_generations::free_port;

/// An address of 127.0.0.0/8 no other part of this test has, nor one of a test program beside it. Torrent clients need one each: rTorrent knows a peer by its
/// address alone, so two clients on one address are one peer to it, and possibly itself.
pub fn loopback_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(2);
    // A process has a thousand of its own, and its neighbours' are far away.
    let own = (std::process::id().wrapping_mul(40_503) % (1 << 14)) << 10;
    let step = NEXT.fetch_add(1, Ordering::Relaxed) % (1 << 10);
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 0, 0, 0)) + own + step)
}

/// A running child process.
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it prints is appended to `<dir>/<name>.log`.
    ///
    /// # Panics
    /// When the program cannot be started: the message names the Debian package to install.
    pub fn start(name: &'static str, dir: &Path, command: &mut Command) -> Process {
        let log = dir.join(format!("{name}.log"));
        let file = || -> File {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(&log)
                .expect("a log file")
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::from(file()))
            .stderr(Stdio::from(file()))
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start {name}: {error}; `cargo xtask setup` installs what the tests need")
            });
        Process { name, child, log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The exit status; `None` while it runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child can be waited for")
    }

    /// # Panics
    /// When it has ended by itself.
    pub fn assert_running(&mut self) {
        if let Some(status) = self.exit_status() {
            panic!("{} ended by itself: {status}", self.name);
        }
    }

    /// SIGKILL, then waits until it is gone.
    pub fn kill(&mut self) {
        // Fails only when it has ended already, which is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a signal by name, e.g. `TERM`, `HUP`, `STOP`, `CONT`.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(self.pid().to_string())
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot send SIG{signal} to {}",
            self.name
        );
    }

    /// Resident memory in bytes, from `/proc`.
    pub fn resident_bytes(&self) -> u64 {
        self.status_bytes("VmRSS:")
    }

    /// Resident memory that is the process's own, in bytes: the rest are pages of files, its program above all, which the
    /// kernel maps as it likes and takes back when it needs them.
    pub fn own_bytes(&self) -> u64 {
        self.status_bytes("RssAnon:")
    }

    /// The most memory it ever had resident, in bytes.
    pub fn peak_resident_bytes(&self) -> u64 {
        self.status_bytes("VmHWM:")
    }

    /// From now on the peak is that of what comes: the kernel forgets the one before.
    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.pid()), "5").expect("our own child");
    }

    fn status_bytes(&self, label: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix(label)?.split_whitespace().next()?.parse().ok());
        kib.unwrap_or(0u64) * 1024
    }

    /// The number of file descriptors it holds.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).map_or(0, Iterator::count)
    }

    /// Everything it printed so far.
    pub fn output(&self) -> String {
        std::fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let output = self.output();
            let lines: Vec<&str> = output.lines().collect();
            let tail = &lines[lines.len().saturating_sub(60)..];
            eprintln!("--- last lines of {} ---\n{}", self.name, tail.join("\n"));
        }
    }
}
