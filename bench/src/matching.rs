//! Preference lists: items × rules that one core judges per second, as in a poll of a feed.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use qm_matching::{
    Candidate, Compiled, FeedScope, MatchType, Prepared, QualityRules, Sample, SizeRules, evaluate, matches,
};
use serde_json::Value;

use crate::report::{Report, median};
use crate::server::cpu_seconds;

/// Our own names in every known convention.
const NAMES: &str = include_str!("../../host/release/corpus/names.jsonl");

const FEEDS: usize = 200;
const ITEMS: usize = 100;
const RULES: usize = 50;
const RUNS: usize = 9;
/// Number of passes over all items per run.
const ROUNDS: usize = 5;

/// Five candidates, as users write them for a show: its title, or another, in falling quality.
fn rule(number: usize) -> Compiled {
    let show = format!("Harbor {number}");
    let candidate = |order: i64, match_type, pattern: String, resolution: Option<&str>| Candidate {
        id: format!("{number}-{order}"),
        priority_order: order,
        name: format!("candidate {order}"),
        description: None,
        enabled: true,
        match_type,
        pattern: Some(pattern),
        required_terms: Vec::new(),
        excluded_terms: vec!["hdcam".to_owned(), "hardsub".to_owned()],
        quality_rules: QualityRules {
            resolution: resolution.map(str::to_owned),
            ..QualityRules::default()
        },
        size_rules: SizeRules {
            min_bytes: None,
            max_bytes: Some(8_000_000_000),
        },
        feed_scope: FeedScope::default(),
        exclude_regex: None,
    };
    Compiled::new(vec![
        candidate(1, MatchType::SmartEpisodeMatch, show.clone(), Some("2160p")),
        candidate(2, MatchType::SmartEpisodeMatch, show.clone(), Some("1080p")),
        candidate(
            3,
            MatchType::Regex,
            format!(r"^{}\W+s\d+e\d+.*720p", show.replace(' ', r"\W+")),
            None,
        ),
        candidate(4, MatchType::ContainsText, format!("{show} 720p web"), None),
        candidate(5, MatchType::FuzzyMatch, format!("{show} complete series"), None),
    ])
}

/// Every tenth name belongs to one of the shows; the others cover every convention.
fn titles() -> Vec<String> {
    let mut names = NAMES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("the corpus is JSON lines"))
        .map(|case| case["name"].as_str().unwrap_or_default().to_owned())
        .cycle();
    (0..ITEMS)
        .map(|at| {
            let mut title = names.next().unwrap_or_default();
            if at.is_multiple_of(10) {
                title.clear();
                let _ = write!(title, "Harbor.{}.S02E{at:02}.1080p.WEB.h264-TIDE", at % RULES);
            }
            title
        })
        .collect()
}

/// Items × rules per second; names are prepared and parsed anew each time, as in a feed.
fn each(titles: &[String], rules: &[Compiled], judge: impl Fn(&Compiled, &Prepared<'_>) -> bool) -> f64 {
    let runs = (0..RUNS).map(|_| {
        let begun = Instant::now();
        for title in titles.iter().cycle().take(titles.len() * ROUNDS) {
            let name = Prepared::new(Sample {
                title: black_box(title),
                size: Some(2_000_000_000),
                feed_id: Some("feed"),
            });
            for rule in rules {
                black_box(judge(black_box(rule), &name));
            }
        }
        (titles.len() * rules.len() * ROUNDS) as f64 / begun.elapsed().as_secs_f64()
    });
    median(runs.collect())
}

/// A feed document with these titles.
fn document(feed: usize, titles: &[String]) -> String {
    let mut text = format!("<rss version=\"2.0\"><channel><title>Feed {feed}</title>");
    for (at, title) in titles.iter().enumerate() {
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(
            text,
            "<item><guid>{feed}-{at}</guid><title>{title}</title><link>https://feeds.test/{feed}/{at}.torrent</link>\
             <enclosure url=\"https://feeds.test/{feed}/{at}.torrent\" length=\"2000000000\"/></item>"
        );
    }
    text.push_str("</channel></rss>");
    text
}

/// A round of all feeds on one core: documents are parsed, and every item is judged by every rule with its
/// trace.
fn round(report: &mut Report, titles: &[String], rules: &[Compiled]) {
    let documents: Vec<String> = (0..FEEDS).map(|feed| document(feed, titles)).collect();
    let used = cpu_seconds(std::process::id());
    let begun = Instant::now();
    let mut items = 0_usize;
    for (feed, document) in documents.iter().enumerate() {
        let feed = feed.to_string();
        let read = qm_feeds::read(black_box(document.as_bytes()), None).expect("a feed");
        for item in &read.items {
            let name = Prepared::new(Sample {
                title: &item.title,
                size: item.size,
                feed_id: Some(&feed),
            });
            items += 1;
            for rule in rules {
                black_box(evaluate(black_box(rule), &name).matched);
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let used = cpu_seconds(std::process::id()) - used;
    let judged = items * rules.len();
    report.add(
        format!("{FEEDS} feeds × {ITEMS} items read and judged by {RULES} rules × 5 candidates, one core"),
        format!(
            "{seconds:.1} s, {used:.1} s CPU: {:.0} items/s, {:.0} items × rules/s",
            items as f64 / seconds,
            judged as f64 / seconds
        ),
        ">= 20,000 items × rules/s",
    );
}

pub fn measure(report: &mut Report) {
    let titles = titles();
    let rules: Vec<Compiled> = (0..RULES).map(rule).collect();
    let silent = each(&titles, &rules, |rule, name| matches(rule, name).is_some());
    let traced = each(&titles, &rules, |rule, name| evaluate(rule, name).matched);
    report.add(
        format!("items × rules judged, {ITEMS} items × {RULES} rules × 5 candidates, one core"),
        format!("{silent:.0}/s, {traced:.0}/s with every trace kept"),
        ">= 20,000/s",
    );
    round(report, &titles, &rules);
}
