//! Cargo as its user would start it.

use std::ffi::OsString;
use std::process::Command;

use crate::{paths, setup};

/// Cargo, without what the cargo that runs us has told of *our* package: build scripts that ask for such a variable (ring's
/// does) would run again, and all that stands on them would be compiled anew, whenever cargo is started from here after it
/// was started from a shell.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_a_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs cargo to its end; its output is the user's.
pub fn run(args: &[&str]) -> Result<(), String> {
    setup::ended("cargo", args, cargo().args(args).current_dir(paths::root()))
}

fn is_of_a_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_told_nothing_of_this_package() {
        assert!(
            std::env::var_os("CARGO_PKG_NAME").is_some(),
            "cargo tells its tests"
        );
        let cargo = cargo();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).collect();
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION_PRE", "CARGO_MANIFEST_DIR"] {
            assert!(removed.iter().any(|(removed, _)| *removed == name), "{name}");
        }
        assert!(!is_of_a_package("CARGO_TARGET_DIR") && !is_of_a_package("CARGO_HOME"));
    }
}
