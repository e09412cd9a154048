//! Extras of a film or a show: trailers, samples, featurettes, recognised by the folder or the end of the name.

use qm_titles::normalise;

/// Names of folders, [`normalise`]d, with the type of extras in them.
const FOLDERS: &[(&str, &str)] = &[
    ("extra", "extra"),
    ("extras", "extra"),
    ("bonus", "extra"),
    ("bonuses", "extra"),
    ("bonus features", "extra"),
    ("special features", "extra"),
    ("featurette", "featurette"),
    ("featurettes", "featurette"),
    ("behind the scene", "behind_the_scenes"),
    ("behind the scenes", "behind_the_scenes"),
    ("behindthescenes", "behind_the_scenes"),
    ("making of", "behind_the_scenes"),
    ("deleted scene", "deleted_scene"),
    ("deleted scenes", "deleted_scene"),
    ("deletedscenes", "deleted_scene"),
    ("interview", "interview"),
    ("interviews", "interview"),
    ("scene", "scene"),
    ("scenes", "scene"),
    ("short", "short"),
    ("shorts", "short"),
    ("clip", "clip"),
    ("clips", "clip"),
    ("trailer", "trailer"),
    ("trailers", "trailer"),
    ("teaser", "trailer"),
    ("teasers", "trailer"),
    ("sample", "sample"),
    ("samples", "sample"),
    ("theme music", "theme"),
    ("theme song", "theme"),
    ("theme songs", "theme"),
    ("theme video", "theme"),
    ("theme videos", "theme"),
    ("backdrop", "theme"),
    ("backdrops", "theme"),
    ("other", "other"),
    ("others", "other"),
];

/// Ends of names after a hyphen, a dot or an underscore, with their types; the longest first.
const ENDS: &[(&str, &str)] = &[
    ("behindthescenes", "behind_the_scenes"),
    ("deletedscene", "deleted_scene"),
    ("deleted", "deleted_scene"),
    ("featurette", "featurette"),
    ("interview", "interview"),
    ("trailer", "trailer"),
    ("teaser", "trailer"),
    ("sample", "sample"),
    ("scene", "scene"),
    ("short", "short"),
    ("extra", "extra"),
    ("other", "other"),
    ("clip", "clip"),
];

/// Type of the extras in a folder of this name.
pub fn of_folder(folder: &str) -> Option<&'static str> {
    let name = normalise(folder);
    let known = FOLDERS.iter().find(|(word, _)| *word == name);
    known.map(|(_, kind)| *kind)
}

/// Type of an extra by the name of its file without the ending; for an episode only by the text behind a hyphen.
pub fn of_stem(stem: &str, is_episode: bool) -> Option<&'static str> {
    let lower = stem.trim().to_lowercase();
    if matches!(&*lower, "sample" | "trailer" | "theme") {
        return ENDS
            .iter()
            .find(|(word, _)| *word == lower)
            .map(|(_, kind)| *kind)
            .or(Some("theme"));
    }
    if lower.starts_with("sample-") {
        return Some("sample");
    }
    let bare = lower.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let bare = if bare.len() + 2 < lower.len() {
        &lower
    } else {
        bare.trim_end_matches(['-', '.', '_', ' '])
    };
    ENDS.iter().find_map(|(word, kind)| {
        let before = bare.strip_suffix(word)?;
        let last = before.chars().next_back()?;
        let is_loose = !is_episode && matches!(*word, "trailer" | "sample" | "teaser");
        let is_end = last == '-' || (is_loose && matches!(last, '.' | '_' | ' '));
        // A title of one word more is no title with an end: something must stand before.
        (is_end && before.chars().any(char::is_alphanumeric)).then_some(*kind)
    })
}

/// Name without the end that gives its type; `None` if nothing is before that, or there is no such end.
pub fn without_end(stem: &str) -> Option<&str> {
    let bare = stem
        .trim()
        .trim_end_matches(|letter: char| letter.is_ascii_digit());
    let bare = bare.trim_end_matches(['-', '.', '_', ' ']);
    let lower = bare.to_ascii_lowercase();
    let end = ENDS.iter().find(|(word, _)| lower.ends_with(word))?;
    let base = bare
        .get(..bare.len() - end.0.len())?
        .trim_end_matches(['-', '.', '_', ' ']);
    (!base.is_empty()).then_some(base)
}
