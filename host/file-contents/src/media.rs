//! The bytes of an open file, read as a player or a download asks for them.
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
use qm_confined::{ConfinedPath, FsError, Identity};
use qm_file_operations::{Lane, Workers, shown_name};
use qm_kernel::Timestamp;
use qm_lanes::{Who, for_whom, on_behalf};

use super::kind::{extension, mime};
use super::range::{Span, Validators};
use super::ticket::mark;

const CHUNK: u64 = 256 * 1024;

/// An open file.
pub struct Media {
    pub name: String,
    pub size: u64,
    pub mime: &'static str,
    pub validators: Validators,
    /// Tells it from every other file.
    pub mark: String,
    file: Arc<File>,
    workers: Workers,
}

/// A piece of an answer's body.
pub enum Content {
    Text(Bytes),
    /// Bytes of the file.
    Span(Span),
}

/// Instant at which the file was made, where its file system keeps that, in nanoseconds; 0 elsewhere.
fn made_ns(file: &File) -> i128 {
    let made = file.metadata().and_then(|metadata| metadata.created());
    let since_epoch = made.ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    since_epoch.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}

impl Media {
    /// Opens the file of an item. `root` is the root in effect.
    pub fn open(item: &ConfinedPath, root: &str, workers: Workers, now: Timestamp) -> Result<Self, FsError> {
        let (file, meta) = item.open_file()?;
        let name = shown_name(item);
        let Identity { device, inode } = meta.identity;
        let (seconds, nanos) = meta.times.modified;
        let modified_ns = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Ok(Self {
            mark: mark(root, device, inode, made_ns(&file)),
            mime: mime(extension(&name).as_deref()),
            size: meta.size,
            validators: Validators::new(inode, meta.size, modified_ns, now),
            file: Arc::new(file),
            workers,
            name,
        })
    }

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
