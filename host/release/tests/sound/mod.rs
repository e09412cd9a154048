//! What holds of every name that is read: for the tests, and for the fuzz target.

/// # Panics
/// When what is told of a name does not agree with itself.
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
