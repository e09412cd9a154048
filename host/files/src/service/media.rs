//! The bytes of a file: tickets, and the reading of what a player or a download asks for.
//!
//! The file that was checked is the file that is read, whatever takes its name meanwhile. A reader that stops holds one
//! chunk; a file that shrinks while it is sent ends the answer with an error instead of with other bytes.
//! Bounds: [`CHUNK`] bytes in memory a stream.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use futures_util::Stream;
use qm_kernel::Permission;
use qm_lanes::{Who, for_whom, on_behalf};
use sha2::{Digest, Sha256};

use super::browse::shown_name;
use super::{Caller, Files};
use crate::dto::answers::TicketView;
use crate::dto::requests::{PathQuery, StreamQuery, WirePath};
use crate::error::FilesError;
use crate::model::kind::{extension, mime};
use crate::model::range::{Span, Validators};
use crate::model::ticket::mark;
use crate::ops::{Lane, Workers};
use qm_confined::{FsError, Identity, Intent, RelPath};

const CHUNK: u64 = 256 * 1024;
/// In bytes, percent-encoded.
const MAX_TICKET_PATH: usize = 2048;

/// An open file.
pub struct Media {
    pub name: String,
    pub size: u64,
    pub mime: &'static str,
    pub validators: Validators,
    /// Tells it from every other file.
    mark: String,
    file: Arc<File>,
    workers: Workers,
}

/// A piece of an answer's body.
pub enum Content {
    Text(Bytes),
    /// Bytes of the file.
    Span(Span),
}

impl Files {
    /// A ticket for a file that is there.
    pub async fn issue_ticket(&self, caller: &Caller, path: &WirePath) -> Result<TicketView, FilesError> {
        let rel = path.rel()?;
        // A ticket for what cannot be streamed would be of no use.
        let media = self.open(rel.clone(), FilesError::StreamsDirectory).await?;
        let user_id = &caller.principal.user_id;
        let issued = self
            .tickets
            .issue(&bound_to(&rel), &media.mark, user_id, self.ctx.now());
        let (token, expires_at) = issued;
        Ok(TicketView {
            token,
            path: rel.text(),
            path_raw: rel.raw(),
            expires_at,
        })
    }

    /// The file of a ticket, as long as it is the one the ticket was issued for and the user may still see it.
    pub async fn stream(&self, query: StreamQuery) -> Result<Media, FilesError> {
        let claims = self
            .tickets
            .verify(&query.ticket, self.ctx.now())
            .ok_or(FilesError::BadTicket)?;
        let rel = query.path.rel()?;
        if bound_to(&rel) != claims.path {
            return Err(FilesError::OtherPath);
        }
        let holds = self.holders.holds(&claims.user_id, Permission::FilesPreview);
        match holds.await {
            Ok(true) => {}
            Ok(false) => return Err(FilesError::BadTicket),
            Err(reason) => return Err(FilesError::HolderUnknown(reason)),
        }
        let media = self.open(rel, FilesError::StreamsDirectory).await?;
        if media.mark != claims.file {
            return Err(FilesError::OtherFile);
        }
        Ok(media)
    }

    pub async fn download(&self, query: PathQuery) -> Result<Media, FilesError> {
        let rel = query.path.rel()?;
        self.open(rel, FilesError::DownloadsDirectory).await
    }

    /// Sources that may frame a streamed file, as a policy names them.
    pub fn frame_ancestors(&self) -> &str {
        &self.frame_ancestors
    }

    /// Randomness that no file holds, to mark the parts of an answer with.
    pub fn boundary(&self) -> String {
        hex::encode(self.ctx.bytes::<16>())
    }

    async fn open(&self, rel: RelPath, if_directory: FilesError) -> Result<Media, FilesError> {
        let workers = self.workers.clone();
        let now = self.ctx.now();
        self.on_disk(Lane::Look, move |base| {
            let item = base.resolve(&rel, Intent::Read)?;
            let (file, meta) = match item.open_file() {
                Err(FsError::IsADirectory(_)) => return Err(if_directory),
                opened => opened?,
            };
            let name = shown_name(&item);
            let Identity { device, inode } = meta.identity;
            let root = base.root().unwrap_or_default();
            let (seconds, nanos) = meta.times.modified;
            let modified_ns = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
            Ok(Media {
                mark: mark(&root, device, inode, made_ns(&file)),
                mime: mime(extension(&name).as_deref()),
                size: meta.size,
                validators: Validators::new(meta.identity.inode, meta.size, modified_ns, now),
                file: Arc::new(file),
                workers,
                name,
            })
        })
        .await
    }
}

/// When the file was made, where its file system keeps that, in nanoseconds; 0 elsewhere.
fn made_ns(file: &File) -> i128 {
    let made = file.metadata().and_then(|metadata| metadata.created());
    let since_epoch = made.ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    since_epoch.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}

/// What a ticket says of its path: the path, or what stands for a long one. A ticket has to fit into an address.
fn bound_to(rel: &RelPath) -> String {
    let path = rel.encoded();
    if path.len() <= MAX_TICKET_PATH {
        return path;
    }
    // No path begins like this.
    format!("sha256:{}", hex::encode(Sha256::digest(path)))
}

impl Media {
    /// The pieces one after the other, read when they are asked for.
    pub fn read(&self, pieces: Vec<Content>) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let reader = Reader {
            file: Arc::clone(&self.file),
            workers: self.workers.clone(),
            // The body is sent when the handler has long answered.
            who: for_whom(),
            pieces: pieces.into(),
        };
        futures_util::stream::unfold(reader, |mut reader| async move {
            let piece = reader.next().await?;
            if piece.is_err() {
                reader.pieces.clear();
            }
            Some((piece, reader))
        })
    }
}

struct Reader {
    file: Arc<File>,
    workers: Workers,
    who: Option<Who>,
    pieces: VecDeque<Content>,
}

impl Reader {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let span = match self.pieces.pop_front()? {
                Content::Text(text) => return Some(Ok(text)),
                Content::Span(span) => span,
            };
            if span.start >= span.end {
                continue;
            }
            let end = span.end.min(span.start + CHUNK);
            let rest = Span {
                start: end,
                end: span.end,
            };
            self.pieces.push_front(Content::Span(rest));
            let file = Arc::clone(&self.file);
            let reading = self.workers.run(Lane::Look, move || {
                let mut chunk = vec![0; (end - span.start) as usize];
                file.read_exact_at(&mut chunk, span.start)
                    .map_err(|error| FsError::io(error, "the file that is being sent"))?;
                Ok::<_, FsError>(chunk)
            });
            let chunk = match self.who.clone() {
                Some(who) => on_behalf(who, reading).await,
                None => reading.await,
            };
            return Some(chunk.map(Bytes::from).map_err(io::Error::other));
        }
    }
}
