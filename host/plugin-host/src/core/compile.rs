//! Machine code out of components. Compiling a stranger's file can take any time and memory, so a process of its own does
//! it, which may use little of both and nothing else: no environment, no descriptors, a lower priority, and the first
//! to go when memory is short. It also takes what compiling leaves behind out of the server.
//!
//! The parent writes a line of JSON ([`Order`]) and the component to the child's standard input and keeps it open: when it
//! closes, the parent is gone and the child ends. The child writes the code to the file it was told, and says in one line on
//! standard error why it did not.
//!
//! Bounds ([`Limits`]): 1 GiB of memory, 2 minutes of computing time, 5 minutes in all, 512 MiB of code.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead as _, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::voice::one_line;
use rustix::process::{Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use wasmtime::Engine;

use crate::core::blocking::COMPILING;
use crate::core::load::reason;
use crate::core::runtime;

/// Compiler of plugins: this process, or a child.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// This process, without a limit: for tools that look at one file somebody trusts, and for tests.
    InProcess,
    /// A program that calls [`compile_for_parent`], as `quartermaster plugin compile` does.
    Child { program: PathBuf, args: Vec<OsString> },
}

impl Compiler {
    /// The program that runs, with these arguments; also when its file has been replaced by a newer one since.
    pub fn myself<I: Into<OsString>>(args: impl IntoIterator<Item = I>) -> std::io::Result<Self> {
        let link = Path::new("/proc/self/exe");
        let program = if link.exists() {
            link.to_owned()
        } else {
            std::env::current_exe()?
        };
        Ok(Self::Child {
            program,
            args: args.into_iter().map(Into::into).collect(),
        })
    }
}

/// The reason why there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A failure that would come again.
    Lasting(String),
    /// The machine's, not the component's.
    Passing(String),
}

/// The order of the parent to a compiling child.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Order {
    /// The parent's address space, in bytes: the settings of the code follow from it.
    address_space: u64,
    length: u64,
    code: PathBuf,
    memory_bytes: u64,
    cpu_seconds: u64,
    code_bytes: u64,
}

/// Threads of one compiler. Memory in use grows with them, so they don't follow the machine.
const THREADS: &str = "2";
/// The child's exit code when the component is at fault.
const REFUSED: i32 = 10;
/// The child's exit code when the machine is.
const UNABLE: i32 = 11;
/// The child's exit code when its parent is gone.
const ORPHANED: i32 = 12;
/// Niceness of the child above that of the server.
const NICER: i32 = 5;
/// Seconds between the polite and the hard end of computing time.
const GRACE: u64 = 5;
/// The most that is read of what the child says.
const SAID: u64 = 16 << 10;

impl Compiler {
    /// Writes the machine code of `bytes` into the empty file `code`.
    pub(crate) async fn compile(
        &self,
        engine: &Engine,
        bytes: Vec<u8>,
        code: &Path,
        limits: &Limits,
    ) -> Result<(), Failure> {
        match self {
            Compiler::InProcess => {
                let (engine, code) = (engine.clone(), code.to_owned());
                let done = COMPILING
                    .run_for(None, move |_| translate(&engine, &bytes, &code))
                    .await;
                done.unwrap_or_else(|error| Err(Failure::Passing(error.to_string())))
            }
            Compiler::Child { program, args } => {
                let passing = |error: std::io::Error| {
                    Failure::Passing(format!("the compiler cannot be started: {error}"))
                };
                let order = Order {
                    address_space: runtime::address_space(),
                    length: bytes.len() as u64,
                    // The child works in another directory.
                    code: std::path::absolute(code).map_err(passing)?,
                    memory_bytes: limits.compile_memory_bytes,
                    cpu_seconds: limits.compile_cpu.as_secs().max(1),
                    code_bytes: limits.code_bytes,
                };
                let mut command = Command::new(program);
                command
                    .args(args)
                    .env_clear()
                    .env("RAYON_NUM_THREADS", THREADS)
                    .current_dir("/")
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .kill_on_drop(true);
                let mut child = command.spawn().map_err(passing)?;
                let ended =
                    tokio::time::timeout(limits.compile_total, attend(&mut child, &order, &bytes)).await;
                match ended {
                    Ok(Ok((status, said))) => verdict(status, &said, limits),
                    Ok(Err(error)) => Err(Failure::Passing(format!("the compiler was lost: {error}"))),
                    Err(_) => Err(Failure::Passing(format!(
                        "it was not compiled within {} s",
                        limits.compile_total.as_secs()
                    ))),
                }
            }
        }
    }
}

