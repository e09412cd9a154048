//! One person's connection with a channel: a way out of the house beside the inbox.

use qm_kernel::{Secret, Timestamp};
use qm_ports::channel::{ChannelConfig, ChannelKind};

/// The mailbox.
pub const EMAIL: &str = "email";
/// Telegram: a bot of one's own.
pub const CHAT_APP_A: &str = "chat_app_a";
/// Discord: an incoming webhook.
pub const CHAT_APP_B: &str = "chat_app_b";
/// The channels that clients know by name, whether or not a plugin provides them; in the order in which they are listed.
pub const KNOWN: [&str; 3] = [EMAIL, CHAT_APP_A, CHAT_APP_B];

/// Failures in a row from which a connection counts as failing. It is used all the same.
const FAILING: i64 = 3;
/// Bytes of an error that is kept.
const MAX_ERROR: usize = 500;
/// Characters of the id of a channel.
pub const MAX_ID: usize = 64;
/// A word among a channel's capabilities: it sends letters by the operator's server.
const MAIL: &str = "mail";

/// A connection without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    pub user_id: String,
    pub channel: String,
    pub enabled: bool,
    /// A message, or a code, has reached the destination.
    pub verified: bool,
    /// What the product calls the account it was configured with: a bot's name.
    pub account: Option<String>,
    /// The destination for people, masked by the plugin.
    pub label: Option<String>,
    pub last_tested_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub last_failure_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Since the last success.
    pub consecutive_failures: i64,
}

/// The secrets of a connection, in clear.
#[derive(Debug)]
pub struct Open {
    pub config: ChannelConfig,
    /// What the plugin wants back; none while the destination is not known yet.
    pub state: Option<Secret>,
}

/// How a connection fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Disabled,
    Unverified,
    Failing,
    Healthy,
}

impl Health {
    pub const fn as_str(self) -> &'static str {
        match self {
            Health::Disabled => "disabled",
            Health::Unverified => "unverified",
            Health::Failing => "failing",
            Health::Healthy => "healthy",
        }
    }
}

impl Connection {
    pub const fn health(&self) -> Health {
        if !self.enabled {
            Health::Disabled
        } else if !self.verified {
            Health::Unverified
        } else if self.consecutive_failures >= FAILING {
            Health::Failing
        } else {
            Health::Healthy
        }
    }

    /// The bot's name without the sign before it; blank without a bot.
    pub fn bot_username(&self) -> &str {
        let name = self.account.as_deref().unwrap_or_default();
        name.strip_prefix('@').unwrap_or(name)
    }
}

/// What a person sees of a channel.
#[derive(Clone, Debug)]
pub struct Seen {
    pub channel: String,
    /// None: not connected.
    pub connection: Option<Connection>,
}

/// Everything a person sees of channels.
#[derive(Clone, Debug)]
pub struct Overview {
    pub channels: Vec<Seen>,
    /// What installed plugins provide, by id.
    pub kinds: Vec<ChannelKind>,
    /// Mail can be sent.
    pub email_ready: bool,
}

/// An error as it is kept and shown: one line, no longer than fits.
pub fn kept_error(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    line[..line.floor_char_boundary(MAX_ERROR)].to_owned()
}

/// Whether it can be the id of a channel.
pub fn is_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
        })
}

/// True if an address that letters go to is entered for the channel.
pub fn sends_letters(kind: &ChannelKind) -> bool {
    kind.id == EMAIL || kind.capabilities.iter().any(|word| word == MAIL)
}

/// True if the product tells who sent it a code. Of a channel that sends letters only the host's own code counts, whatever
/// its plugin declares: it alone shows that the letters reach the person who asked for them.
pub fn links_by_code(kind: &ChannelKind) -> bool {
    kind.links_by_code && !sends_letters(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_what_holds_first() {
        for (enabled, verified, failures, health) in [
            (false, false, 0, "disabled"),
            (false, true, 9, "disabled"),
            (true, false, 9, "unverified"),
            (true, true, 0, "healthy"),
            (true, true, 2, "healthy"),
            (true, true, 3, "failing"),
        ] {
            let connection = Connection {
                enabled,
                verified,
                consecutive_failures: failures,
                ..Connection::default()
            };
            assert_eq!(
                connection.health().as_str(),
                health,
                "{enabled} {verified} {failures}"
            );
        }
    }

    #[test]
    fn errors_are_one_line_and_short() {
        assert_eq!(kept_error("a\r\nb\0c"), "a  b c");
        let long = kept_error(&"ä".repeat(400));
        assert_eq!((long.len(), long.chars().count()), (500, 250));
    }

    #[test]
    fn a_bot_is_named_without_its_sign() {
        for (account, name) in [
            (None, ""),
            (Some("@house_bot"), "house_bot"),
            (Some("house"), "house"),
        ] {
            let connection = Connection {
                account: account.map(str::to_owned),
                ..Connection::default()
            };
            assert_eq!(connection.bot_username(), name);
        }
    }

    #[test]
    fn ids_are_words() {
        for good in ["email", "chat_app_a", "org.example.push-2"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "Email", "a b", "ä", "a/b", &"a".repeat(65)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
