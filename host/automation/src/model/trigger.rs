//! What a rule can wait for. Rules may name anything; what is not here never fires.

use qm_ports::action::Occasion;

/// A trigger of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub id: &'static str,
    pub label: &'static str,
    pub category: &'static str,
}

pub const COMPLETED: &str = "torrent.completed";
pub const RATIO: &str = "ratio.reached";

/// The catalogue, in its order.
pub const ALL: &[Trigger] = &[
    of(COMPLETED, "Download completes", "torrent"),
    of(RATIO, "Share ratio reached", "torrent"),
    of("media.detected", "Media file found by a scan", "media"),
    of("media.matched", "Media identified", "media"),
    of("media.unmatched", "Media not identified", "media"),
    of("media.missing_artwork", "Artwork missing", "media"),
    of("media.missing_subtitles", "Preferred subtitles missing", "media"),
    of("media.rename_completed", "Media renamed or moved", "media"),
    of(
        "media.server_refresh_failed",
        "Media server refresh failed",
        "media",
    ),
    of(
        "rss.rule.created_for_inactive_show",
        "RSS rule made for an inactive show",
        "rss",
    ),
    of(
        "rss.show_status.changed",
        "Airing status of a show changed",
        "rss",
    ),
    of("rss.show.became_active", "Show active again", "rss"),
    of("rss.show.ended", "Show ended", "rss"),
    of("rss.show.canceled", "Show canceled", "rss"),
];

const fn of(id: &'static str, label: &'static str, category: &'static str) -> Trigger {
    Trigger { id, label, category }
}

impl Trigger {
    pub fn find(id: &str) -> Option<Self> {
        ALL.iter().copied().find(|trigger| trigger.id == id)
    }
}

/// What the context of a trigger is, which decides what actions may follow it. One that nobody knows is an event.
pub fn occasion(trigger: &str) -> Occasion {
    match Trigger::find(trigger).map(|trigger| trigger.category) {
        Some("torrent") => Occasion::Torrent,
        Some("media") => Occasion::Media,
        _ => Occasion::Event,
    }
}
