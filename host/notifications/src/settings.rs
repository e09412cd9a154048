//! Settings of notifications.

use qm_platform::settings;
pub use qm_platform::settings::MAIL;
use serde_json::{Map, Value};

settings! {
    of "notifications";

    /// Where people reach the service; links in notifications start with it.
    pub PUBLIC_URL: Option<String> = "app.publicUrl",
        || None,
        accepts(|url: &Option<String>| {
            url.as_ref().is_none_or(|url| url.starts_with("http://") || url.starts_with("https://"))
        }),
        rule("must be an address that begins with http:// or https://, or null");

    /// Days for which notifications are kept in inboxes, read or not; a change holds from the next hour on. 0: for ever. At
    /// most 3650.
    pub INBOX_DAYS: i64 = "notifications.inboxDays", || 0, accepts(|days| (0..=3650).contains(days));
}

/// Whether mail can be sent with these settings: a server, and an address to send from.
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
