//! Reads release names, one JSON string per line, and writes the parsed release of each as one line of JSON.
//!
//! A resolution or source missing in the name is filled with the assumed one; `--stated` leaves it out.
//! `--explain` writes the trace instead: each part of the name, its meaning, and the rule that decided.

use std::io::{BufRead, BufWriter, Error, Write, stdin, stdout};

fn main() -> Result<(), Error> {
    let has = |option: &str| std::env::args().any(|argument| argument == option);
    let (stated, explain) = (has("--stated"), has("--explain"));
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let name: String = serde_json::from_str(&line?)?;
        if explain {
            serde_json::to_writer(&mut out, &qm_release::explain(&name))?;
        } else {
            let mut release = qm_release::parse(&name);
            if !stated {
                release.resolution = release.resolution.or(release.assumed.resolution);
                release.source = release.source.or(release.assumed.source);
            }
            serde_json::to_writer(&mut out, &release)?;
        }
        writeln!(out)?;
    }
    out.flush()
}
