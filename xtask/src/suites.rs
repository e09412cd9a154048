//! Roots of other Debian releases, with the torrent clients they bring: `<cache>/suites/<release>`.
//!
//! Made of packages that apt selects, checks and downloads with lists and caches of its own, and that are only unpacked:
//! nothing of them is installed or run as root, so it takes no root either. The mirror, and whatever proxy or login it
//! needs, are those of this machine's apt. A root is made under a temporary name, tried, then renamed: an interrupted one
//! is never taken for a whole one. About 130 MiB and ten seconds each.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use qm_generations::{Generation, Product, Suite, suites};

use crate::paths;

/// Signs every release; the package `debian-archive-keyring` has it.
pub const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Name of the file that holds the recipe of a root. With another recipe the root is built again.
const STAMP: &str = "made-of";
/// Parts of the packages that no client needs.
const LEFT_OUT: [&str; 6] = [
    "./etc",
    "./var",
    "./usr/share",
    "./usr/sbin",
    "./usr/libexec",
    "./usr/include",
];
/// A mirror to use instead of those that apt is set up with.
const MIRROR: &str = "QM_DEBIAN_MIRROR";

/// Makes the roots that are missing, of every release but this machine's own. Quick when all are there.
pub fn run() -> Result<(), String> {
    let missing: Vec<Suite> = Suite::ALL
        .into_iter()
        .filter(|suite| !suite.is_this_machine() && !is_made(*suite))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    for program in ["apt-get", "dpkg-deb"] {
        if paths::find_program(program).is_none() {
            return Err(format!(
                "`{program}` is missing: the tests drive the torrent clients of Debian {}, which are unpacked with it. \
                 On a machine without apt run them in a container of Debian",
                missing
                    .iter()
                    .map(|suite| suite.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
    }
    let directory = suites();
    std::fs::create_dir_all(&directory).map_err(|error| cannot("make", &directory, &error))?;
    // Two that are called at once wait for each other, and what one finds half made was left behind.
    let lock = directory.join(".lock");
    let lock = File::create(&lock).map_err(|error| cannot("make", &lock, &error))?;
    lock.lock()
        .map_err(|error| format!("cannot lock the roots: {error}"))?;
    for suite in missing.into_iter().filter(|suite| !is_made(*suite)) {
        println!("unpacking the torrent clients of Debian {}", suite.name());
        make(suite).map_err(|error| format!("no torrent clients of Debian {}: {error}", suite.name()))?;
    }
    Ok(())
}

fn products(suite: Suite) -> Vec<Product> {
    let recorded = Generation::recorded().into_iter();
    recorded
        .filter(|generation| generation.suite == suite)
        .map(|generation| generation.product)
        .collect()
}

/// Recipe of a root: its version, and the programs in it.
fn recipe(suite: Suite) -> String {
    let programs: Vec<&str> = products(suite).into_iter().map(Product::program).collect();
    format!("1 {}\n", programs.join(" "))
}

fn is_made(suite: Suite) -> bool {
    std::fs::read_to_string(suite.root().join(STAMP)).is_ok_and(|made_of| made_of == recipe(suite))
}

fn make(suite: Suite) -> Result<(), String> {
    let root = suite.root();
    let new = root.with_extension("new");
    remove(&new)?;
    let unpacked = new.join("root");
    std::fs::create_dir_all(&unpacked).map_err(|error| cannot("make", &unpacked, &error))?;
    download(suite, &new)?;
    for package in packages(&new.join("cache/archives"))? {
        unpack(&package, &unpacked)?;
    }
    keep_programs(&unpacked, &products(suite))?;
    for product in products(suite) {
        // A library that is missing shows here and not in a test.
        let version = qm_generations::version(product, Some(&unpacked))?;
        println!("{} {version} of {}", product.name(), suite.name());
    }
    let stamp = unpacked.join(STAMP);
    std::fs::write(&stamp, recipe(suite)).map_err(|error| cannot("write", &stamp, &error))?;
    remove(&root)?;
    std::fs::rename(&unpacked, &root).map_err(|error| cannot("make", &root, &error))?;
    remove(&new)
}

/// Has apt download the clients and all they depend on, from the first mirror that has the release.
fn download(suite: Suite, new: &Path) -> Result<(), String> {
    for part in ["state/lists/partial", "cache/archives/partial"] {
        let part = new.join(part);
        std::fs::create_dir_all(&part).map_err(|error| cannot("make", &part, &error))?;
    }
    let written = |name: &str, text: &str| {
        let file = new.join(name);
        std::fs::write(&file, text).map_err(|error| cannot("write", &file, &error))
    };
    // Nothing is installed in there. What a machine does after an update or an installation is not asked for.
    written("state/status", "")?;
    written(
        "apt.conf",
        "#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n#clear DPkg::Post-Invoke;\n\
         #clear DPkg::Pre-Install-Pkgs;\n",
    )?;
    let mut failures = Vec::new();
    for mirror in mirrors(new)? {
        let source = format!(
            "deb [target=Packages arch={} signed-by={KEYRING}] {mirror} {} main\n",
            architecture()?,
            suite.name()
        );
        written("sources.list", &source)?;
        match apt(new, &["update", "--error-on=any"]) {
            Ok(_) => {
                let mut words = vec!["install", "-y", "--download-only", "--no-install-recommends"];
                words.extend(products(suite).into_iter().map(Product::program));
                return apt(new, &words).map(drop);
            }
            Err(error) => failures.push(error),
        }
    }
    failures.push(format!(
        "no mirror of this machine's apt has it; {MIRROR}=<address> names another"
    ));
    Err(failures.join("\n"))
}

/// Mirrors from which this machine's apt gets Debian, in its order. Nothing is downloaded for this.
fn mirrors(new: &Path) -> Result<Vec<String>, String> {
    if let Some(mirror) = std::env::var(MIRROR).ok().filter(|mirror| !mirror.is_empty()) {
        return Ok(vec![mirror]);
    }
    let state = format!("Dir::State={}", new.join("state").display());
    let output = Command::new("apt-get")
        .args(["-o", &state, "update", "--print-uris"])
        .output()
        .map_err(|error| format!("apt-get did not start: {error}"))?;
    Ok(archives(&String::from_utf8_lossy(&output.stdout)))
}

/// The archives in `'<archive>/dists/<suite>/InRelease' …` lines, once each, those of security updates left out.
fn archives(uris: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in uris.lines() {
        let Some(uri) = line.strip_prefix('\'').and_then(|rest| rest.split('\'').next()) else {
            continue;
        };
        if let Some((archive, rest)) = uri.split_once("/dists/")
            && !rest.split('/').next().unwrap_or_default().ends_with("-security")
            && !found.iter().any(|known| known == archive)
        {
            found.push(archive.to_owned());
        }
    }
    found
}

fn architecture() -> Result<String, String> {
    let output = Command::new("dpkg")
        .arg("--print-architecture")
        .output()
        .map_err(|error| format!("dpkg did not start: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// This machine's apt with other sources, lists, caches, and a status in which nothing is installed.
fn apt(new: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new("apt-get");
    command.args(["-q", "-c"]).arg(new.join("apt.conf"));
    for (option, place) in [
        ("Dir::State", "state"),
        ("Dir::State::status", "state/status"),
        ("Dir::Cache", "cache"),
        ("Dir::Etc::SourceList", "sources.list"),
    ] {
        command.args(["-o", &format!("{option}={}", new.join(place).display())]);
    }
    for option in [
        "Dir::Etc::SourceParts=/dev/null",
        "Dir::Etc::Preferences=/dev/null",
        "Dir::Etc::PreferencesParts=/dev/null",
        "Acquire::Languages=none",
        "Acquire::Retries=3",
        // As root apt would download as a user who cannot write here.
        "APT::Sandbox::User=root",
        // Nothing of the machine's is changed, so nobody needs to be kept out.
        "Debug::NoLocking=1",
    ] {
        command.args(["-o", option]);
    }
    captured(command.args(words).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn packages(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| cannot("read", directory, &error))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    found.sort();
    Ok(found)
}

/// Unpacks the files of a package, none of them with the rights of somebody else.
fn unpack(package: &Path, root: &Path) -> Result<(), String> {
    let name = package.display();
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("dpkg-deb did not start: {error}"))?;
    let archive = reader.stdout.take().ok_or("dpkg-deb has no output")?;
    let mut tar = Command::new("tar");
    tar.args([
        "-x",
        "--no-same-owner",
        "--no-same-permissions",
        "--keep-directory-symlink",
        "-C",
    ])
    .arg(root)
    .args(LEFT_OUT.map(|part| format!("--exclude={part}")))
    .stdin(Stdio::from(archive));
    captured(&mut tar).map_err(|error| format!("{name} does not unpack: {error}"))?;
    let status = reader
        .wait()
        .map_err(|error| format!("dpkg-deb was lost: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{name} does not unpack: dpkg-deb ended with {status}"))
    }
}

/// Removes all programs but the clients.
fn keep_programs(root: &Path, products: &[Product]) -> Result<(), String> {
    let directory = root.join("usr/bin");
    let entries = std::fs::read_dir(&directory).map_err(|error| cannot("read", &directory, &error))?;
    for file in entries.flatten() {
        let wanted = products
            .iter()
            .any(|product| file.file_name().to_str() == Some(product.program()));
        if !wanted {
            std::fs::remove_file(file.path()).map_err(|error| cannot("remove", &file.path(), &error))?;
        }
    }
    Ok(())
}

fn captured(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{program} did not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`{program}` ended with {}: {}",
        output.status,
        said.trim()
    ))
}

fn remove(directory: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("remove", directory, &error))
        }
        _ => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::archives;

    #[test]
    fn mirrors_are_those_of_apt() {
        let uris = "'http://one.test/debian/dists/bookworm/InRelease' one 0 \n\
                    'http://one.test/debian/dists/bookworm-updates/InRelease' one 0 \n\
                    'http://one.test/debian-security/dists/bookworm-security/InRelease' one 0 \n\
                    'https://two.test/x/dists/stable/InRelease' two 0 \n\
                    'http://one.test/debian/dists/bookworm/main/binary-amd64/Packages.xz' one 0 \n\
                    W: something else\n";
        assert_eq!(archives(uris), ["http://one.test/debian", "https://two.test/x"]);
    }
}
