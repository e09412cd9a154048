//! Values for `GET /api/system/version`: the commit, its tag and time, and the compiler; also the hashes of the plugins that
//! are built together with it. Variables of the same names win, for builds from an archive; unknown values stay unset.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments));
    set("QM_GIT_SHA", || git(&["rev-parse", "HEAD"]));
    set("QM_GIT_TAG", || {
        git(&["describe", "--tags", "--exact-match", "HEAD"])
    });
    // The commit's time, not the clock's: the same source makes the same program.
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    set("QM_BUILD_EPOCH", || {
        std::env::var("SOURCE_DATE_EPOCH")
            .ok()
            .or_else(|| git(&["log", "-1", "--format=%ct"]))
    });
    set("QM_COMPILER", || {
        output(Command::new(std::env::var_os("RUSTC")?).arg("--version"))
    });

    first_party();

    // The commit changes with HEAD and with the branch it names.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// Hashes of the plugins that are built together with the server, one a line in the file that `QM_FIRST_PARTY` names. Without it
/// no plugin is taken for one of them: each has to be granted what it asks for.
fn first_party() {
    println!("cargo::rerun-if-env-changed=QM_FIRST_PARTY");
    let Some(path) = std::env::var_os("QM_FIRST_PARTY") else {
        return;
    };
    let path = Path::new(&path);
    println!("cargo::rerun-if-changed={}", path.display());
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let hashes: Vec<&str> = text.split_whitespace().collect();
            println!("cargo::rustc-env=QM_FIRST_PARTY_SHA256={}", hashes.join(","));
        }
        Err(error) => {
            println!(
                "cargo::error=QM_FIRST_PARTY names {}, which cannot be read: {error}",
                path.display()
            );
        }
    }
}

fn set(variable: &str, find: impl FnOnce() -> Option<String>) {
    println!("cargo::rerun-if-env-changed={variable}");
    if let Some(value) = std::env::var(variable).ok().or_else(find) {
        println!("cargo::rustc-env={variable}={value}");
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.trim();
    (output.status.success() && !line.is_empty() && !line.contains('\n')).then(|| line.to_owned())
}
