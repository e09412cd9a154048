//! A notification in parts, as `message.presentation` holds it (docs/notifications.md describes it): no bindings, so it is
//! tested natively. What is absent reads as empty; what a later version adds is passed over.

use serde::Deserialize;

/// A notification in parts. All texts are plain: they come from outside, and markup is the plugin's work.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Card {
    /// `started`, `stopped`, `success`, `warning`, `error` or `neutral`.
    pub accent: String,
    pub icon: String,
    pub headline: Headline,
    pub summary: Summary,
    /// Media being watched.
    pub media: Option<Media>,
    /// One more line.
    pub context: Option<String>,
    pub facts: Vec<Fact>,
    pub progress: Option<Progress>,
    /// ISO 8601 in UTC.
    pub timestamp: String,
    /// The name of the service.
    pub service: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Headline {
    pub lead: String,
    pub trail: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Summary {
    pub text: String,
    pub emphasis: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Media {
    pub kind: String,
    pub primary: String,
    pub secondary: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Fact {
    pub icon: String,
    pub label: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub percent: u8,
    pub label: String,
}

impl Card {
    /// None when there is none: the message's text says everything.
    pub fn parse(presentation: &str) -> Option<Self> {
        serde_json::from_str(presentation).ok()
    }

    /// Title from both parts of the headline.
    pub fn title(&self) -> String {
        format!("{} {}", self.headline.lead, self.headline.trail)
            .trim()
            .to_owned()
    }

    /// The sentence before the part that is set off, that part, and what follows it. Without one all of it comes first.
    pub fn summary(&self) -> (&str, &str, &str) {
        let text = &*self.summary.text;
        let part = self.summary.emphasis.as_deref().filter(|part| !part.is_empty());
        match part.and_then(|part| Some((text.rfind(part)?, part.len()))) {
            Some((at, len)) => (&text[..at], &text[at..at + len], &text[at + len..]),
            None => (text, "", ""),
        }
    }
}

impl Progress {
    /// `Progress: 40%`
    pub fn line(&self) -> String {
        format!("{}: {}%", self.label, self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_off_is_where_it_comes_last() {
        let of = |text: &str, part: Option<&str>| Card {
            summary: Summary {
                text: text.to_owned(),
                emphasis: part.map(str::to_owned),
            },
            ..Card::default()
        };
        assert_eq!(of("a is a ä", Some("a")).summary(), ("a is ", "a", " ä"));
        assert_eq!(of("x", Some("y")).summary(), ("x", "", ""));
        assert_eq!(of("x", Some("")).summary(), ("x", "", ""));
        assert_eq!(of("x", None).summary(), ("x", "", ""));
        assert_eq!(of("x", Some("x")).summary(), ("", "x", ""));
    }

    #[test]
    fn a_card_is_read_whatever_it_lacks_or_adds() {
        let card = Card::parse(
            r#"{"version":2,"accent":"success","avatar":null,"headline":{"lead":"Download","trail":"completed"},
                "facts":[{"icon":"download","label":"Name","value":"x"}],"progress":null,"later":[1]}"#,
        );
        let card = card.unwrap_or_default();
        assert_eq!(
            (card.title().as_str(), card.facts.len()),
            ("Download completed", 1)
        );
        assert_eq!(card.progress, None);
        assert_eq!(Card::parse(""), None);
        assert_eq!(Card::parse("7"), None);
    }
}
