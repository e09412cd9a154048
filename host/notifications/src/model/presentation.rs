//! Card of a notification: drawn by clients, and formatted by channels in their own markup. It is stored,
//! shown and passed to plugins in this one form, described in docs/notifications.md; any change of it is a
//! new [`VERSION`].

use qm_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Version of the form. Cards stored in another version are not shown.
pub const VERSION: u32 = 2;

/// A notification as a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationPresentation)]
pub struct Presentation {
    #[schema(example = 2)]
    pub version: u32,
    pub event_key: String,
    pub accent: Accent,
    pub icon: Icon,
    pub headline: Headline,
    pub summary: Summary,
    /// Null where it is about nobody.
    pub avatar: Option<Avatar>,
    /// Null in this version of the server.
    #[schema(value_type = Option<Object>)]
    pub artwork: Option<Value>,
    /// The played medium; absent on other cards.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub media: Option<Media>,
    /// One line below it; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    pub facts: Vec<Fact>,
    pub progress: Option<Progress>,
    /// Null in this version of the server.
    pub status: Option<String>,
    /// Where clients show more of it.
    pub action: Option<Action>,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = NotificationAccent)]
pub enum Accent {
    Started,
    Stopped,
    Success,
    Warning,
    Error,
    Neutral,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = NotificationIcon)]
pub enum Icon {
    Play,
    Stop,
    Pause,
    Buffering,
    Download,
    Alert,
    Disk,
    Workflow,
    Plug,
    Shield,
    User,
    Film,
    Tv,
    Clock,
    Percent,
    Monitor,
    Activity,
    Library,
    Server,
    Gauge,
}

/// The headline: both parts with a space between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationHeadline)]
pub struct Headline {
    pub lead: String,
    pub trail: String,
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationSummary)]
pub struct Summary {
    pub text: String,
    /// A part of the text, to be set off where it comes last; null: nothing is.
    pub emphasis: Option<String>,
}

/// Somebody, without a picture of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationAvatar)]
pub struct Avatar {
    pub initials: String,
    /// Degrees of the colour circle.
    pub hue: u32,
    pub label: String,
}

/// A played medium, in at most two lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationMedia)]
pub struct Media {
    /// `episode`, `film`, `music` or `video`.
    pub kind: String,
    pub primary: String,
    pub secondary: Option<String>,
}

/// Something worth knowing, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationFact)]
pub struct Fact {
    pub icon: Icon,
    pub label: String,
    pub value: String,
}

/// A bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationProgress)]
pub struct Progress {
    /// 0 to 100.
    pub percent: u8,
    pub label: String,
    pub position_label: Option<String>,
}

/// A link into the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationAction)]
pub struct Action {
    pub label: String,
    /// A path of the client, e.g. `/torrents`.
    pub href: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub icon: Option<Icon>,
}

impl Presentation {
    /// Parses a stored card; `None` when it has another version.
    pub fn stored(text: &str) -> Option<Self> {
        let card: Self = serde_json::from_str(text).ok()?;
        (card.version == VERSION).then_some(card)
    }
}

/// Cuts a text to `most` characters, with an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card() -> Presentation {
        Presentation {
            version: VERSION,
            event_key: "torrent.completed".into(),
            accent: Accent::Success,
            icon: Icon::Download,
            headline: Headline {
                lead: "Download".into(),
                trail: "completed".into(),
            },
            summary: Summary {
                text: "a is complete".into(),
                emphasis: Some("a".into()),
            },
            avatar: None,
            artwork: None,
            media: None,
            context: None,
            facts: vec![Fact {
                icon: Icon::Clock,
                label: "Time".into(),
                value: "Today, 9:15 AM".into(),
            }],
            progress: None,
            status: None,
            action: Some(Action {
                label: "Open torrents".into(),
                href: "/torrents".into(),
                icon: None,
            }),
            timestamp: Timestamp::from_ms(0),
        }
    }

    #[test]
    fn a_card_is_stored_as_clients_know_it() {
        let shown = serde_json::to_value(card()).unwrap();
        assert_eq!(
            shown,
            json!({
                "version": 2, "eventKey": "torrent.completed", "accent": "success", "icon": "download",
                "headline": { "lead": "Download", "trail": "completed" },
                "summary": { "text": "a is complete", "emphasis": "a" }, "avatar": null, "artwork": null,
                "facts": [{ "icon": "clock", "label": "Time", "value": "Today, 9:15 AM" }], "progress": null,
                "status": null, "action": { "label": "Open torrents", "href": "/torrents" },
                "timestamp": "1970-01-01T00:00:00.000Z",
            })
        );
        assert_eq!(Presentation::stored(&shown.to_string()), Some(card()));
    }

    #[test]
    fn what_another_version_stored_is_not_shown() {
        let mut other = serde_json::to_value(card()).unwrap();
        other["version"] = json!(1);
        assert_eq!(Presentation::stored(&other.to_string()), None);
        for text in ["", "null", "{}", "[2]"] {
            assert_eq!(Presentation::stored(text), None, "{text}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(cut("", 0), "");
    }
}
