//! A directory to run the binary in, and a server that runs there.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Long enough for a slow machine; a start that takes longer is stuck.
pub const PATIENCE: Duration = Duration::from_mins(1);

pub const STRONG_A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub const STRONG_B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A working directory with an empty plugins directory in it.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(folder.path().join("plugins")).expect("made");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with nothing in its environment but `variables`.
    pub fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quartermaster"));
        command
            .args(arguments)
            .env_clear()
            .env("PORT", "0")
            .envs(variables.iter().copied())
            .current_dir(self.0.path());
        command
    }

    pub fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        self.command(arguments, variables)
            .output()
            .expect("the binary runs")
    }

    /// Runs a command that must fail, and answers its one line.
    pub fn complaint(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let output = self.run(arguments, variables);
        let line = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {line}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(
            line.starts_with("quartermaster: ") && line.ends_with('\n') && line.matches('\n').count() == 1,
            "{line:?}"
        );
        line
    }

    /// Runs a command that must end with this exit code, and answers what it said.
    pub fn output_of(&self, arguments: &[&str], variables: &[(&str, &str)], code: i32) -> String {
        let output = self.run(arguments, variables);
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {said}{complaint}"
        );
        said
    }

    /// `DATABASE_URL` of the database a server makes here by itself.
    pub fn database_url(&self) -> String {
        format!("sqlite:{}", self.path("data/quartermaster.db").display())
    }

    /// Every file and directory below, with sizes.
    pub fn contents(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        let mut open = vec![self.0.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).expect("readable") {
                let entry = entry.expect("readable");
                let metadata = entry.metadata().expect("readable");
                if metadata.is_dir() {
                    open.push(entry.path());
                }
                found.push((entry.path(), if metadata.is_file() { metadata.len() } else { 0 }));
            }
        }
        found.sort();
        found
    }

    pub fn serve(&self, variables: &[(&str, &str)]) -> Running {
        self.serve_with(variables, Stdio::piped())
    }

    /// A server started by a shell that runs `line` before.
    pub fn serve_after(&self, line: &str, variables: &[(&str, &str)]) -> Running {
        let plain = self.command(&[], variables);
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("{line} && exec \"$0\""))
            .arg(plain.get_program())
            .env_clear()
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(self.0.path());
        Self::running(shell, Stdio::piped())
    }

    /// For a server that logs more than a pipe holds.
    pub fn serve_logging_to(&self, variables: &[(&str, &str)], log: File) -> Running {
        self.serve_with(variables, log.into())
    }

    fn serve_with(&self, variables: &[(&str, &str)], stderr: Stdio) -> Running {
        Self::running(self.command(&[], variables), stderr)
    }

    fn running(mut command: Command, stderr: Stdio) -> Running {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the binary runs");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = String::new();
        stdout.read_line(&mut said).expect("readable");
        let Some((_, address)) = said.trim().rsplit_once("http://") else {
            let mut complaint = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                stderr.read_to_string(&mut complaint).expect("readable");
            }
            panic!("no address: {said}{complaint}");
        };
        let address = address.to_owned();
        Running {
            child,
            stdout,
            address,
        }
    }
}

/// A server that is up; killed when the test is over.
pub struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    address: String,
}

impl Running {
    pub fn get(&self, path: &str) -> String {
        self.exchange(&format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", self.address), "")
    }

    /// Sends JSON.
    pub fn post(&self, path: &str, body: &str) -> String {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        self.exchange(&head, body)
    }

    fn exchange(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let request = format!("{head}connection: close\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("received");
        answer
    }

    /// A file of its directory in `/proc`.
    pub fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).expect("readable")
    }

    /// Asks it to end; answers how it ended and what it had said after its address.
    pub fn stop(mut self, signal: &str) -> (ExitStatus, String) {
        let done = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(done.success());
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).expect("readable");
        (status, said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone after `stop`.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}
