//! Installs what a task needs and this machine lacks, or says exactly what to install.
//!
//! System packages come from the machine's own package manager, as root or through a sudo that asks no password.
//! Services the packages bring are not started: tests start their own, on ports of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{cargo, foreign, paths, suites};

/// Purpose of the set-up. Each includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Purpose {
    /// Build and start the server.
    Run,
    /// Run all tests, real torrent clients and both databases included.
    Test,
    /// Run the checks of `.ci/run` beside the tests.
    Ci,
    /// Measure.
    Bench,
}

/// Programs of the registry that `.ci/run` checks with.
const CI_TOOLS: &[&str] = &["cargo-deny", "cargo-machete"];

/// A system package, and how to see that it is there.
struct Package {
    name: &'static str,
    purpose: Purpose,
    present: fn() -> bool,
}

/// A C compiler: SQLite and ring are built from source.
const COMPILER: &str = "build-essential";

const PACKAGES: &[Package] = &[
    Package {
        name: COMPILER,
        purpose: Purpose::Run,
        present: || has("cc") && has("make"),
    },
    Package {
        name: "rustc-web",
        purpose: Purpose::Run,
        present: || wasm_target() || Path::new(DISTRIBUTION_RUSTC).exists(),
    },
    Package {
        name: "rust-web-src",
        purpose: Purpose::Run,
        present: || wasm_target() || distribution_std_source(),
    },
    // Looks into the files of media libraries.
    Package {
        name: "mediainfo",
        purpose: Purpose::Run,
        present: || has("mediainfo"),
    },
    Package {
        name: "rtorrent",
        purpose: Purpose::Test,
        present: || has("rtorrent"),
    },
    Package {
        name: "qbittorrent-nox",
        purpose: Purpose::Test,
        present: || has("qbittorrent-nox"),
    },
    Package {
        name: "transmission-daemon",
        purpose: Purpose::Test,
        present: || has("transmission-daemon"),
    },
    // Checks the packages of other releases, whose clients are unpacked.
    Package {
        name: "debian-archive-keyring",
        purpose: Purpose::Test,
        present: || Path::new(suites::KEYRING).exists(),
    },
    Package {
        name: "opentracker",
        purpose: Purpose::Test,
        present: || has("opentracker"),
    },
    Package {
        name: "nginx-light",
        purpose: Purpose::Test,
        present: || has("nginx"),
    },
    Package {
        name: "caddy",
        purpose: Purpose::Test,
        present: || has("caddy"),
    },
    Package {
        name: "postgresql",
        purpose: Purpose::Test,
        present: || postgres_bin().is_some(),
    },
    Package {
        name: "nodejs",
        purpose: Purpose::Test,
        present: || has("node"),
    },
    Package {
        name: "npm",
        purpose: Purpose::Test,
        present: || has("npm"),
    },
    // A file system in a file, to see one fail.
    Package {
        name: "e2fsprogs",
        purpose: Purpose::Test,
        present: || has("mkfs.ext4") || Path::new("/sbin/mkfs.ext4").exists(),
    },
    // A file system whose names have no case.
    Package {
        name: "ntfs-3g",
        purpose: Purpose::Test,
        present: || has("lowntfs-3g") && (has("mkntfs") || Path::new("/sbin/mkntfs").exists()),
    },
    // A browser that seeks in a stream, and a demuxer that reads one.
    Package {
        name: "chromium",
        purpose: Purpose::Test,
        present: || has("chromium"),
    },
    Package {
        name: "ffmpeg",
        purpose: Purpose::Test,
        present: || has("ffmpeg") && has("ffprobe"),
    },
    // What holds the server against its API document runs in an environment of its own.
    Package {
        name: "python3-venv",
        purpose: Purpose::Test,
        present: has_venv,
    },
    Package {
        name: "wrk",
        purpose: Purpose::Bench,
        present: || has("wrk"),
    },
];

