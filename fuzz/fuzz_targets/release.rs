//! Release names: no text may panic, the work is bounded by the length, and what is told agrees with itself.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|name: &str| {
    let release = qm_release::parse(name);
    assert!(release.episode.is_none_or(|first| release.episodes.first() == Some(&first)));
    assert!(release.title.as_ref().is_none_or(|title| !title.trim().is_empty()));
    assert!(release.confidence <= 100);
    assert!(qm_release::explain(name).iter().all(|decision| !decision.rule.is_empty()));
    let _ = (qm_release::identity(&release), qm_release::quick(name));
});
