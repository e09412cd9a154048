//! The cost of reading a hostile .torrent file: each file is read in a process of its own, whose peak memory is
//! measured.

use std::process::Command;
use std::time::Instant;

use qm_metainfo::{MAX_TORRENT_BYTES, Metainfo};

/// Names the file the child reads.
const CHILD: &str = "QM_HOSTILE_FILE";
/// Memory a file of `n` bytes may cost: four times its size, and what a process takes to begin with.
const FACTOR: usize = 4;
const FLOOR: usize = 4 << 20;

fn string(text: &str) -> String {
    format!("{}:{text}", text.len())
}

fn torrent(info: &str) -> Vec<u8> {
    format!("d8:announce3:urn4:infod{info}ee").into_bytes()
}

fn v2(tree: &str) -> Vec<u8> {
    torrent(&format!(
        "9:file treed{tree}e12:meta versioni2e4:name1:n12:piece lengthi16384e"
    ))
}

fn v1(files: &str) -> Vec<u8> {
    torrent(&format!(
        "5:filesl{files}e4:name1:n12:piece lengthi16384e6:pieces0:"
    ))
}

const LEAF: &str = "d0:d6:lengthi0eee";

/// `count` leaves `aaaa`, `aaab`, … in their order.
fn leaves(count: usize) -> String {
    (0..count).map(|n| format!("6:{n:06}{LEAF}")).collect()
}

/// A directory whose name takes half of `size`, above leaves that take the rest.
fn long_name(size: usize) -> Vec<u8> {
    let name = "n".repeat(size / 2);
    v2(&format!("{}d{}e", string(&name), leaves(size / 2 / 25)))
}

/// As much of it as fits into `size` bytes, with the longest path that is allowed above many leaves.
fn long_path(size: usize) -> Vec<u8> {
    let name = "n".repeat(4080);
    v2(&format!("{}d{}e", string(&name), leaves((size - 4200) / 25)))
}

fn filled(size: usize, one: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(size);
    for n in 0.. {
        let one = one(n);
        if text.len() + one.len() > size - 200 {
            break;
        }
        text.push_str(&one);
    }
    text
}

fn file(name: &str, size: usize) -> Vec<u8> {
    match name {
        "long_name" => long_name(size),
        "long_path" => long_path(size),
        "deep" => {
            let depth = 120;
            let inner = leaves((size - 1000) / 25);
            v2(&format!("{}{inner}{}", "1:ad".repeat(depth), "e".repeat(depth)))
        }
        "tiny_files" => v1(&filled(size, |n| {
            format!("d6:lengthi0e4:pathl{}ee", string(&format!("{n:x}")))
        })),
        "same_files" => v1(&filled(size, |_| "d6:lengthi0e4:pathl1:aee".into())),
        "many_names" => v1(&filled(size, |n| {
            format!(
                "d6:lengthi0e4:pathl{}{}ee",
                "1:a".repeat(2000),
                string(&n.to_string())
            )
        })),
        "huge_path" => v1(&format!(
            "d6:lengthi0e4:pathl{}ee",
            filled(size, |_| "1:a".into())
        )),
        "keys" => torrent(&filled(size, |n| format!("{}0:", string(&format!("{n:06x}"))))),
        "unsorted_keys" => torrent(&filled(size, |n| {
            format!("{}le", string(&format!("{:06x}", 0xff_ffff - n)))
        })),
        "trackers" => {
            let urls = filled(size, |n| format!("l{}e", string(&n.to_string())));
            format!("d13:announce-listl{urls}e4:infod6:lengthi0e4:name1:n12:piece lengthi1e6:pieces0:ee")
                .into_bytes()
        }
        "lists" => torrent(&format!(
            "1:a{}{}{}",
            "l".repeat(120),
            "le".repeat(size / 2 - 400),
            "e".repeat(120)
        )),
        other => panic!("no file is called {other}"),
    }
}

fn memory_kib(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with(field)).expect(field);
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .expect("a number")
}

/// The child's half: reads the file named in the environment and tells what it took.
#[test]
fn child() {
    let Ok(named) = std::env::var(CHILD) else { return };
    let (name, size) = named.split_once(' ').expect("a name and a size");
    let file = file(name, size.parse().expect("a size"));
    assert!(file.len() <= MAX_TORRENT_BYTES, "{}", file.len());
    // From here on the peak counts anew.
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own peak");
    let before = memory_kib("VmRSS:");
    let begun = Instant::now();
    let read = Metainfo::parse(&file);
    let took = begun.elapsed();
    let grown = memory_kib("VmHWM:").saturating_sub(before) * 1024;
    let outcome = read.map_or_else(|error| error.to_string(), |_| "read".into());
    println!("RESULT {} {grown} {} {outcome}", file.len(), took.as_millis());
}

#[test]
fn reading_costs_a_small_multiple_of_the_file() {
    let mut told = Vec::new();
    for (name, sizes) in [
        ("long_name", &[350_000, 650_000, 1_000_000, 20_000_000][..]),
        ("long_path", &[350_000, 1_000_000, 10_000_000]),
        ("deep", &[1_000_000, 10_000_000]),
        ("tiny_files", &[1_000_000, 8_000_000]),
        ("same_files", &[8_000_000]),
        ("many_names", &[8_000_000]),
        ("huge_path", &[10_000_000]),
        ("keys", &[20_000_000]),
        ("unsorted_keys", &[10_000_000]),
        ("trackers", &[10_000_000]),
        ("lists", &[8_000_000]),
    ] {
        for size in sizes {
            let child = Command::new(std::env::current_exe().expect("this test"))
                .args(["--exact", "child", "--nocapture"])
                .env(CHILD, format!("{name} {size}"))
                .output()
                .expect("a child");
            let said = String::from_utf8_lossy(&child.stdout);
            let result = said
                .lines()
                .find_map(|line| line.split_once("RESULT ").map(|(_, rest)| rest.to_owned()));
            let result = result.unwrap_or_else(|| panic!("{name} {size} ended its process: {child:?}"));
            let mut numbers = result.split(' ').map(|word| word.parse::<usize>().ok());
            let (len, grown) = (
                numbers.next().flatten().expect("a size"),
                numbers.next().flatten().expect("a peak"),
            );
            told.push(format!("{name}: {result}"));
            assert!(
                grown <= FACTOR * len + FLOOR,
                "{name} of {len} bytes took {grown} bytes of memory"
            );
        }
    }
    println!("{}", told.join("\n"));
}
