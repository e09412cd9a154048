//! Child process that runs tests: its output, its end, and the kill when it is silent too long.

use std::io::{self, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Silence after which a child hangs: no test takes half as long, and each says its name when it is over.
pub const SILENCE: Duration = Duration::from_mins(20);
/// Interval between looks at a child whose output was handed on to children of its own that outlive it.
const LOOK: Duration = Duration::from_millis(200);

/// End of a child.
pub enum End {
    Status(ExitStatus),
    /// Killed, because it printed nothing for this long.
    Hung(Duration),
    NotStarted(String),
}

impl End {
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Status(status) if status.success())
    }

    /// One line for people.
    pub fn tell(&self) -> String {
        match self {
            Self::Status(status) => format!("it ended with {status}"),
            Self::Hung(silence) => format!("it hung: nothing was said for {} s", silence.as_secs()),
            Self::NotStarted(error) => format!("it did not start: {error}"),
        }
    }
}

/// Runs a command to its end and answers everything it said, on both ways in the order of time. `live`: it is printed as it
/// comes. One that says nothing for as long as `silence` is ended, with all that it started.
pub fn run(command: &mut Command, live: bool, silence: Duration) -> (String, End) {
    let (child, chunks) = match start(command) {
        Ok(started) => started,
        Err(error) => return (String::new(), End::NotStarted(error.to_string())),
    };
    let (said, end) = follow(child, &chunks, live, silence);
    (String::from_utf8_lossy(&said).into_owned(), end)
}

fn start(command: &mut Command) -> io::Result<(Child, Receiver<Vec<u8>>)> {
    let (mut reader, writer) = io::pipe()?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let child = command.spawn();
    // The command keeps its ends of the pipe: while they are open the reader waits for more.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = child?;
    let (tell, told) = channel();
    // Not joined: a process that outlives the child may keep the pipe open.
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            if tell.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    Ok((child, told))
}

fn follow(mut child: Child, chunks: &Receiver<Vec<u8>>, live: bool, silence: Duration) -> (Vec<u8>, End) {
    let mut said = Vec::new();
    let mut shown = 0;
    let mut last = Instant::now();
    loop {
        match chunks.recv_timeout(LOOK) {
            Ok(chunk) => {
                said.extend(chunk);
                if live {
                    shown = show_lines(&said, shown);
                }
                last = Instant::now();
                continue;
            }
            // What it says was closed; its end follows.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(5)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match child.try_wait() {
            Ok(Some(status)) => return (said, End::Status(status)),
            Ok(None) if last.elapsed() >= silence => {
                end_with_children(&mut child);
                return (said, End::Hung(silence));
            }
            Ok(None) => {}
            Err(error) => return (said, End::NotStarted(error.to_string())),
        }
    }
}

/// Prints the whole lines behind `shown` bytes, and answers how far it came. By `print!`, which a test of ours catches: a
/// report that a test made up is none of its own program.
fn show_lines(said: &[u8], shown: usize) -> usize {
    let new = &said[shown..];
    let Some(end) = new.iter().rposition(|byte| *byte == b'\n') else {
        return shown;
    };
    print!("{}", String::from_utf8_lossy(&new[..=end]));
    shown + end + 1
}

/// Ends a child and the processes it started: cargo's own children are the tests.
fn end_with_children(child: &mut Child) {
    let below = descendants(child.id());
    let _ = child.kill();
    let _ = child.wait();
    for id in below {
        let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
    }
}

/// Processes below one, as the kernel lists them now.
fn descendants(root: u32) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // The name in brackets may hold anything; state and parent follow it.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            Some((id, parent.parse().ok()?))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            pairs
                .iter()
                .filter(|(_, above)| *above == parent)
                .map(|(id, _)| *id),
        );
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_is_said_on_both_ways_comes_in_order() {
        let (said, end) = run(&mut shell("echo a; echo b >&2; echo c; exit 3"), false, SILENCE);
        assert_eq!(said, "a\nb\nc\n");
        assert!(
            !end.is_success() && end.tell().contains("exit status: 3"),
            "{}",
            end.tell()
        );
    }

    #[test]
    fn a_child_that_hangs_is_ended_with_all_it_started() {
        let script = "sleep 1000 & echo $!; wait";
        // On a busy machine it may be ended before it has said anything.
        let said = loop {
            let (said, end) = run(&mut shell(script), false, Duration::from_secs(1));
            assert!(matches!(end, End::Hung(_)), "{}", end.tell());
            if !said.is_empty() {
                break said;
            }
        };
        let below = said.trim();
        let gone = || match std::fs::read_to_string(format!("/proc/{below}/stat")) {
            Ok(stat) => stat
                .rsplit_once(')')
                .is_some_and(|(_, rest)| rest.trim().starts_with('Z')),
            Err(_) => true,
        };
        let deadline = Instant::now() + Duration::from_mins(1);
        while !gone() {
            assert!(Instant::now() < deadline, "process {below} lives on");
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn an_end_is_seen_while_others_keep_the_output_open() {
        let (said, end) = run(&mut shell("sleep 600 & echo $!; exit 0"), false, SILENCE);
        assert!(end.is_success(), "{}", end.tell());
        let _ = Command::new("kill").arg(said.trim()).status();
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let (_, end) = run(&mut Command::new("/nowhere/to/be/found"), false, SILENCE);
        assert!(end.tell().starts_with("it did not start"), "{}", end.tell());
    }
}
