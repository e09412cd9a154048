//! Probing of a file with `mediainfo`, in a separate process, as files come from strangers.
//!
//! The file is opened here, through the library's handles, and passed to the program open. The program gets no name, so that
//! no name is taken for an option, and no link that is put there meanwhile is followed. Playlists and films that name other
//! files would make the program open these: their content is checked before (`qm_media_names::pointer`), and the program
//! sees no other file ([`jail`]). A proxy address on which nothing listens keeps it off the network. It gets nothing of the
//! server's environment.
//!
//! Bounds: 60 s, 4 MiB of answer, 1 GiB of memory; then it is killed, with all processes that it started.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use qm_media::ops::reach::Reach;
use qm_media::ops::reach::mtime;
use qm_media_names::pointer;
use rustix::io::{Errno, pread, retry_on_intr};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout_at};

use super::jail::{self, JailError};

/// Largest answer, in bytes.
const MOST_ANSWER: u64 = 4 << 20;
/// Memory limit of the program, in bytes.
const MEMORY: u64 = 1 << 30;
/// Name of the file for the program, which gets it as its standard input.
pub const HANDED: &str = "/proc/self/fd/0";
/// Proxy address on which nothing listens.
const NO_PROXY: &str = "http://127.0.0.1:1";

/// The probing program.
#[derive(Clone, Debug)]
pub struct Prober {
    /// Program with its first arguments; the fixed ones follow.
    pub command: Vec<OsString>,
    pub patience: Duration,
    /// Pause before a missing program or disk is looked for again.
    pub again: Duration,
}

impl Default for Prober {
    fn default() -> Self {
        Self {
            command: vec!["mediainfo".into()],
            patience: Duration::from_mins(1),
            again: Duration::from_hours(1),
        }
    }
}

/// Reason why a file could not be probed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The program cannot be started, whatever the file.
    #[error("{0}")]
    NoTool(String),
    /// The file has changed: the next scan updates it.
    #[error("the file changed")]
    Changed,
    /// The error may pass: another attempt is worth it.
    #[error("{0}")]
    Passing(String),
    /// The error stays as long as the file is the same.
    #[error("{0}")]
    Lasting(String),
}

/// State of a file in the index.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Path below the library's directory, as bytes.
    pub path: Vec<u8>,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
}

/// Opens a file if its state is still that of the index.
pub fn open(library: &Path, file: &Expected, roots: &[PathBuf]) -> Result<OwnedFd, ProbeError> {
    let passing = |errno: Errno| ProbeError::Passing(format!("it cannot be opened: {errno}"));
    let reach = Reach::open(library).map_err(passing)?;
    let opened = reach.open_file(&file.path, roots);
    let (handle, stat) = opened.map_err(|errno| match errno {
        Errno::INVAL => ProbeError::Lasting("it is no file".to_owned()),
        errno => passing(errno),
    })?;
    if stat.st_size != file.size || mtime(&stat) != file.mtime {
        return Err(ProbeError::Changed);
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let mut read = |at: u64, into: &mut [u8]| read_at(&handle, at, into);
    match pointer::recognise(size, &mut read) {
        Ok(None) => Ok(handle),
        Ok(Some(pointer)) => Err(ProbeError::Lasting(pointer.to_string())),
        Err(error) => Err(ProbeError::Passing(format!("it cannot be read: {error}"))),
    }
}

/// Length of the head and of the tail that the digest covers, in bytes.
const ENDS: u64 = 64 * 1024;

/// Digest of the head and the tail of an open file of this size.
pub fn fingerprint(file: &OwnedFd, size: i64) -> std::io::Result<String> {
    let size = u64::try_from(size).unwrap_or(0);
    let mut digest = Sha256::new();
    let mut some = vec![0; ENDS as usize];
    for at in [0, size.saturating_sub(ENDS)] {
        let read = read_at(file, at, &mut some)?;
        digest.update(&some[..read]);
    }
    Ok(STANDARD_NO_PAD.encode(digest.finalize()))
}

/// Digest of a file in the state of the index; `None` if it cannot be read.
pub fn fingerprint_of(library: &Path, file: &Expected, roots: &[PathBuf]) -> Option<String> {
    let opened = open(library, file, roots).ok()?;
    fingerprint(&opened, file.size).ok()
}

/// Reads from an offset on until the buffer is full or the file ends.
fn read_at(file: &OwnedFd, mut at: u64, into: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        let read = retry_on_intr(|| pread(file, &mut into[filled..], at))?;
        if read == 0 {
            break;
        }
        filled += read;
        at += read as u64;
    }
    Ok(filled)
}

