//! Looks beside videos wherever a scan saw a change, so that lists and counts know pictures and subtitles before anybody asks for
//! those of an item.
//!
//! A change is forgotten only after what was found is stored: a crash repeats a look, which then finds nothing new. A round takes
//! the changes that are there, and reads each directory and looks at each item once. Where very many items lie below a
//! directory, they are looked at only if its own pictures are other ones than before. Bounds: [`CHANGES`] changes are asked for at
//! once, [`PAGE`] items listed and [`ITEMS`] looked at and stored; one look of the loop runs at a time. A round without changes is
//! one statement.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use qm_confined::Roots;
use qm_db::{Backend, Tx};
use qm_kernel::as_error;
use qm_lanes::Cancel;
use qm_ports::subjects::{ChangeReader, SubjectChange, SubjectItem, SubjectShow};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::list::gone;
use super::subtitles::is_gone;
use super::{ArtworkArea, is_episode};
use crate::error::ArtworkError;
use crate::lanes::LOOKS;
use crate::model::local::Look;
use crate::model::subtitle::{Subtitle, Tag};
use crate::model::{Artwork, Difference, Owner};
use crate::ops::look::{Listings, list_general, look_for_item, look_for_show, look_for_subtitles};
use crate::repo;

/// Changes that are taken at once.
const CHANGES: usize = 64;
/// Items that are listed at once. A change with more below it is one of a folder of many films or shows.
const PAGE: usize = 256;
/// Items that are looked at and stored at once.
const ITEMS: usize = 64;
/// Items and shows of a round that are remembered, so that they are looked at once.
const MAX_SEEN: usize = 100_000;
/// Changes that are forgotten at once.
const FORGOTTEN: usize = 1000;

/// Result of a look at an owner.
struct Looked {
    owner: Owner,
    pictures: Look,
    /// Files of subtitles, and directories that could not be read.
    subtitles: (Vec<(String, Tag)>, BTreeSet<String>),
}

impl Looked {
    /// True if the rows of the owner are other ones.
    fn is_news(&self, pictures: &[Artwork], subtitles: &[Subtitle]) -> bool {
        let (found, unread) = &self.subtitles;
        let is_new = |place: &str| subtitles.iter().all(|row| row.place != place);
        !Difference::between(pictures, &self.pictures).is_empty()
            || found.iter().any(|(place, _)| is_new(place))
            || subtitles.iter().any(|row| is_gone(row, found, unread))
    }
}

/// Subject of a look.
enum Subject {
    Item(SubjectItem),
    Show(SubjectShow),
}

/// Looks for the changes that were asked for at once.
#[derive(Default)]
struct Round {
    /// Directories as they were read after the changes.
    listings: Listings,
    waiting: Vec<Subject>,
    /// Ids of items and shows that were taken.
    seen: HashSet<String>,
    /// Directories below which all items were looked at, with the digests of the names of their pictures.
    folders: Vec<(String, String)>,
    looked: usize,
}

impl Round {
    /// Adds a subject, unless the round has it.
    fn add(&mut self, subject: Subject) {
        let (Subject::Item(SubjectItem { id, .. }) | Subject::Show(SubjectShow { id, .. })) = &subject;
        if self.seen.contains(id) {
            return;
        }
        if self.seen.len() < MAX_SEEN {
            self.seen.insert(id.clone());
        }
        self.looked += 1;
        self.waiting.push(subject);
    }
}

