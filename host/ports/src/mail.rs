//! Mail as the rest of the host sees it: one trait, [`Mailer`], whatever the server behind it.

use async_trait::async_trait;

/// Bytes of a subject.
pub const MAX_SUBJECT: usize = 512;
/// Bytes of a text.
pub const MAX_TEXT: usize = 64 << 10;
/// Bytes of the richer form of a text.
pub const MAX_HTML: usize = 256 << 10;
/// Bytes of a letter's id.
pub const MAX_ID: usize = 128;
/// Characters of an address.
pub const MAX_ADDRESS: usize = 254;

/// A letter to one reader. The sender and the mail server are set by the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// The same for the same letter, however often it is sent.
    pub id: String,
    /// One address.
    pub to: String,
    /// One line.
    pub subject: String,
    pub text: String,
    /// The same as HTML.
    pub html: Option<String>,
}

impl Letter {
    /// Refuses a letter that is too long, or that has characters which would end a header. It is to be called before
    /// anything else is done for the letter.
    pub fn check(&self) -> Result<(), MailError> {
        let invalid = |text: String| Err(MailError::Invalid(text));
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if self.id.is_empty() || self.id.len() > MAX_ID || !self.id.bytes().all(is_word) {
            return invalid(format!(
                "the id of a letter has 1 to {MAX_ID} letters, digits, `-`, `_` and `.`"
            ));
        }
        if self.to.chars().count() > MAX_ADDRESS || self.to.contains(char::is_control) {
            return invalid(format!(
                "the address must be one of no more than {MAX_ADDRESS} characters"
            ));
        }
        if self.subject.contains(char::is_control) {
            return invalid("the subject must be one line, without control characters".to_owned());
        }
        for (name, size, most) in [
            ("subject", self.subject.len(), MAX_SUBJECT),
            ("text", self.text.len(), MAX_TEXT),
            ("HTML", self.html.as_ref().map_or(0, String::len), MAX_HTML),
        ] {
            if size > most {
                return invalid(format!("the {name} has {size} bytes, {most} are the most"));
            }
        }
        Ok(())
    }
}

/// Why a letter was not taken. No text names a password, or what somebody signs in with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    #[error("Email is not configured.")]
    NotConfigured,
    #[error("{0}")]
    Invalid(String),
    #[error("the mail server cannot be reached: {0}")]
    Unreachable(String),
    /// It may have been taken all the same.
    #[error("the mail server did not answer in time")]
    Timeout,
    /// The text is the server's own.
    #[error("the mail server asks to try again later: {0}")]
    Later(String),
    /// The text is the server's own.
    #[error("the mail server refused it: {0}")]
    Refused(String),
    #[error("the mail server does not let the service in: {0}")]
    Auth(String),
    #[error("too many letters wait to be sent")]
    Busy,
}

/// Sends mail by the server that the operator set up. Calls never panic and never block a thread; every one ends.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Success means that the server took it.
    async fn send(&self, letter: &Letter) -> Result<(), MailError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_short_and_breaks_no_header() {
        let good = Letter {
            id: "0197-a_b.c".to_owned(),
            to: "jo@example.org".to_owned(),
            subject: "Téléchargé ✓".to_owned(),
            text: "one\ntwo".to_owned(),
            html: Some("<p>one</p>".to_owned()),
        };
        assert_eq!(good.check(), Ok(()));
        type Change = fn(&mut Letter);
        let changes: [(&str, Change); 9] = [
            ("id", |letter| letter.id.clear()),
            ("id", |letter| letter.id = "a@b".to_owned()),
            ("id", |letter| letter.id = "x".repeat(MAX_ID + 1)),
            ("address", |letter| {
                letter.to = "jo@example.org\r\nBcc: all@example.org".to_owned();
            }),
            ("address", |letter| letter.to = "ä".repeat(MAX_ADDRESS + 1)),
            ("subject", |letter| {
                letter.subject = "Hi\r\nBcc: all@example.org".to_owned();
            }),
            ("subject", |letter| letter.subject = "x".repeat(MAX_SUBJECT + 1)),
            ("text", |letter| letter.text = "x".repeat(MAX_TEXT + 1)),
            ("HTML", |letter| letter.html = Some("x".repeat(MAX_HTML + 1))),
        ];
        for (part, change) in changes {
            let mut letter = good.clone();
            change(&mut letter);
            let refused = letter.check();
            assert!(
                matches!(&refused, Err(MailError::Invalid(text)) if text.contains(part)),
                "{part}: {refused:?}"
            );
        }
    }
}
