//! Benchmark: names parsed per second on one core, over the stored corpus for three seconds.

use std::time::{Duration, Instant};

fn main() -> Result<(), serde_json::Error> {
    let names = include_str!("../corpus/names.jsonl")
        .lines()
        .map(serde_json::from_str::<serde_json::Value>)
        .map(|case| case.map(|case| case["name"].as_str().unwrap_or_default().to_owned()))
        .collect::<Result<Vec<String>, _>>()?;
    let (begin, mut read, mut known) = (Instant::now(), 0_u64, 0_u64);
    while begin.elapsed() < Duration::from_secs(3) {
        for name in &names {
            known += u64::from(qm_release::parse(name).confidence > 50);
        }
        read += names.len() as u64;
    }
    let per_second = read as f64 / begin.elapsed().as_secs_f64();
    println!("{per_second:.0} names/s ({read} read, {known} of them well)");
    Ok(())
}
