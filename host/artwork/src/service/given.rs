//! Pictures that people or a provider gave, and their files in the store.
//!
//! A file is noted in a row before it is written, and the row of its picture follows: whatever a crash leaves is removed by
//! the sweep.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use qm_db::Tx;
use qm_kernel::Caller;
use qm_lanes::LaneError;
use serde_json::{Value, json};

use super::list::{Shown, gone, shown_path};
use super::{ArtworkArea, NEEDED};
use crate::error::ArtworkError;
use crate::lanes::{PICTURES, STORE};
use crate::model::picture::{Format, MAX_GIVEN, Picture, Refused};
use crate::model::{ArtKind, Artwork, Lies, MAX_GIVEN_OF_TYPE, Owner, Source};
use crate::ops::{render, store};
use crate::repo;

/// Names tried for a file, which has the time in it, and transactions for its row.
const ATTEMPTS: i64 = 100;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A picture from a person.
#[derive(Debug)]
pub struct Upload {
    /// Word of its type.
    pub kind: String,
    /// Base64, with or without the beginning of a `data:` address.
    pub data: String,
    pub filename: Option<String>,
    pub mime: Option<String>,
    pub season: Option<i64>,
}

/// A picture that may be stored.
pub(super) struct Given {
    pub kind: ArtKind,
    pub season: Option<i64>,
    pub source: Source,
    pub url: Option<String>,
    pub picture: Picture,
    /// It takes the place of the selected one.
    pub is_selected: bool,
}

impl ArtworkArea {
    /// Stores a picture of an item, selects it, and returns it with the path of its file.
    pub async fn upload_for_item(
        &self,
        caller: Caller<'_>,
        id: &str,
        upload: Upload,
    ) -> Result<Shown, ArtworkError> {
        self.check(caller).await?;
        let item = self.find_item(id).await?;
        self.upload(caller, Owner::Item(item.id), upload).await
    }

    /// Stores a picture of a show or of a season.
    pub async fn upload_for_show(
        &self,
        caller: Caller<'_>,
        id: &str,
        upload: Upload,
    ) -> Result<Shown, ArtworkError> {
        self.check(caller).await?;
        let show = self.find_show(id).await?;
        self.upload(caller, Owner::Show(show.id), upload).await
    }

    async fn upload(&self, caller: Caller<'_>, owner: Owner, upload: Upload) -> Result<Shown, ArtworkError> {
        let word = &upload.kind;
        let kind = ArtKind::from_word(word).ok_or_else(|| ArtworkError::BadType(word.clone()))?;
        let season = upload.season;
        // Those that wait would hold their pictures in memory.
        let room = self.in_hand.try_acquire();
        let _room = room.map_err(|_| LaneError::Full("artwork.uploads"))?;
        let picture = PICTURES.run(move |_| read_upload(upload)).await??;
        let mut metadata = json!({
            "type": kind.as_str(), "mime": picture.format.mime(), "bytes": picture.bytes.len(),
        });
        if let Some(season) = season {
            metadata["seasonNumber"] = season.into();
        }
        let given = Given {
            kind,
            season,
            source: Source::Custom,
            url: None,
            picture,
            is_selected: true,
        };
        let art = self.write_file(&owner, given).await?;
        self.store_given(caller, &art, "media.artwork.upload", metadata)
            .await?;
        let path = shown_path("", &art);
        Ok((art, path))
    }

    /// Stores the row of a picture whose file is written, with its audit; false if the owner has the picture already.
    pub(super) async fn store_given(
        &self,
        caller: Caller<'_>,
        art: &Artwork,
        action: &'static str,
        metadata: Value,
    ) -> Result<bool, ArtworkError> {
        for _ in 0..ATTEMPTS {
            let mut tx = self.ground.db.begin_write().await?;
            let acting = &self.ground.acting;
            let actor = acting.judge(&mut tx, caller.principal, &[NEEDED]).await?;
            let rows = repo::of_owner(&mut tx, art.owner.id()).await?;
            if rows.iter().any(|row| row.distinct() == art.distinct()) {
                return Ok(false);
            }
            // Another picture of the type may be selected at the same moment.
            if self.add_given(&mut tx, &rows, art).await? {
                self.commit(tx, caller, &actor, (action, &art.owner), metadata)
                    .await?;
                return Ok(true);
            }
        }
        Err(LaneError::Full("artwork.rows").into())
    }

