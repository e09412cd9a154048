//! Settings of notifications.

use qm_platform::settings;
pub use qm_platform::settings::MAIL;
use serde_json::{Map, Value};

settings! {
    of "notifications";

    /// Public base URL of the service; links in notifications start with it.
    pub PUBLIC_URL: Option<String> = "app.publicUrl",
        || None,
        accepts(|url: &Option<String>| {
            url.as_ref().is_none_or(|url| url.starts_with("http://") || url.starts_with("https://"))
        }),
        rule("must be an address that begins with http:// or https://, or null");

    /// Days to keep notifications in inboxes, read or not; 0 keeps them for ever; at most 3650. A change
    /// applies from the next hour on.
    pub INBOX_DAYS: i64 = "notifications.inboxDays", || 0, accepts(|days| (0..=3650).contains(days));
}

/// True when mail can be sent with these settings: server and sender address are set.
pub fn can_mail(mail: &Map<String, Value>) -> bool {
    let is_given = |name: &str| {
        mail.get(name)
            .and_then(Value::as_str)
            .is_some_and(|text| !text.trim().is_empty())
    };
    is_given("host") && is_given("fromAddress")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mail_needs_a_server_and_a_sender() {
        for (mail, ready) in [
            (json!({}), false),
            (json!({ "host": "mail.example.org" }), false),
            (json!({ "host": " ", "fromAddress": "qm@example.org" }), false),
            (json!({ "host": "mail.example.org", "fromAddress": null }), false),
            (
                json!({ "host": "mail.example.org", "fromAddress": "qm@example.org" }),
                true,
            ),
        ] {
            assert_eq!(can_mail(mail.as_object().unwrap()), ready, "{mail}");
        }
    }
}