/// Brings the machine up to `purpose`. Quick when nothing is missing.
pub fn run(purpose: Purpose) -> Result<(), String> {
    bring(|package| package.purpose <= purpose)?;
    if purpose >= Purpose::Test {
        suites::run()?;
        npm()?;
        python_environment(
            "schemathesis",
            &paths::root().join("tests/schemathesis/requirements.txt"),
        )?;
        python_environment("aiosmtpd", &paths::root().join("tests/smtp/requirements.txt"))?;
        foreign::setup()?;
    }
    if purpose >= Purpose::Ci {
        for tool in CI_TOOLS {
            if !has(tool) {
                cargo::run(&["install", tool, "--locked"])?;
            }
        }
    }
    Ok(())
}

/// Brings these packages and a C compiler onto the machine; with npm also the JavaScript clients, which it is there for.
pub fn packages(names: &[&str]) -> Result<(), String> {
    bring(|package| package.name == COMPILER || names.contains(&package.name))?;
    if names.contains(&"npm") {
        npm()?;
    }
    Ok(())
}

/// True when a package of this name is among those that can be installed.
#[cfg(test)]
pub fn knows(name: &str) -> bool {
    PACKAGES.iter().any(|package| package.name == name)
}

/// Installs the missing packages among the wanted ones, then checks that they are there.
fn bring(wanted: impl Fn(&Package) -> bool) -> Result<(), String> {
    let missing = |package: &&Package| wanted(package) && !(package.present)();
    let names: Vec<&str> = PACKAGES.iter().filter(missing).map(|p| p.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    install(&names)?;
    let still: Vec<&str> = PACKAGES.iter().filter(missing).map(|p| p.name).collect();
    if still.is_empty() {
        Ok(())
    } else {
        Err(format!("installed, but still not found: {}", still.join(", ")))
    }
}

/// The directory with `initdb` and `postgres`, newest version first.
pub fn postgres_bin() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse().ok()?,
                entry.path().join("bin"),
            ))
        })
        .filter(|(_, bin)| bin.join("initdb").exists())
        .collect();
    versions.sort();
    versions.pop().map(|(_, bin)| bin)
}

/// True when the active toolchain can build for wasm by itself; rustup is asked for the target if need be. Asked once: where
/// rustup cannot help, it takes its time to say so.
pub fn wasm_target() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| rustup_target("wasm32-unknown-unknown"))
}

/// True when the active toolchain can build for `target`; rustup is asked for it if need be.
pub fn rustup_target(target: &str) -> bool {
    let has_target =
        || sysroot("rustc").is_some_and(|root| root.join("lib/rustlib").join(target).join("lib").is_dir());
    if has_target() {
        return true;
    }
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    added.is_ok_and(|status| status.success()) && has_target()
}

/// The compiler of the distribution, which comes with the sources of its standard library.
pub const DISTRIBUTION_RUSTC: &str = "/usr/bin/rustc";

/// True when those sources are there.
pub fn distribution_std_source() -> bool {
    sysroot(DISTRIBUTION_RUSTC)
        .is_some_and(|root| root.join("lib/rustlib/src/rust/library/std/Cargo.toml").exists())
}

