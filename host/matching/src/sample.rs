//! A release name prepared for rules.

use std::sync::OnceLock;

use qm_release::{QuickView, Release};

use crate::text::{Script, Text};

/// Name of a release, with data from its feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// Title; the first [`qm_release::MAX_NAME`] bytes are used.
    pub title: &'a str,
    /// Bytes.
    pub size: Option<u64>,
    /// `None` without a feed: then every candidate is tried.
    pub feed_id: Option<&'a str>,
}

/// A sample with its parsed forms, each made on first use and shared by all candidates.
#[derive(Debug)]
pub struct Prepared<'a> {
    sample: Sample<'a>,
    lower: OnceLock<String>,
    latin: OnceLock<Text>,
    any: OnceLock<Text>,
    quick: OnceLock<QuickView>,
    full: OnceLock<Box<Release>>,
}

impl<'a> Prepared<'a> {
    pub fn new(sample: Sample<'a>) -> Self {
        let title = sample.title;
        Self {
            sample: Sample {
                title: &title[..title.floor_char_boundary(qm_release::MAX_NAME)],
                ..sample
            },
            lower: OnceLock::new(),
            latin: OnceLock::new(),
            any: OnceLock::new(),
            quick: OnceLock::new(),
            full: OnceLock::new(),
        }
    }

    pub fn title(&self) -> &'a str {
        self.sample.title
    }

    pub fn size(&self) -> Option<u64> {
        self.sample.size
    }

    pub fn feed_id(&self) -> Option<&'a str> {
        self.sample.feed_id
    }

    /// Quick view of the name, used by quality rules.
    pub fn parsed(&self) -> &QuickView {
        self.quick.get_or_init(|| qm_release::quick(self.title()))
    }

    /// The name, parsed in full.
    pub fn release(&self) -> &Release {
        self.full
            .get_or_init(|| Box::new(qm_release::parse(self.title())))
    }

    pub(crate) fn text(&self, script: Script) -> &Text {
        let text = match script {
            Script::Latin => &self.latin,
            Script::Any => &self.any,
        };
        text.get_or_init(|| Text::new(self.title(), script))
    }

    /// The name in lower case with its separators.
    pub(crate) fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.title().to_lowercase())
    }
}
