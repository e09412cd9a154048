//! Secrets in memory: never printed, wiped on drop.

use std::fmt;

use zeroize::Zeroize;

/// A secret text. `Debug` and `Display` show a mask; there is no `Serialize`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

/// Text that every response shows instead of a secret. Sending it back means "keep the stored one".
pub const MASK: &str = "••••••••";

/// True when a sent text is a mask: bullets and nothing else.
pub fn is_mask(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter == '•')
}

/// True when a sent text keeps the stored secret: it is blank, or a mask.
pub fn keeps(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || is_mask(text)
}

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the call that needs it, never for a log or a response.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
