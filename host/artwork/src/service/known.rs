//! Answers to the media library about pictures and subtitles of its items and shows: what the last looks found.

use std::collections::BTreeMap;

use async_trait::async_trait;
use qm_ports::beside::{BesideUnread, KnownFile, KnownPicture, KnownSubtitle, MediaPictures, PictureLies};

use super::ArtworkArea;
use super::subtitles::all_of;
use crate::error::ArtworkError;
use crate::model::{ArtKind, Artwork, Lies};
use crate::repo;

#[async_trait]
impl MediaPictures for ArtworkArea {
    async fn list_posters(&self, items: &[String]) -> Result<Vec<KnownPicture>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let posters = repo::known::posters(&mut tx, items).await.map_err(unread)?;
        Ok(first_ones(posters))
    }

    async fn list_show_posters(&self, shows: &[String]) -> Result<Vec<KnownPicture>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let posters = repo::known::show_posters(&mut tx, shows).await.map_err(unread)?;
        Ok(first_ones(posters))
    }

    async fn list_item_pictures(&self, item: &str) -> Result<Vec<KnownPicture>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let rows = repo::of_owner(&mut tx, item).await.map_err(unread)?;
        let own = rows.into_iter().filter(|art| art.owner.item_id() == Some(item));
        Ok(own.map(known).collect())
    }

    async fn list_show_pictures(&self, show: &str) -> Result<Vec<KnownPicture>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let rows = repo::of_owner(&mut tx, show).await.map_err(unread)?;
        let mut own: Vec<Artwork> = rows
            .into_iter()
            .filter(|art| art.owner.show_id() == Some(show))
            .collect();
        // Those of the whole show first; the order within a season stays.
        own.sort_by_key(|art| art.season);
        Ok(own.into_iter().map(known).collect())
    }

    async fn list_subtitles(&self, item: &str) -> Result<Vec<KnownSubtitle>, BesideUnread> {
        let found = self.subjects.find_item(item).await.map_err(unread)?;
        let Some(subject) = found else {
            return Ok(Vec::new());
        };
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let rows = repo::subtitles::of_item(&mut tx, item).await.map_err(unread)?;
        let known = all_of(&subject, rows).into_iter().map(|one| KnownSubtitle {
            id: one.subtitle.id,
            place: one.subtitle.place,
            language: one.subtitle.tag.language,
            forced: one.subtitle.tag.forced,
            sdh: one.subtitle.tag.sdh,
            by_default: one.subtitle.tag.by_default,
            source: one.source,
            created_at: one.subtitle.created_at,
        });
        Ok(known.collect())
    }

    async fn list_files(&self, items: &[String]) -> Result<Vec<KnownFile>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let pictures = repo::known::pictures(&mut tx, items, &[]).await.map_err(unread)?;
        let subtitles = repo::known::subtitles(&mut tx, items).await.map_err(unread)?;
        let pictures = pictures.into_values().flatten().filter_map(|art| match art.lies {
            Lies::Beside { place, .. } => Some(KnownFile {
                id: art.id,
                kind: "artwork",
                place,
            }),
            Lies::Stored(_) | Lies::Elsewhere => None,
        });
        let subtitles = subtitles.into_values().flatten().map(|subtitle| KnownFile {
            id: subtitle.id,
            kind: "subtitle",
            place: subtitle.place,
        });
        let mut files: Vec<KnownFile> = pictures.chain(subtitles).collect();
        files.sort_by(|a, b| (&a.place, &a.id).cmp(&(&b.place, &b.id)));
        Ok(files)
    }
}

fn unread(error: impl Into<ArtworkError>) -> BesideUnread {
    BesideUnread(error.into().to_string())
}

/// Picture that stands for each owner, type and season: the selected one, else the oldest.
fn first_ones(pictures: Vec<Artwork>) -> Vec<KnownPicture> {
    let mut first: BTreeMap<(String, Option<i64>, ArtKind), Artwork> = BTreeMap::new();
    for art in pictures {
        let key = (art.owner.id().to_owned(), art.season, art.kind);
        let rank = |art: &Artwork| (!art.is_selected, art.created_at, art.id.clone());
        let is_better = first.get(&key).is_none_or(|known| rank(&art) < rank(known));
        if is_better {
            first.insert(key, art);
        }
    }
    first.into_values().map(known).collect()
}

fn known(art: Artwork) -> KnownPicture {
    KnownPicture {
        item_id: art.owner.item_id().map(str::to_owned),
        show_id: art.owner.show_id().map(str::to_owned),
        id: art.id,
        season: art.season,
        kind: art.kind.as_str(),
        source: art.source.as_str(),
        is_selected: art.is_selected,
        url: art.url,
        lies: match art.lies {
            Lies::Beside { place, .. } => PictureLies::Beside(place),
            Lies::Stored(path) => PictureLies::Stored(path),
            Lies::Elsewhere => PictureLies::Elsewhere,
        },
        width: art.width,
        height: art.height,
        created_at: art.created_at,
    }
}
