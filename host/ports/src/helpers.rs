//! Areas beside the media library that name its files, fetch pictures, look for subtitles and write notes, as the library sees
//! them when it follows a download, a scan or an order by itself.
//!
//! The library is made before them, so each of them adds itself to [`MediaHelpers`], which the library offers. What is done is
//! done for a person, who is judged again by the helper.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use qm_kernel::Requester;

/// Reason why a helper did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelpError {
    /// Another work in the library has to end first.
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Failed(String),
}

/// Order to name the files of items by the rules of their library.
#[derive(Clone, Copy, Debug)]
pub struct NamingOrder<'a> {
    pub library_id: &'a str,
    /// Items of that library; locked ones, and those of other libraries, stay as they are.
    pub item_ids: &'a [String],
    /// Torrent that the files come from, for the history.
    pub torrent_hash: Option<&'a str>,
    /// True for files that are to leave their places even where the library links or copies: they came into it just now.
    pub is_moving: bool,
}

/// Result of an order to name items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedItems {
    /// Ids of the items whose files have the names that the library wants, now or before.
    pub settled: Vec<String>,
    /// Ids of those whose files got these names just now. The library hears of their new places by events.
    pub renamed: Vec<String>,
    /// Ids of the others, with the reason.
    pub failed: Vec<(String, String)>,
}

/// Result of the naming of a library's loose episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InOrder {
    pub named: u64,
    pub failed: u64,
    /// Files that a person has to look at first.
    pub needs_review: u64,
}

/// Names files of the library. Offered by the renaming of media.
#[async_trait]
pub trait MediaNaming: Send + Sync {
    /// Names the files of items, as one run.
    async fn name_items(&self, who: &Requester, order: NamingOrder<'_>) -> Result<NamedItems, HelpError>;

    /// Names the episodes of a library that lie in no folder of a season, if the library is set to do so.
    async fn put_in_order(&self, who: &Requester, library_id: &str) -> Result<InOrder, HelpError>;
}

/// Looks for what lies beside media, and fetches pictures. Offered by artwork.
#[async_trait]
pub trait MediaCompanions: Send + Sync {
    /// Fetches pictures of an item from a provider, if it lacks one that every item should have. Answers the types that it
    /// lacks where no provider could be asked.
    async fn complete_pictures(&self, who: &Requester, item_id: &str) -> Result<Vec<String>, HelpError>;

    /// Looks for the subtitles beside an item's files, and answers the wanted languages that are not among them.
    async fn look_for_subtitles(&self, item_id: &str) -> Result<Vec<String>, HelpError>;
}

/// Writes notes about items. Offered by the area of notes (NFO).
#[async_trait]
pub trait MediaNoteWriter: Send + Sync {
    /// Writes the note about an item; false: there is one that somebody else wrote, and it stays.
    async fn write_note_of(&self, who: &Requester, item_id: &str) -> Result<bool, HelpError>;
}

/// The helpers that are there. A library without one goes on without its help.
#[derive(Default)]
pub struct MediaHelpers {
    naming: OnceLock<Weak<dyn MediaNaming>>,
    companions: OnceLock<Weak<dyn MediaCompanions>>,
    notes: OnceLock<Weak<dyn MediaNoteWriter>>,
}

impl MediaHelpers {
    /// Adds the area that names files, for as long as it is there. Of several, the first counts; so below.
    pub fn add_naming(&self, area: &Arc<impl MediaNaming + 'static>) {
        let area: Arc<dyn MediaNaming> = area.clone();
        let _ = self.naming.set(Arc::downgrade(&area));
    }

    pub fn add_companions(&self, area: &Arc<impl MediaCompanions + 'static>) {
        let area: Arc<dyn MediaCompanions> = area.clone();
        let _ = self.companions.set(Arc::downgrade(&area));
    }

    pub fn add_notes(&self, area: &Arc<impl MediaNoteWriter + 'static>) {
        let area: Arc<dyn MediaNoteWriter> = area.clone();
        let _ = self.notes.set(Arc::downgrade(&area));
    }

    pub fn naming(&self) -> Option<Arc<dyn MediaNaming>> {
        self.naming.get()?.upgrade()
    }

    pub fn companions(&self) -> Option<Arc<dyn MediaCompanions>> {
        self.companions.get()?.upgrade()
    }

    pub fn notes(&self) -> Option<Arc<dyn MediaNoteWriter>> {
        self.notes.get()?.upgrade()
    }
}