impl Prober {
    /// Output of the program for an open file.
    pub async fn ask(&self, file: OwnedFd) -> Result<Vec<u8>, ProbeError> {
        let end = Instant::now() + self.patience;
        // From here on it ends whenever nobody waits for it any more.
        let (mut child, mut group) = self.start(file).await?;
        let mut answer = Vec::new();
        let Some(stdout) = child.stdout.take() else {
            return Err(ProbeError::Passing("it cannot be heard".to_owned()));
        };
        let late = || {
            ProbeError::Passing(format!(
                "mediainfo did not end within {} s",
                self.patience.as_secs_f64()
            ))
        };
        let read = timeout_at(end, stdout.take(MOST_ANSWER + 1).read_to_end(&mut answer)).await;
        let heard = match read {
            Err(_) => Err(late()),
            Ok(Err(error)) => Err(ProbeError::Passing(format!("mediainfo cannot be heard: {error}"))),
            Ok(Ok(_)) if answer.len() as u64 > MOST_ANSWER => Err(ProbeError::Lasting(format!(
                "mediainfo says more than {MOST_ANSWER} bytes"
            ))),
            Ok(Ok(_)) => Ok(answer),
        };
        // The process id stays reserved until it is waited for, so that no other process is killed.
        let ended = match &heard {
            Ok(_) => timeout_at(end, child.wait()).await,
            Err(_) => {
                group.kill();
                Ok(child.wait().await)
            }
        };
        let Ok(ended) = ended else {
            group.kill();
            let _ = child.wait().await;
            return Err(late());
        };
        group.0 = None;
        let answer = heard?;
        let status =
            ended.map_err(|error| ProbeError::Passing(format!("mediainfo cannot be waited for: {error}")))?;
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(answer),
            // It ran out of memory, or somebody killed it.
            (_, Some(signal)) => Err(ProbeError::Passing(format!(
                "mediainfo was killed by signal {signal}"
            ))),
            (code, None) => Err(ProbeError::Lasting(format!(
                "mediainfo failed with code {}",
                code.unwrap_or_default()
            ))),
        }
    }

    async fn start(&self, file: OwnedFd) -> Result<(Child, Group), ProbeError> {
        let mut words = self.command.iter();
        let program = words.next().cloned().unwrap_or_default();
        let failed = |error: JailError| {
            let name = program.to_string_lossy();
            ProbeError::NoTool(match error {
                JailError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => format!(
                    "`{name}` is not installed, so that what files hold is told by their names alone: install the package `mediainfo`"
                ),
                error => format!(
                    "`{name}` cannot be started, so that what files hold is told by their names alone: {error}"
                ),
            })
        };
        // Opened here: where the program starts there is nothing to open.
        let nowhere = std::fs::File::options().write(true).open("/dev/null");
        let nowhere = nowhere.map_err(|error| failed(error.into()))?;
        let seen = file.try_clone().map_err(|error| failed(error.into()))?;
        let mut command = Command::new(&program);
        command
            .args(words)
            // Otherwise it takes the numbers of other handles for parts of the same film.
            .args(["--Output=JSON", "--File_TestContinuousFileNames=0", HANDED])
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(["http_proxy", "https_proxy", "ALL_PROXY"].map(|name| (name, NO_PROXY)))
            .env("LC_ALL", "C.UTF-8")
            .current_dir("/")
            .stdin(Stdio::from(file))
            .stdout(Stdio::piped())
            .stderr(Stdio::from(nowhere))
            .process_group(0)
            .kill_on_drop(true);
        let runtime = tokio::runtime::Handle::current();
        let start = move || {
            let _entered = runtime.enter();
            let child = command.spawn()?;
            let group = Group::led_by(&child);
            Ok((child, group))
        };
        let (child, group) = jail::start_in(&program, seen, start).await.map_err(failed)?;
        let pid = pid(&child);
        for (resource, most) in [(Resource::Data, MEMORY), (Resource::Core, 0)] {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            // A courtesy that a system may refuse; and it may have ended already.
            let _ = pid.map(|pid| prlimit(Some(pid), resource, limit));
        }
        Ok((child, group))
    }
}

fn pid(child: &Child) -> Option<Pid> {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    id.and_then(Pid::from_raw)
}

/// Process group of the program, which is killed as a whole.
struct Group(Option<Pid>);

impl Group {
    fn led_by(child: &Child) -> Self {
        Self(pid(child))
    }

