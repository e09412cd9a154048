//! A name as the rules see it.

use std::sync::OnceLock;

use qm_release::{QuickView, Release};

use crate::text::{Script, Text};

/// The name of a release, with what its feed told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// Of it the first [`qm_release::MAX_NAME`] bytes count.
    pub title: &'a str,
    /// Bytes.
    pub size: Option<u64>,
    /// `None` where no feed is concerned: then every candidate looks at it.
    pub feed_id: Option<&'a str>,
}

/// A sample with its readings, each made when a candidate first asks for it and shared by all.
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

    /// The quick view of the name, by which quality rules are judged.
    pub fn parsed(&self) -> &QuickView {
        self.quick.get_or_init(|| qm_release::quick(self.title()))
    }

    /// The name, read in full.
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

    /// The name in lower case, its separators kept.
    pub(crate) fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.title().to_lowercase())
    }
}