/// Gives the child its work and waits for its end.
async fn attend(child: &mut Child, order: &Order, bytes: &[u8]) -> std::io::Result<(ExitStatus, String)> {
    // Taken, because waiting would close what is left in the child.
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    if let Some(mut stdin) = stdin {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        // A child that ended before it read everything has said why.
        let _ = async {
            stdin.write_all(&line).await?;
            stdin.write_all(bytes).await?;
            stdin.flush().await
        }
        .await;
        let mut said = Vec::new();
        if let Some(stderr) = stderr {
            stderr.take(SAID).read_to_end(&mut said).await?;
        }
        let status = child.wait().await?;
        drop(stdin);
        return Ok((status, String::from_utf8_lossy(&said).into_owned()));
    }
    Ok((child.wait().await?, String::new()))
}

/// Meaning of the child's end.
fn verdict(status: ExitStatus, said: &str, limits: &Limits) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    let lasting = |why: String| Err(Failure::Lasting(why));
    let memory = || {
        format!(
            "compiling it takes more than {} MiB of memory",
            limits.compile_memory_bytes >> 20
        )
    };
    if status.code() == Some(REFUSED) {
        return lasting(one_line(said, 600));
    }
    if said.contains("memory allocation of") {
        return lasting(memory());
    }
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::XCPU) => lasting(format!(
            "compiling it takes more than {} of computing time",
            seconds(limits.compile_cpu)
        )),
        Some(Signal::XFSZ) => lasting(format!(
            "its machine code is larger than {} MiB",
            limits.code_bytes >> 20
        )),
        Some(Signal::KILL) => lasting(format!(
            "the system ended its compiler, for want of memory or because {}",
            memory()
        )),
        Some(Signal::ABORT | Signal::SEGV | Signal::BUS | Signal::ILL) => {
            lasting(format!("the compiler breaks on it ({status})"))
        }
        _ => Err(Failure::Passing(format!(
            "the compiler failed ({status}): {}",
            one_line(said, 300)
        ))),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// Compiles and writes.
fn translate(engine: &Engine, bytes: &[u8], code: &Path) -> Result<(), Failure> {
    let compiled = engine
        .precompile_component(bytes)
        .map_err(|error| Failure::Lasting(reason(&error)))?;
    let failed =
        |error: std::io::Error| Failure::Passing(format!("its machine code cannot be written: {error}"));
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(code)
        .map_err(failed)?;
    file.write_all(&compiled).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// The whole life of a compiling child, to be called first thing in a process that does nothing else; see
/// [`Compiler::Child`]. Takes its order from standard input and ends the process.
pub fn compile_for_parent() -> ! {
    let (code, why) = match carry_out() {
        Ok(()) => std::process::exit(0),
        Err(Failure::Lasting(why)) => (REFUSED, why),
        Err(Failure::Passing(why)) => (UNABLE, why),
    };
    // Not `eprintln!`: a test harness would keep it for itself.
    let _ = writeln!(std::io::stderr(), "{why}");
    std::process::exit(code)
}

fn carry_out() -> Result<(), Failure> {
    let (order, bytes) =
        take_order().map_err(|error| Failure::Passing(format!("the order makes no sense: {error}")))?;
    let engine = Engine::new(&runtime::config(order.address_space))
        .map_err(|error| Failure::Passing(reason(&error)))?;
    confine(&order).map_err(|error| Failure::Passing(format!("the limits cannot be set: {error}")))?;
    std::thread::spawn(|| {
        // Nothing more comes: this ends when the parent closes its side, dead or alive.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(ORPHANED)
    });
    translate(&engine, &bytes, &order.code)
}

fn take_order() -> std::io::Result<(Order, Vec<u8>)> {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    (&mut input).take(SAID).read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let mut bytes = Vec::new();
    (&mut input).take(order.length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == order.length {
        Ok((order, bytes))
    } else {
        Err(std::io::ErrorKind::UnexpectedEof.into())
    }
}

/// Gives up what a compiler does not need. Memory is limited as what the process may write (`RLIMIT_DATA`): the address
/// space alone says little, because every thread's heap reserves some it never uses.
fn confine(order: &Order) -> rustix::io::Result<()> {
    let limit = |resource, soft: u64, hard: u64| {
        let now = rustix::process::getrlimit(resource);
        let under = |wanted: u64| now.maximum.map_or(wanted, |most| most.min(wanted));
        let limits = Rlimit {
            current: Some(under(soft)),
            maximum: Some(under(hard)),
        };
        rustix::process::setrlimit(resource, limits)
    };
    limit(Resource::Core, 0, 0)?;
    limit(Resource::Data, order.memory_bytes, order.memory_bytes)?;
    limit(Resource::Fsize, order.code_bytes, order.code_bytes)?;
    limit(Resource::Cpu, order.cpu_seconds, order.cpu_seconds + GRACE)?;
    // Both are courtesies that a system may refuse.
    let _ = rustix::process::nice(NICER);
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}