    /// Writes the file of a picture, and returns the row that it needs.
    pub(super) async fn write_file(&self, owner: &Owner, given: Given) -> Result<Artwork, ArtworkError> {
        let (width, height) = given.picture.shown_size();
        let path = self.note_file(owner, &given).await?;
        let (roots, to, bytes) = (self.roots.clone(), path.clone(), given.picture.bytes);
        let written = STORE.run(move |_| store::write(&roots, &to, &bytes)).await?;
        written.map_err(ArtworkError::Path)?;
        Ok(Artwork {
            id: self.ground.ctx.ordered_id(),
            owner: owner.clone(),
            season: given.season,
            kind: given.kind,
            source: given.source,
            is_selected: given.is_selected,
            url: given.url,
            lies: Lies::Stored(path),
            width: Some(i64::from(width)),
            height: Some(i64::from(height)),
            created_at: self.ground.ctx.now(),
        })
    }

    /// Notes a file that is about to be written, and returns its path.
    async fn note_file(&self, owner: &Owner, given: &Given) -> Result<String, ArtworkError> {
        let now = self.ground.ctx.now();
        let directory = owner.directory(given.season);
        let (kind, ending) = (given.kind.as_str(), given.picture.format.extension());
        let mut tx = self.ground.db.begin_write().await?;
        for attempt in 0..ATTEMPTS {
            let name = format!("{kind}-{}.{ending}", now.ms() + attempt);
            let path = store::path_in_store(&self.roots, &directory, &name).ok_or(ArtworkError::NoRoot)?;
            if repo::note_file(&mut tx, &path, now).await? {
                tx.commit().await?;
                return Ok(path);
            }
        }
        Err(LaneError::Full("artwork.names").into())
    }

    /// Adds the row of a picture to those of its owner; false if another one is selected at this moment. What is too much of
    /// its type goes.
    async fn add_given(&self, tx: &mut Tx, rows: &[Artwork], art: &Artwork) -> Result<bool, ArtworkError> {
        let owner = &art.owner;
        let of_type = |row: &&Artwork| (row.kind, row.season) == (art.kind, art.season);
        let mut given: Vec<&Artwork> = rows
            .iter()
            .filter(of_type)
            .filter(|row| matches!(row.lies, Lies::Stored(_)))
            .collect();
        given.sort_by_key(|row| (row.is_selected, row.created_at, row.id.clone()));
        let surplus = (given.len() + 1).saturating_sub(MAX_GIVEN_OF_TYPE);
        for old in given.iter().take(surplus) {
            repo::remove(tx, &old.id).await?;
        }
        let mut art = art.clone();
        if art.is_selected {
            repo::clear(tx, owner.id(), art.kind, art.season).await?;
        } else {
            art.is_selected = !rows.iter().filter(of_type).any(|row| row.is_selected);
        }
        repo::add(tx, &art).await.map_err(|error| gone(error, owner))
    }
}

/// Picture in an upload, whole and readable.
fn read_upload(upload: Upload) -> Result<Picture, ArtworkError> {
    let (said, data) = match upload.data.strip_prefix("data:") {
        None => (None, upload.data.as_str()),
        Some(rest) => {
            let (head, data) = rest.split_once(',').ok_or(ArtworkError::NotBase64)?;
            let mime = head.strip_suffix(";base64").ok_or(ArtworkError::NotBase64)?;
            (Some(mime.to_owned()).filter(|mime| !mime.is_empty()), data)
        }
    };
    if data.len() / 4 * 3 > MAX_GIVEN + 4 {
        return Err(Refused::TooLarge(MAX_GIVEN as u64).into());
    }
    let bytes = LENIENT.decode(data.trim()).map_err(|_| ArtworkError::NotBase64)?;
    let (filename, mimes) = (upload.filename, [upload.mime, said]);
    drop(upload.data);
    let picture = read_whole(&bytes)?;
    drop(bytes);
    for mime in mimes.into_iter().flatten() {
        let named = mime.trim().to_ascii_lowercase();
        let named = if named == "image/jpg" {
            "image/jpeg"
        } else {
            &named
        };
        if named != picture.format.mime() {
            return Err(ArtworkError::OtherMime(clip(&mime), picture.format));
        }
    }
    if let Some(name) = filename.filter(|name| !name.is_empty()) {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        if ending.and_then(Format::of_extension) != Some(picture.format) {
            return Err(ArtworkError::OtherName(clip(&name), picture.format));
        }
    }
    render::check(&picture)?;
    Ok(picture)
}

/// A picture of at most [`MAX_GIVEN`] bytes.
pub(super) fn read_whole(bytes: &[u8]) -> Result<Picture, Refused> {
    if bytes.len() > MAX_GIVEN {
        return Err(Refused::TooLarge(MAX_GIVEN as u64));
    }
    Picture::read(bytes)
}

fn clip(text: &str) -> String {
    let plain = text.chars().filter(|letter| !letter.is_control());
    format!("\"{}\"", plain.take(100).collect::<String>())
}
