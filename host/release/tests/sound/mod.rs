//! Invariants of every parsed name, for the tests and the fuzz target.

/// # Panics
/// When fields of the result contradict each other.
pub fn assert_sound(name: &str) {
    let release = qm_release::parse(name);
    assert!(
        release
            .episode
            .is_none_or(|first| release.episodes.first() == Some(&first)),
        "{name}"
    );
    assert!(
        release
            .title
            .as_ref()
            .is_none_or(|title| !title.trim().is_empty()),
        "{name}"
    );
    assert!(release.confidence <= 100, "{name}");
    let decisions = qm_release::explain(name);
    assert!(
        decisions.iter().all(|decision| !decision.rule.is_empty()),
        "{name}"
    );
    let _ = (qm_release::identity(&release), qm_release::quick(name));
}
