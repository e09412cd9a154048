//! Questions to the services and their answers, before they are shaped for the wire.

/// The engines whose torrents a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// One engine; `None` is the default one.
    One(Option<String>),
    /// Every loaded engine that has a snapshot, merged.
    All,
}

/// The result of adding a torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The hash the engine lists it under, or will.
    pub hash: String,
    /// The engine had it already; it stays as it was.
    pub existed: bool,
    /// Wishes that came with it.
    pub asked: Asked,
}

/// Wishes that may come with a torrent to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub save_path: Option<String>,
    /// Directory that the category gave, because none was asked for.
    pub path_of_category: Option<String>,
}

impl Asked {
    /// The names of what is there, as requests spell them.
    pub fn names(&self) -> Vec<&'static str> {
        let given = [
            ("category", self.category.is_some()),
            ("tags", !self.tags.is_empty()),
            ("savePath", self.save_path.is_some()),
        ];
        given
            .into_iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(name, _)| name)
            .collect()
    }
}
