//! Embeds the templates of plugins into the program: the files of `files/`, and the contract from `wit/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"));
    let wit = here.join("../../wit");
    println!("cargo::rerun-if-changed=build.rs");
    let mut text = String::new();
    for (name, folder) in [("FILES", here.join("files")), ("WIT", wit)] {
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files);
        files.sort();
        writeln!(text, "const {name}: &[(&str, &str)] = &[").expect("text");
        for file in files {
            let inside = file.strip_prefix(&folder).expect("it lies inside");
            let inside = inside.to_str().expect("our names are text");
            let file = file.to_str().expect("a checkout lies where a name is text");
            writeln!(text, "    ({inside:?}, include_str!({file:?})),").expect("text");
        }
        text.push_str("];\n");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    std::fs::write(out.join("files.rs"), text).expect("cargo's own folder");
}

/// Every file below `folder`, following links.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let entry = entry.expect("a folder of the checkout");
        let kind = entry.file_type().expect("a file of the checkout");
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}
