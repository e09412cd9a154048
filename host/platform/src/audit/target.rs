//! Subject of an audit row: the movie or episode behind the release name in its metadata.

use qm_release::Release;
use serde_json::Value;

/// Kinds of objects with a release.
const KINDS: [&str; 6] = [
    "wanted_episode",
    "media_item",
    "media_acquisition_watchlist",
    "media_acquisition_watchlist_item",
    "torrent",
    "media_acquisition_action",
];

/// Metadata members with a release name; the first text counts.
const NAMES: [&str; 4] = ["releaseTitle", "releaseName", "name", "title"];

/// A movie, or an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The title, with the episode when that is known: `Orchard Lane (2021) — S02E07`.
    pub label: String,
    pub title: String,
    pub season: Option<u32>,
    pub episode: Option<u32>,
}

impl Target {
    /// Parses the release name; `None` for rows about other objects, or without a usable name.
    pub(super) fn from_metadata(object_type: Option<&str>, metadata: Option<&Value>) -> Option<Self> {
        if !object_type.is_some_and(|kind| KINDS.contains(&kind)) {
            return None;
        }
        let metadata = metadata?;
        let name = NAMES.iter().find_map(|key| metadata.get(key)?.as_str())?;
        Self::of_release(qm_release::parse(name))
    }

    fn of_release(release: Release) -> Option<Self> {
        let name = release.named()?.into_owned();
        let title = match release.year {
            Some(year) if !ends_in_year(&name) => format!("{name} ({year})"),
            _ => name,
        };
        let (season, episode) = (release.season, release.episode);
        let label = match (season, episode) {
            (Some(season), Some(episode)) => format!("{title} — S{season:02}E{episode:02}"),
            _ => title.clone(),
        };
        Some(Self {
            label,
            title,
            season,
            episode,
        })
    }
}

/// True for a name that ends in a year like `(2021)`.
fn ends_in_year(name: &str) -> bool {
    let year = name.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    year.is_some_and(|(_, year)| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn label(kind: &str, metadata: &Value) -> Option<String> {
        Target::from_metadata(Some(kind), Some(metadata)).map(|target| target.label)
    }

    #[test]
    fn names_are_read_from_the_first_text() {
        let metadata = json!({
            "releaseTitle": 5, "releaseName": "Orchard.Lane.2021.S02E07.1080p", "name": "Other (1999)",
        });
        let target = Target::from_metadata(Some("torrent"), Some(&metadata)).unwrap();
        assert_eq!(
            target,
            Target {
                label: "Orchard Lane (2021) — S02E07".into(),
                title: "Orchard Lane (2021)".into(),
                season: Some(2),
                episode: Some(7),
            }
        );
    }

    #[test]
    fn labels() {
        for (name, expected) in [
            ("1944 (2021) 1080p", Some("1944 (2021)")),
            ("Harbor.Nine.S12E101", Some("Harbor Nine — S12E101")),
            ("Harbor.Nine.S03.720p", Some("Harbor Nine")),
            (
                "debian-13.1.0-amd64-netinst.iso",
                Some("debian-13 1 0-amd64-netinst iso"),
            ),
            ("1080p", None),
        ] {
            assert_eq!(
                label("torrent", &json!({ "name": name })).as_deref(),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn other_rows_have_none() {
        let metadata = json!({ "name": "Harbor.Nine.S01E01" });
        assert_eq!(label("user", &metadata), None);
        assert_eq!(Target::from_metadata(None, Some(&metadata)), None);
        assert_eq!(Target::from_metadata(Some("torrent"), None), None);
        for metadata in [json!({}), json!({ "name": null }), json!([]), json!("name")] {
            assert_eq!(label("torrent", &metadata), None, "{metadata}");
        }
        assert!(ends_in_year("A (2021)") && !ends_in_year("A (20x1)") && !ends_in_year("2021)"));
    }
}
