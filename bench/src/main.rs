//! `cargo xtask bench`: speed and memory of the release server, against real torrent clients full of stopped torrents.
//!
//! Prints one table; a figure is the median of its runs, and says what else ran. Nothing here asserts: a figure that
//! misses its target is shown as such, and judging it is a person's work.

mod accounts;
mod audit;
mod clients;
mod compare;
mod duplicates;
mod events;
mod fanout;
mod files;
mod filters;
mod fleet;
mod flood;
mod hostile;
mod http_load;
mod idle;
mod jobs;
mod languages;
mod library;
mod matching;
mod neighbours;
mod plugin_host;
mod poll;
mod posters;
mod releases;
mod report;
mod rules;
mod server;
mod start;
mod titles;

use clap::Parser;

use report::Report;

/// Measurements to run, and their duration.
#[derive(Parser)]
#[command(name = "qm-bench", about = "Measures a release build of the server")]
struct Args {
    /// Measure only these (default: all).
    #[arg(value_enum)]
    only: Vec<Measure>,
    /// Seconds of each idle measurement.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Divisor of the generated data, to test the measurements themselves.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    smaller: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Measure {
    /// From process start to the first 200, plugins compiled before.
    Start,
    /// CPU and memory with idle torrents, both engine kinds; the list's speed at 5,000.
    Idle,
    /// A poll of 10,000 torrents through the component against the same code native.
    Poll,
    /// Ticks and lists of a healthy engine beside each kind of broken one.
    Neighbours,
    /// Ticks and lists of a healthy engine beside one whose list grows without end, and what that costs.
    Flood,
    /// The same beside each attack a plugin can make on its host, with the memory it costs.
    Hostile,
    /// Logins and their memory; who am I.
    Accounts,
    /// The audit list at 1,000,000 rows, on both databases.
    Audit,
    /// 10,000 tiny jobs, by two workers on one database of each kind.
    Jobs,
    /// Events through the outbox, on both databases: how many a second, and how long each takes.
    Events,
    /// Conditions of 20 rules over 5,000 torrents, and what rules that have nothing to do cost an idle server.
    Rules,
    /// Pages of 30,000 torrents chosen by a filter with groups.
    Filters,
    /// One event that concerns 1,000 people, on both databases: until they have it, and until its messages went out.
    Fanout,
    /// A plugin in Rust, Python and JavaScript: compiling it, its first call after a start, further calls, its memory.
    Languages,
    /// Reading release names.
    Release,
    /// 100 items of a feed against 50 rules of 5 candidates, and 200 such feeds read and judged.
    Rss,
    /// A listing of 100,000 entries, the stream of 1 GiB, the preview of deleting 200,000 files.
    Files,
    /// Scans of 100,000 files in 2,000 shows and 5,000 films, on both databases, and pages and searches of what they found.
    Library,
    /// Duplicates among 100,000 items, on both databases.
    Duplicates,
    /// Posters of 1,000 films, listed and served in a size.
    Posters,
    /// The data set of titles, on both databases: 13,000,000 rows imported, and searched.
    Titles,
    /// 500 WebSocket clients while 500 of 5,000 torrents change each tick.
    Fleet,
    /// This server against an earlier one (`QM_BASELINE`, its plugins in `QM_BASELINE_PLUGINS`), by turns: only when named.
    Compare,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let wanted = |measure| args.only.is_empty() || args.only.contains(&measure);
    let mut report = Report::default();
    if wanted(Measure::Start) {
        start::measure(&mut report).await;
    }
    if wanted(Measure::Accounts) {
        accounts::measure(&mut report).await;
    }
    if wanted(Measure::Audit) {
        audit::measure(&mut report).await;
    }
    if wanted(Measure::Jobs) {
        jobs::measure(&mut report).await;
    }
    if wanted(Measure::Events) {
        events::measure(&mut report).await;
    }
    if wanted(Measure::Rules) {
        rules::measure(&mut report, args.seconds).await;
    }
    if wanted(Measure::Filters) {
        filters::measure(&mut report).await;
    }
    if wanted(Measure::Fanout) {
        fanout::measure(&mut report).await;
    }
    if wanted(Measure::Languages) {
        languages::measure(&mut report).await;
    }
    if wanted(Measure::Release) {
        releases::measure(&mut report);
    }
    if wanted(Measure::Rss) {
        matching::measure(&mut report);
    }
    if wanted(Measure::Files) {
        files::measure(&mut report).await;
    }
    if wanted(Measure::Library) {
        library::measure(&mut report, args.smaller as usize).await;
    }
    if wanted(Measure::Duplicates) {
        duplicates::measure(&mut report, args.smaller as usize).await;
    }
    if wanted(Measure::Posters) {
        posters::measure(&mut report, args.smaller as usize).await;
    }
    if wanted(Measure::Titles) {
        titles::measure(&mut report, args.smaller).await;
    }
    if wanted(Measure::Poll) {
        poll::measure(&mut report).await;
    }
    if wanted(Measure::Fleet) {
        fleet::measure(&mut report, args.seconds).await;
    }
    if wanted(Measure::Neighbours) {
        neighbours::measure(&mut report).await;
    }
    if wanted(Measure::Flood) {
        flood::measure(&mut report).await;
    }
    if wanted(Measure::Hostile) {
        hostile::measure(&mut report).await;
    }
    if wanted(Measure::Idle) {
        idle::measure(&mut report, args.seconds).await;
    }
    if args.only.contains(&Measure::Compare) {
        compare::measure(&mut report).await;
    }
    println!("\n{report}");
}