impl ArtworkArea {
    /// Name and interval of the loop.
    pub const CHANGED: (&'static str, Duration) = ("artwork_looks", Duration::from_secs(15));

    pub async fn looks_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.look_at_changes()).await {
                let error = as_error(&error);
                tracing::warn!(error, "pictures and subtitles beside media cannot be looked for");
            }
            let wait = tokio::time::sleep(Self::CHANGED.1);
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
        }
    }

    /// Looks wherever something changed; returns the number of items and shows that were looked at.
    pub async fn look_at_changes(&self) -> Result<usize, ArtworkError> {
        let mut looked = 0;
        while self.ground.db.mandate().holds() {
            let changes = self
                .subjects
                .list_changes(ChangeReader::Pictures, CHANGES)
                .await?;
            if changes.is_empty() {
                break;
            }
            let mut round = Round::default();
            for change in merge(&changes) {
                self.look_at_change(change, &mut round).await?;
            }
            self.look_at(&mut round).await?;
            self.store_folders(&round.folders).await?;
            let numbers: Vec<i64> = changes.iter().map(|change| change.number).collect();
            for numbers in numbers.chunks(FORGOTTEN) {
                self.subjects.forget_changes(numbers).await?;
            }
            looked += round.looked;
        }
        Ok(looked)
    }

    /// Looks at what a change concerns, as far as enough has come together; the rest waits.
    async fn look_at_change(&self, mut change: SubjectChange, round: &mut Round) -> Result<(), ArtworkError> {
        for show in self.subjects.list_changed_shows(&change).await? {
            round.add(Subject::Show(show));
        }
        let mut items = self.subjects.list_changed_items(&change, "", PAGE).await?;
        if change.below && items.len() == PAGE {
            match self.find_other_folder(&change, &items[0].library, round).await? {
                Some(digest) => round.folders.push((change.directory_id.clone(), digest)),
                None => {
                    change.below = false;
                    items = self.subjects.list_changed_items(&change, "", PAGE).await?;
                }
            }
        }
        while let Some(last) = items.last() {
            let after = last.id.clone();
            for item in items {
                round.add(Subject::Item(item));
                if round.waiting.len() >= ITEMS {
                    self.look_at(round).await?;
                }
            }
            items = self.subjects.list_changed_items(&change, &after, PAGE).await?;
        }
        Ok(())
    }

    /// Digest of the names of pictures in a directory that concern all items below it; `None`: they are the same as at the last
    /// look at those, or cannot be read.
    async fn find_other_folder(
        &self,
        change: &SubjectChange,
        library: &str,
        round: &mut Round,
    ) -> Result<Option<String>, ArtworkError> {
        let (roots, library, place) = (self.roots.clone(), library.to_owned(), change.place.clone());
        let mut listings = std::mem::take(&mut round.listings);
        let looking = LOOKS.run(move |cancel| {
            let names = list_general(&roots, &library, &place, &mut listings, &cancel);
            (listings, names)
        });
        let names;
        (round.listings, names) = looking.await?;
        let Some(names) = names else { return Ok(None) };
        // No name has a slash.
        let digest = hex::encode(Sha256::digest(names.join(&b'/')));
        let mut tx = self.ground.db.begin_read().await?;
        let known = repo::folders::find(&mut tx, &change.directory_id).await?;
        Ok(Some(digest).filter(|digest| known.as_ref() != Some(digest)))
    }

    /// Stores that all items below directories were looked at.
    async fn store_folders(&self, folders: &[(String, String)]) -> Result<(), ArtworkError> {
        for (directory, digest) in folders {
            let mut tx = self.ground.db.begin_write().await?;
            match repo::folders::put(&mut tx, directory, digest).await {
                Ok(()) => tx.commit().await?,
                // The directory is gone meanwhile.
                Err(error) if error.is_foreign_key_violation() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Looks at the items and shows that wait, and stores what is new.
    async fn look_at(&self, round: &mut Round) -> Result<(), ArtworkError> {
        let subjects = std::mem::take(&mut round.waiting);
        if subjects.is_empty() {
            return Ok(());
        }
        let (roots, mut listings) = (self.roots.clone(), std::mem::take(&mut round.listings));
        let looking = LOOKS.run(move |cancel| {
            let looks = subjects
                .into_iter()
                .map(|subject| look(&roots, subject, &mut listings, &cancel));
            let looks: Vec<Looked> = looks.collect();
            (listings, looks)
        });
        let looks;
        (round.listings, looks) = looking.await?;
        let ids = |is_item: bool| -> Vec<String> {
            let own = looks
                .iter()
                .filter(|look| look.owner.item_id().is_some() == is_item);
            own.map(|look| look.owner.id().to_owned()).collect()
        };
        let items = ids(true);
        let mut tx = self.ground.db.begin_read().await?;
        let pictures = repo::known::pictures(&mut tx, &items, &ids(false)).await?;
        let subtitles = repo::known::subtitles(&mut tx, &items).await?;
        drop(tx);
        let news: Vec<Looked> = looks
            .into_iter()
            .filter(|look| {
                let pictures = pictures.get(look.owner.id()).map_or(&[][..], Vec::as_slice);
                let subtitles = subtitles.get(look.owner.id()).map_or(&[][..], Vec::as_slice);
                look.is_news(pictures, subtitles)
            })
            .collect();
        self.store_news(&news).await
    }

    /// Stores what looks found, on SQLite in one transaction. Where an owner is gone meanwhile, the others are stored one by one, as
    /// they are where writers lock rows: scans lock those of several items too, in another order.
    async fn store_news(&self, news: &[Looked]) -> Result<(), ArtworkError> {
        if news.is_empty() {
            return Ok(());
        }
        if self.ground.db.backend() == Backend::Sqlite {
            match self.store_together(news).await {
                Err(ArtworkError::NoSuchItem | ArtworkError::NoSuchShow) => {}
                stored => return stored,
            }
        }
        for one in news {
            match self.store_together(std::slice::from_ref(one)).await {
                Ok(()) | Err(ArtworkError::NoSuchItem | ArtworkError::NoSuchShow) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn store_together(&self, news: &[Looked]) -> Result<(), ArtworkError> {
        let mut tx = self.ground.db.begin_write().await?;
        for one in news {
            self.store_look(&mut tx, one).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn store_look(&self, tx: &mut Tx, look: &Looked) -> Result<(), ArtworkError> {
        let owner = &look.owner;
        let rows = repo::of_owner(tx, owner.id()).await?;
        let change = Difference::between(&rows, &look.pictures);
        let stored = self.store_difference(tx, owner, rows, change).await;
        stored.map_err(|error| gone(error, owner))?;
        if owner.item_id().is_some() {
            let (found, unread) = &look.subtitles;
            self.store_subtitles(tx, owner, found.clone(), unread).await?;
        }
        Ok(())
    }
}

/// Looks at the directories of an item or a show.
fn look(roots: &Roots, subject: Subject, listings: &mut Listings, cancel: &Cancel) -> Looked {
    match subject {
        Subject::Item(item) => {
            let (library, places) = (&item.library, &item.places);
            let is_episode = is_episode(&item);
            Looked {
                pictures: look_for_item(roots, library, places, is_episode, listings, cancel),
                subtitles: look_for_subtitles(roots, library, places, listings, cancel),
                owner: Owner::Item(item.id),
            }
        }
        Subject::Show(show) => Looked {
            pictures: look_for_show(roots, &show.library, &show.place, listings, cancel),
            subtitles: (Vec::new(), BTreeSet::new()),
            owner: Owner::Show(show.id),
        },
    }
}

/// Changes with each directory once; one that concerns what lies below counts for both.
fn merge(changes: &[SubjectChange]) -> Vec<SubjectChange> {
    let mut merged: BTreeMap<&str, SubjectChange> = BTreeMap::new();
    for change in changes {
        let known = merged
            .entry(&change.directory_id)
            .or_insert_with(|| change.clone());
        known.below |= change.below;
    }
    merged.into_values().collect()
}
