//! Limits of speed of an engine: two sets of them and the choice between them. Pure.

use qm_kernel::Timestamp;
use qm_ports::engine::{RateLimits, RateMode};

use super::schedule::Schedule;

/// Set of limits that a user chose, or the time table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chosen {
    /// As the time table says.
    #[default]
    Auto,
    Normal,
    Alternative,
}

impl Chosen {
    pub const WORDS: &'static [&'static str] = &["auto", "normal", "alternative"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Normal => "normal",
            Self::Alternative => "alternative",
        }
    }

    /// Choice of a word; an unknown word follows the time table.
    pub fn from_word(word: &str) -> Self {
        match word {
            "normal" => Self::Normal,
            "alternative" => Self::Alternative,
            _ => Self::Auto,
        }
    }
}

/// Word of a mode.
pub const fn mode_word(mode: RateMode) -> &'static str {
    match mode {
        RateMode::Normal => "normal",
        RateMode::Alternative => "alternative",
    }
}

/// Limits of one engine, as somebody set them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speed {
    pub normal: RateLimits,
    pub alternative: RateLimits,
    pub schedule: Schedule,
    pub chosen: Chosen,
    pub set_at: Option<Timestamp>,
}

/// Limits and time table that a user sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpeedInput {
    pub normal: RateLimits,
    pub alternative: RateLimits,
    pub schedule: Schedule,
}

/// Things that a client is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub normal: RateLimits,
    pub alternative: RateLimits,
    pub mode: RateMode,
}

impl Wanted {
    /// Limits in force.
    pub const fn in_force(&self) -> RateLimits {
        match self.mode {
            RateMode::Normal => self.normal,
            RateMode::Alternative => self.alternative,
        }
    }
}

impl Speed {
    /// The mode while the time table says `scheduled`.
    pub const fn mode(&self, scheduled: RateMode) -> RateMode {
        match self.chosen {
            Chosen::Auto => scheduled,
            Chosen::Normal => RateMode::Normal,
            Chosen::Alternative => RateMode::Alternative,
        }
    }

    pub const fn wanted(&self, scheduled: RateMode) -> Wanted {
        Wanted {
            normal: self.normal,
            alternative: self.alternative,
            mode: self.mode(scheduled),
        }
    }
}
