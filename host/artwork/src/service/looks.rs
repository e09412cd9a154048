//! Looks beside videos wherever a scan saw a change, so that lists and counts know pictures and subtitles before anybody asks for
//! those of an item.
//!
//! A change is forgotten only after what was found is stored: a crash repeats a look, which then finds nothing new. Bounds:
//! [`CHANGES`] changes and [`ITEMS`] items at once; one look of the loop runs at a time. A round without changes is one
//! statement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use qm_db::{Backend, Tx};
use qm_kernel::as_error;
use qm_ports::subjects::{ChangeReader, SubjectChange, SubjectItem, SubjectShow};
use tokio_util::sync::CancellationToken;

use super::list::gone;
use super::subtitles::is_gone;
use super::{ArtworkArea, is_episode};
use crate::error::ArtworkError;
use crate::lanes::LOOKS;
use crate::model::local::Look;
use crate::model::subtitle::{Subtitle, Tag};
use crate::model::{Artwork, Difference, Owner};
use crate::ops::look::{Listings, look_for_item, look_for_show, look_for_subtitles};
use crate::repo;

/// Changes that are taken at once.
const CHANGES: usize = 64;
/// Items that are looked at and stored at once.
const ITEMS: usize = 64;

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
            let mut waiting = Vec::new();
            for change in merge(&changes) {
                looked += self.look_at_change(&change, &mut waiting).await?;
            }
            self.look_at(std::mem::take(&mut waiting)).await?;
            let numbers: Vec<i64> = changes.iter().map(|change| change.number).collect();
            self.subjects.forget_changes(&numbers).await?;
        }
        Ok(looked)
    }

    /// Looks at what a change concerns, as far as enough has come together; the rest stays in `waiting`.
    async fn look_at_change(
        &self,
        change: &SubjectChange,
        waiting: &mut Vec<Subject>,
    ) -> Result<usize, ArtworkError> {
        let shows = self.subjects.list_changed_shows(change).await?;
        let mut count = shows.len();
        waiting.extend(shows.into_iter().map(Subject::Show));
        let mut after = String::new();
        loop {
            let items = self.subjects.list_changed_items(change, &after, ITEMS).await?;
            count += items.len();
            let Some(last) = items.last() else { break };
            after.clone_from(&last.id);
            waiting.extend(items.into_iter().map(Subject::Item));
            if waiting.len() >= ITEMS {
                self.look_at(std::mem::take(waiting)).await?;
            }
        }
        Ok(count)
    }

    /// Looks at items and shows, and stores what is new.
    async fn look_at(&self, subjects: Vec<Subject>) -> Result<(), ArtworkError> {
        if subjects.is_empty() {
            return Ok(());
        }
        let roots = self.roots.clone();
        let looking = LOOKS.run(move |cancel| {
            let mut listings = Listings::default();
            let looks = subjects.into_iter().map(|subject| match subject {
                Subject::Item(item) => {
                    let is_episode = is_episode(&item);
                    Looked {
                        pictures: look_for_item(
                            &roots,
                            &item.library,
                            &item.places,
                            is_episode,
                            &mut listings,
                            &cancel,
                        ),
                        subtitles: look_for_subtitles(
                            &roots,
                            &item.library,
                            &item.places,
                            &mut listings,
                            &cancel,
                        ),
                        owner: Owner::Item(item.id),
                    }
                }
                Subject::Show(show) => Looked {
                    pictures: look_for_show(&roots, &show.library, &show.place, &mut listings, &cancel),
                    subtitles: (Vec::new(), BTreeSet::new()),
                    owner: Owner::Show(show.id),
                },
            });
            looks.collect::<Vec<Looked>>()
        });
        let looks = looking.await?;
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
