//! Messages for channels: plain text, and a card for channels with a richer format.

use qm_kernel::Secret;
use qm_ports::channel::{Button, Message};
use serde_json::Value;

use super::presentation::{Presentation, cut};
use super::proof::LIFE;

/// Largest number of characters of a subject.
const MAX_SUBJECT: usize = 180;
/// Largest number of characters of a button label.
const MAX_LABEL: usize = 64;

/// Data that all messages of a server share.
#[derive(Clone, Debug)]
pub struct Letterhead {
    /// Product name that clients show.
    pub product: String,
    /// Public base URL; without it messages have no links.
    pub public_url: Option<String>,
}

impl Letterhead {
    /// The message of a notification; its id is the same for every attempt.
    pub fn message(&self, id: &str, title: &str, card: Option<&Presentation>) -> Message {
        let Some(card) = card else {
            return Message {
                id: id.to_owned(),
                subject: cut(title, MAX_SUBJECT),
                text: format!("{title}\n\n{}", self.product),
                ..Message::default()
            };
        };
        let headline = format!("{} {}", card.headline.lead, card.headline.trail);
        Message {
            id: id.to_owned(),
            subject: cut(&headline, MAX_SUBJECT),
            text: self.text(&headline, card),
            presentation: self.parts(card),
            button: self.button(card),
            picture: None,
        }
    }

    /// Test message of a channel.
    pub fn trial(&self, id: String) -> Message {
        let product = &self.product;
        let text =
            format!("This is a test message of {product}. Notifications will arrive here.\n\n{product}");
        Message {
            id,
            subject: cut(&format!("{product} test message"), MAX_SUBJECT),
            text,
            ..Message::default()
        }
    }

    /// Letter with a code for an unconfirmed address. The requesting user cannot influence its text.
    pub fn proof(&self, id: String, code: &Secret) -> Message {
        let (product, code) = (&self.product, code.expose());
        let minutes = LIFE.as_secs() / 60;
        let text = format!(
            "{code} is the code that confirms this address. Enter it where you set up notifications of {product}, within \
             {minutes} minutes.\n\nIf you did not ask for it, do nothing: nothing else is sent here.\n\n{product}"
        );
        Message {
            id,
            subject: cut(&format!("{product} code {code}"), MAX_SUBJECT),
            text,
            ..Message::default()
        }
    }

    /// Greeting for a newly linked chat.
    pub fn greeting(&self, id: String) -> Message {
        let product = &self.product;
        Message {
            id,
            subject: cut(&format!("{product} is connected"), MAX_SUBJECT),
            text: format!("Connected. Notifications of {product} will arrive here."),
            ..Message::default()
        }
    }

    fn text(&self, headline: &str, card: &Presentation) -> String {
        let mut lines = vec![headline.to_owned(), card.summary.text.clone()];
        lines.extend(card.context.clone());
        lines.push(String::new());
        lines.extend(
            card.facts
                .iter()
                .map(|fact| format!("{}: {}", fact.label, fact.value)),
        );
        if let Some(bar) = &card.progress {
            lines.push(format!("{}: {}%", bar.label, bar.percent));
        }
        lines.extend([String::new(), self.product.clone()]);
        lines.join("\n")
    }

    /// The card with the product name, which richer formats show below it.
    fn parts(&self, card: &Presentation) -> Option<Value> {
        let mut parts = serde_json::to_value(card).ok()?;
        parts
            .as_object_mut()?
            .insert("service".to_owned(), Value::from(self.product.clone()));
        Some(parts)
    }

    fn button(&self, card: &Presentation) -> Option<Button> {
        let base = self.public_url.as_deref()?.trim_end_matches('/');
        let is_web = base.starts_with("http://") || base.starts_with("https://");
        let action = card.action.as_ref().filter(|_| is_web)?;
        Some(Button {
            label: cut(&action.label, MAX_LABEL),
            url: format!("{base}{}", action.href),
        })
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::Timestamp;
    use serde_json::json;

    use super::*;

    fn card() -> Presentation {
        let card = json!({
            "version": 2, "eventKey": "system.storage_critical", "accent": "error", "icon": "disk",
            "headline": { "lead": "Storage", "trail": "almost full" },
            "summary": { "text": "Only 4% is free on /data", "emphasis": "/data" }, "avatar": null, "artwork": null,
            "facts": [{ "icon": "disk", "label": "Location", "value": "/data" }],
            "progress": { "percent": 4, "label": "Free space", "positionLabel": null }, "status": null,
            "action": { "label": "Open system", "href": "/system" }, "timestamp": Timestamp::from_ms(0),
        });
        serde_json::from_value(card).expect("a card")
    }

    fn letterhead(url: Option<&str>) -> Letterhead {
        Letterhead {
            product: "Quartermaster".into(),
            public_url: url.map(str::to_owned),
        }
    }

    #[test]
    fn a_message_says_everything_as_text() {
        let message = letterhead(None).message("n", "a title", Some(&card()));
        assert_eq!(message.subject, "Storage almost full");
        assert_eq!(
            message.text,
            "Storage almost full\nOnly 4% is free on /data\n\nLocation: /data\nFree space: 4%\n\nQuartermaster"
        );
        let parts = message.presentation.expect("parts");
        assert_eq!(
            (&parts["service"], &parts["accent"]),
            (&json!("Quartermaster"), &json!("error"))
        );
        assert_eq!((message.id.as_str(), message.button), ("n", None));
    }

    #[test]
    fn a_link_needs_an_address_of_the_service() {
        for (url, expected) in [
            (
                Some("https://qm.example.org/"),
                Some("https://qm.example.org/system"),
            ),
            (
                Some("http://10.0.0.2:4000/base"),
                Some("http://10.0.0.2:4000/base/system"),
            ),
            (Some("javascript:alert(1)//"), None),
            (Some(""), None),
            (None, None),
        ] {
            let button = letterhead(url).message("n", "t", Some(&card())).button;
            assert_eq!(button.map(|button| button.url).as_deref(), expected);
        }
    }

    #[test]
    fn a_title_is_enough() {
        let message = letterhead(Some("https://qm.example.org")).message("n", &"x".repeat(300), None);
        assert_eq!(message.subject.chars().count(), 180);
        assert_eq!(message.text, format!("{}\n\nQuartermaster", "x".repeat(300)));
        assert!(message.presentation.is_none() && message.button.is_none());
    }
}