    fn kill(&mut self) {
        if let Some(pid) = self.0.take() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// A shell script in place of the program.
    fn shell(script: &str) -> Prober {
        Prober {
            command: vec!["sh".into(), "-c".into(), script.into()],
            ..Prober::default()
        }
    }

    fn nothing() -> OwnedFd {
        File::open("/dev/null").unwrap().into()
    }

    #[tokio::test]
    async fn a_program_that_fails_is_told_from_one_that_was_stopped() {
        for (script, expected) in [
            (
                "exit 1",
                ProbeError::Lasting("mediainfo failed with code 1".to_owned()),
            ),
            (
                "kill -9 $$",
                ProbeError::Passing("mediainfo was killed by signal 9".to_owned()),
            ),
            (
                "head -c 100000000 /dev/zero",
                ProbeError::Lasting("mediainfo says more than 4194304 bytes".to_owned()),
            ),
        ] {
            assert_eq!(shell(script).ask(nothing()).await, Err(expected), "{script}");
        }
        assert_eq!(shell("echo said").ask(nothing()).await.unwrap(), b"said\n");
        let missing = Prober {
            command: vec!["mediainfo-that-nobody-has".into()],
            ..Prober::default()
        };
        let why = missing.ask(nothing()).await.unwrap_err();
        assert!(
            matches!(&why, ProbeError::NoTool(why) if why.contains("install the package `mediainfo`")),
            "{why}"
        );
    }

    #[tokio::test]
    async fn it_is_handed_the_file_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        std::fs::write(&path, "of the file").unwrap();
        let file = || OwnedFd::from(File::open(&path).unwrap());
        let said = shell("cat /proc/self/fd/0; echo \"$0 $*\"; env | sort")
            .ask(file())
            .await
            .unwrap();
        let said = String::from_utf8(said).unwrap();
        let (args, env) = said.split_once('\n').unwrap();
        assert_eq!(
            args,
            "of the file--Output=JSON --File_TestContinuousFileNames=0 /proc/self/fd/0"
        );
        for line in env.lines() {
            let name = line.split('=').next().unwrap();
            let is_ours = [
                "ALL_PROXY",
                "http_proxy",
                "https_proxy",
                "LC_ALL",
                "PATH",
                "PWD",
                "OLDPWD",
                "SHLVL",
                "_",
            ];
            assert!(is_ours.contains(&name), "{line}");
        }
    }

    fn is_running(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .chars()
            .next();
        state.is_some_and(|state| state != 'Z')
    }

    async fn ends(pid: &str) {
        let until = Instant::now() + Duration::from_mins(1);
        while is_running(pid) {
            assert!(Instant::now() < until, "{pid} runs on");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn what_hangs_is_killed_with_what_it_started() {
        // It can write nothing down: the program and what it starts are found by what they are told.
        let own = |number: u32| format!("1{:09}.{number}", std::process::id());
        let script = |own: &str| format!("sleep {own} & wait");
        let pids = |own: &str| -> Vec<String> {
            let of = |entry: std::fs::DirEntry| {
                let said = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let is_one = String::from_utf8_lossy(&said).contains(own);
                is_one.then(|| entry.file_name().to_string_lossy().into_owned())
            };
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            all.filter_map(of).filter(|pid| is_running(pid)).collect()
        };
        let own_of_first = own(1);
        let hanging = Prober {
            patience: Duration::from_millis(300),
            ..shell(&script(&own_of_first))
        };
        let why = hanging.ask(nothing()).await.unwrap_err();
        assert!(
            matches!(&why, ProbeError::Passing(why) if why.contains("did not end within 0.3 s")),
            "{why}"
        );
        for pid in pids(&own_of_first) {
            ends(&pid).await;
        }
        // It closes what it says, and stays.
        let why = Prober {
            patience: Duration::from_millis(300),
            ..shell("exec >&-; sleep 1000")
        };
        assert!(matches!(why.ask(nothing()).await, Err(ProbeError::Passing(_))));
        // Nobody waits any more: a server that stops.
        let own_of_second = own(2);
        let patient = shell(&script(&own_of_second));
        let begun = {
            let asked = patient.ask(nothing());
            tokio::pin!(asked);
            loop {
                tokio::select! {
                    _ = &mut asked => panic!("it hangs"),
                    () = tokio::time::sleep(Duration::from_millis(10)) => {}
                }
                let begun = pids(&own_of_second);
                if begun.len() > 1 {
                    break begun;
                }
            }
        };
        for pid in begun {
            ends(&pid).await;
        }
    }
}
