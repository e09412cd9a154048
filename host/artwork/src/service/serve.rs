//! Pictures as they are sent: read from the file, checked, without texts and camera data, and in the size that is wanted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use qm_confined::{FsError, Meta, Roots};
use qm_lanes::{Who, for_whom};
use sha2::{Digest as _, Sha256};

use super::ArtworkArea;
use crate::error::ArtworkError;
use crate::lanes::{LOOKS, PICTURES, SENDING};
use crate::model::picture::{Format, MAX_FILE, Picture, Refused, find_format};
use crate::model::{Artwork, Lies, Owner};
use crate::ops::cache::Cache;
use crate::ops::look::path_of;
use crate::ops::{render, store};
use crate::repo;

/// Bytes that are read at once.
const PIECE: u64 = 256 << 10;
/// Version of what is made; another one makes all anew.
const VERSION: &str = "1";

/// A picture on its way to a client.
#[derive(Debug)]
pub struct Served {
    pub format: Format,
    pub size: u64,
    /// Tells it from every other picture, and from other versions of this one.
    pub key: String,
    /// The beginning of the file.
    head: Bytes,
    /// None: the head is all.
    rest: Option<Arc<File>>,
}

impl ArtworkArea {
    /// The picture with this id, `width` pixels wide at most.
    pub async fn serve(&self, id: &str, width: Option<u32>) -> Result<Served, ArtworkError> {
        let mut tx = self.ground.db.begin_read().await?;
        let art = repo::find(&mut tx, id)
            .await?
            .ok_or(ArtworkError::NoSuchArtwork)?;
        drop(tx);
        let path = self.path_of(&art).await?;
        let (roots, cache, at, id) = (self.roots.clone(), self.cache.clone(), path.clone(), art.id);
        let looking = LOOKS.run(move |_| find_served(&roots, &cache, &at, (&id, width)));
        let (key, found) = looking.await??;
        if let Some(served) = found {
            return Ok(served);
        }
        let (roots, cache) = (self.roots.clone(), self.cache.clone());
        PICTURES
            .run(move |_| make_served(&roots, &cache, &path, key, width))
            .await?
    }

    /// Path of a picture's file.
    async fn path_of(&self, art: &Artwork) -> Result<PathBuf, ArtworkError> {
        match &art.lies {
            Lies::Elsewhere => Err(ArtworkError::NotStored),
            Lies::Stored(path) => Ok(PathBuf::from(path)),
            Lies::Beside { place, .. } => {
                let library = match &art.owner {
                    Owner::Item(id) => self.subjects.find_item(id).await?.map(|item| item.library),
                    Owner::Show(id) => self.subjects.find_show(id).await?.map(|show| show.library),
                };
                let library = library.ok_or(ArtworkError::NoSuchArtwork)?;
                Ok(path_of(&library, place))
            }
        }
    }
}

/// Name of a picture in the cache, by its file as it is now.
fn key_of(id: &str, meta: &Meta, width: Option<u32>) -> String {
    let (seconds, nanos) = meta.times.modified;
    let (device, inode) = (meta.identity.device, meta.identity.inode);
    let text = format!(
        "{VERSION} {id} {device} {inode} {} {seconds} {nanos} {width:?}",
        meta.size
    );
    hex::encode(&Sha256::digest(text)[..16])
}

/// The picture from the cache, if it is there, and its name there.
fn find_served(
    roots: &Roots,
    cache: &Cache,
    path: &Path,
    (id, width): (&str, Option<u32>),
) -> Result<(String, Option<Served>), ArtworkError> {
    let (_, meta) = store::open(roots, path)?;
    if meta.size > MAX_FILE {
        return Err(ArtworkError::Unusable(Refused::TooLarge(MAX_FILE)));
    }
    let key = key_of(id, &meta, width);
    let found = cache
        .get(&key)
        .and_then(|(file, size)| open_served(file, size, &key).ok());
    Ok((key, found))
}

/// Makes the picture, and stores it in the cache.
fn make_served(
    roots: &Roots,
    cache: &Cache,
    path: &Path,
    key: String,
    width: Option<u32>,
) -> Result<Served, ArtworkError> {
    let (file, _) = store::open(roots, path)?;
    let bytes = store::read(file, path)?;
    let bytes = bytes.ok_or(ArtworkError::Unusable(Refused::TooLarge(MAX_FILE)))?;
    let picture = Picture::read(&bytes).map_err(ArtworkError::Unusable)?;
    drop(bytes);
    let made = match width {
        Some(width) => render::resize(&picture, width).map_err(ArtworkError::Unusable)?,
        None => None,
    };
    let (format, bytes) = made.unwrap_or((picture.format, picture.bytes));
    match cache.put(&key, &bytes).and_then(|(file, size)| {
        open_served(file, size, &key).map_err(|error| FsError::io(error, "the cache of pictures"))
    }) {
        Ok(served) => Ok(served),
        Err(error) => {
            tracing::debug!(%error, "a picture was not cached");
            Ok(Served {
                format,
                size: bytes.len() as u64,
                key,
                head: bytes.into(),
                rest: None,
            })
        }
    }
}

/// A picture of the cache with its beginning.
fn open_served(file: File, size: u64, key: &str) -> io::Result<Served> {
    let mut head = vec![0; size.min(PIECE) as usize];
    file.read_exact_at(&mut head, 0)?;
    let format = find_format(&head).map_err(|refused| io::Error::other(refused.to_string()))?;
    Ok(Served {
        format,
        size,
        key: key.to_owned(),
        head: head.into(),
        rest: (size > PIECE).then(|| Arc::new(file)),
    })
}

impl Served {
    /// The bytes, read piece by piece when they are asked for.
    pub fn into_pieces(self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let sending = Sending {
            at: 0,
            size: self.size,
            head: Some(self.head),
            file: self.rest,
            // The body is sent when the handler has long answered.
            who: for_whom(),
        };
        futures_util::stream::unfold(sending, |mut sending| async move {
            let piece = sending.next().await?;
            if piece.is_err() {
                sending.file = None;
            }
            Some((piece, sending))
        })
    }
}

struct Sending {
    at: u64,
    size: u64,
    head: Option<Bytes>,
    file: Option<Arc<File>>,
    who: Option<Who>,
}

impl Sending {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if let Some(head) = self.head.take() {
            self.at = head.len() as u64;
            return Some(Ok(head));
        }
        let file = self.file.clone().filter(|_| self.at < self.size)?;
        let (at, length) = (self.at, (self.size - self.at).min(PIECE));
        self.at += length;
        let reading = SENDING.run_for(self.who.clone(), move |_| {
            let mut piece = vec![0; length as usize];
            file.read_exact_at(&mut piece, at).map(|()| Bytes::from(piece))
        });
        Some(reading.await.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}