/// Folder in which a compiler keeps its libraries and tools.
pub fn sysroot(rustc: &str) -> Option<PathBuf> {
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn has(program: &str) -> bool {
    let cargo_bin = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo/bin").join(program));
    paths::find_program(program).is_some() || cargo_bin.is_some_and(|path| path.is_file())
}

fn install(packages: &[&str]) -> Result<(), String> {
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if !has("apt-get") {
        return Err(format!(
            "missing: {}. Install them with this machine's package manager (on Debian: {by_hand})",
            packages.join(", ")
        ));
    }
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|out| out.stdout.starts_with(b"0\n"));
    let sudo = !root
        && Command::new("sudo")
            .args(["-n", "true"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    if !root && !sudo {
        return Err(format!(
            "missing system packages. Install them, then call this again:\n  sudo {by_hand}"
        ));
    }
    let apt = |args: &[&str]| {
        let mut words = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"];
        if sudo {
            words.insert(0, "sudo");
        }
        words.extend_from_slice(args);
        command(words[0], &words[1..])
    };
    println!("installing {}", packages.join(" "));
    let _quiet = ServicesStayDown::new(sudo);
    apt(&["update"])?;
    let mut args = vec!["install", "-y", "--no-install-recommends"];
    args.extend_from_slice(packages);
    apt(&args).map_err(|error| format!("{error}. By hand: {by_hand}"))
}

/// While it lives, packages that bring a service install without starting it (Debian's own hook for that).
struct ServicesStayDown {
    sudo: bool,
}

const POLICY: &str = "/usr/sbin/policy-rc.d";

impl ServicesStayDown {
    fn new(sudo: bool) -> Option<Self> {
        if Path::new(POLICY).exists() {
            return None;
        }
        let script = format!("printf '#!/bin/sh\\nexit 101\\n' >{POLICY} && chmod 755 {POLICY}");
        shell(sudo, &script).then_some(Self { sudo })
    }
}

impl Drop for ServicesStayDown {
    fn drop(&mut self) {
        // Left behind it would only keep services from starting; nothing to do about it here.
        shell(self.sudo, &format!("rm -f {POLICY}"));
    }
}

fn shell(sudo: bool, script: &str) -> bool {
    let mut command = Command::new(if sudo { "sudo" } else { "sh" });
    if sudo {
        command.arg("sh");
    }
    let status = command.args(["-c", script]).status();
    status.is_ok_and(|status| status.success())
}

/// The JavaScript clients of the tests, as their lock file says.
fn npm() -> Result<(), String> {
    let dir = paths::root().join("tests/js");
    if !dir.join("package-lock.json").exists() || dir.join("node_modules/.package-lock.json").exists() {
        return Ok(());
    }
    command(
        "npm",
        &[
            "ci",
            "--prefix",
            &dir.to_string_lossy(),
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ],
    )
}

/// True when Python can make an environment with an installer in it: distributions ship that apart.
fn has_venv() -> bool {
    let status = Command::new("python3")
        .args(["-c", "import ensurepip, venv"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// A Python environment called `name` in the cache, as `requirements` pins it.
pub fn python_environment(name: &str, requirements: &Path) -> Result<(), String> {
    let home = paths::cache().join(name);
    let pinned = std::fs::read(requirements)
        .map_err(|error| format!("cannot read {}: {error}", requirements.display()))?;
    unless_made_of(&pinned, &home.join("requirements.txt"), || {
        println!("installing {name} into {}", home.display());
        command("python3", &["-m", "venv", "--clear", &home.to_string_lossy()])?;
        let pip = home.join("bin/pip");
        command(
            &pip.to_string_lossy(),
            &[
                "install",
                "--quiet",
                "--requirement",
                &requirements.to_string_lossy(),
            ],
        )
    })
}

/// Makes something, unless it was made of these very `inputs` before: the file `made_of` remembers them.
pub fn unless_made_of(
    inputs: &[u8],
    made_of: &Path,
    make: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    if std::fs::read(made_of).is_ok_and(|before| before == inputs) {
        return Ok(());
    }
    make()?;
    std::fs::write(made_of, inputs).map_err(|error| format!("cannot write {}: {error}", made_of.display()))
}

/// Runs a program to its end; its output is the user's.
pub fn command(program: &str, args: &[&str]) -> Result<(), String> {
    ended(
        program,
        args,
        Command::new(program).args(args).current_dir(paths::root()),
    )
}

/// Runs a command to its end. `program` and `args` are how it is called where that fails.
pub fn ended(program: &str, args: &[&str], command: &mut Command) -> Result<(), String> {
    let shown = format!("{program} {}", args.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` did not start: {error}")),
    }
}
