//! Reader of a data set file: gzip, a header, lines of tab-separated fields.
//!
//! No error message contains text of a foreign file: a caller who may name a file may not be allowed to read
//! it.
//!
//! Bounds: a line of 1 MiB; batches of [`BATCH_ROWS`] rows or [`BATCH_BYTES`] of text, of which a few wait; a
//! file is read and expanded up to its [`Reach`]. A stop is checked every [`BUFFER`] bytes of either, also
//! inside a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use qm_lanes::Cancel;

use super::open::{Unopened, look, open as open_file};
use crate::model::batch::Batch;
use crate::model::file::{SOURCES, Source, Table};
use crate::model::ids::IdSet;
use crate::model::plan::{Plan, Stats};
use crate::model::report::Examined;

pub const BATCH_ROWS: usize = 10_000;
const BATCH_BYTES: usize = 4 << 20;
const MAX_LINE: usize = 1 << 20;
const BUFFER: usize = 256 << 10;

/// Limits of reading a file.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Largest number of bytes of the compressed file.
    pub packed: u64,
    /// Largest number of bytes after expansion.
    pub expanded: u64,
}

impl Reach {
    /// For a whole file; IMDb's largest expands to about 4 GiB.
    pub const WHOLE: Reach = Reach {
        packed: u64::MAX,
        expanded: 64 << 30,
    };
    /// For the longest header, with the bytes that are read ahead.
    pub const HEADER: Reach = Reach {
        packed: 2 << 20,
        expanded: 2 << 20,
    };
}

/// Reason why a read ended early.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Halt {
    #[error("it was stopped")]
    Stopped,
    #[error("it is too large")]
    TooLarge,
}

/// A reader with a limit and a stop signal.
struct Bounded<R> {
    inner: R,
    left: u64,
    cancel: Cancel,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_set() {
            return Err(io::Error::other(Halt::Stopped));
        }
        // One byte more shows that there is more.
        let most = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX);
        let room = buffer.len().min(most);
        let read = self.inner.read(&mut buffer[..room])?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other(Halt::TooLarge))?;
        Ok(read)
    }
}

/// Fault of a file.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("{file} is not there")]
    Missing { file: &'static str },
    #[error("{file} is no regular file: put the file itself there, for links are not followed")]
    Irregular { file: &'static str },
    #[error("{file} is no gzip file, as those of IMDb are; download it again")]
    NotGzip { file: &'static str },
    #[error(
        "{file} begins with a line of more than 1 MiB, and not with the names of its columns; download it again"
    )]
    LongHeader { file: &'static str },
    /// It exceeds its [`Reach`].
    #[error("{file} expands to more than a file of the data set does; download it again")]
    TooLarge { file: &'static str },
    #[error("it was stopped")]
    Stopped,
    #[error("{file} is damaged or ends in the middle: {reason}; download it again")]
    Damaged { file: &'static str, reason: String },
    #[error("{file} has no column {}", .columns.join(", "))]
    Columns {
        file: &'static str,
        columns: Vec<&'static str>,
    },
    /// None of the files could be downloaded.
    #[error("The data set cannot be downloaded: {0}")]
    Download(String),
    #[error("{file} cannot be read")]
    Io {
        file: &'static str,
        #[source]
        source: io::Error,
    },
}

/// Parsed rows, and the position in the file.
pub struct Piece {
    pub batch: Batch,
    /// Lines read, including the header.
    pub lines: u64,
    /// Counts since the previous piece.
    pub stats: Stats,
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// An open file after its header.
pub struct Opened {
    source: &'static Source,
    lines: BufReader<Bounded<MultiGzDecoder<BufReader<Bounded<Counted>>>>>,
    /// Field of each table column.
    places: Vec<Option<usize>>,
    line: Vec<u8>,
}

/// Opens a file and parses its header; `read` counts its bytes.
pub fn open(
    directory: &Path,
    source: &'static Source,
    read: Arc<AtomicU64>,
    reach: Reach,
    cancel: &Cancel,
) -> Result<Opened, FileFault> {
    let file = source.file;
    let opened = open_file(directory, file).map_err(|unopened| match unopened {
        Unopened::Missing => FileFault::Missing { file },
        Unopened::Irregular => FileFault::Irregular { file },
        Unopened::Io(source) => FileFault::Io { file, source },
    })?;
    let packed = Bounded {
        inner: Counted { file: opened, read },
        left: reach.packed,
        cancel: cancel.clone(),
    };
    let mut raw = BufReader::with_capacity(BUFFER, packed);
    let begins = raw.fill_buf().map_err(|error| halted(file, error, unread))?;
    if !begins.starts_with(&[0x1f, 0x8b]) {
        return Err(FileFault::NotGzip { file });
    }
    let expanded = Bounded {
        inner: MultiGzDecoder::new(raw),
        left: reach.expanded,
        cancel: cancel.clone(),
    };
    let mut opened = Opened {
        source,
        lines: BufReader::with_capacity(BUFFER, expanded),
        places: Vec::new(),
        line: Vec::new(),
    };
    opened.read_header()?;
    Ok(opened)
}

/// Converts an I/O error: a stop or a limit, or else the result of `other`.
fn halted(
    file: &'static str,
    error: io::Error,
    other: impl FnOnce(&'static str, io::Error) -> FileFault,
) -> FileFault {
    let halt = error.get_ref().and_then(|inner| inner.downcast_ref::<Halt>());
    match halt.copied() {
        Some(Halt::Stopped) => FileFault::Stopped,
        Some(Halt::TooLarge) => FileFault::TooLarge { file },
        None => other(file, error),
    }
}

fn unread(file: &'static str, source: io::Error) -> FileFault {
    FileFault::Io { file, source }
}

fn damaged(file: &'static str, error: io::Error) -> FileFault {
    FileFault::Damaged {
        file,
        reason: error.to_string(),
    }
}

/// Result of reading a line.
enum Line {
    Read,
    TooLong,
    End,
}

impl Opened {
    fn read_header(&mut self) -> Result<(), FileFault> {
        if matches!(self.next_line(false)?, Line::TooLong) {
            return Err(FileFault::LongHeader {
                file: self.source.file,
            });
        }
        let header = String::from_utf8_lossy(&self.line).into_owned();
        let header = header.trim_start_matches('\u{feff}');
        let names: Vec<&str> = header.split('\t').map(str::trim).collect();
        let place = |name| names.iter().position(|found| *found == name);
        let columns = self.source.columns;
        self.places = columns.iter().map(|column| place(column.name)).collect();
        let missing: Vec<&str> = columns
            .iter()
            .zip(&self.places)
            .filter(|(_, place)| place.is_none())
            .map(|(column, _)| column.name)
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(FileFault::Columns {
                file: self.source.file,
                columns: missing,
            })
        }
    }

    /// Reads the next line, without its end. A line that is too long is skipped, or else left unread.
    fn next_line(&mut self, passes_over: bool) -> Result<Line, FileFault> {
        let file = self.source.file;
        self.line.clear();
        let mut whole = true;
        loop {
            let piece = self.lines.fill_buf();
            let piece = piece.map_err(|error| halted(file, error, damaged))?;
            if piece.is_empty() {
                return Ok(match (self.line.is_empty(), whole) {
                    (_, false) => Line::TooLong,
                    (true, true) => Line::End,
                    (false, true) => Line::Read,
                });
            }
            let end = memchr(piece);
            let taken = end.unwrap_or(piece.len());
            if self.line.len() + taken > MAX_LINE {
                whole = false;
                self.line.clear();
                if !passes_over {
                    return Ok(Line::TooLong);
                }
            }
            if whole {
                self.line.extend_from_slice(&piece[..taken]);
            }
            self.lines.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                if self.line.last() == Some(&b'\r') {
                    self.line.pop();
                }
                return Ok(if whole { Line::Read } else { Line::TooLong });
            }
        }
    }

    /// Reads the rest in pieces. The first `skipped` lines were read before, and their titles are in `kept`.
    /// Ends early when `sink` returns false.
    pub fn read(
        mut self,
        plan: &Plan,
        kept: &mut IdSet,
        skipped: u64,
        mut sink: impl FnMut(Piece) -> bool,
    ) -> Result<(), FileFault> {
        let source = self.source;
        let mut number: u64 = 1;
        while number < skipped {
            if matches!(self.next_line(true)?, Line::End) {
                break;
            }
            number += 1;
        }
        let mut batch = Batch::new(source.table);
        let mut stats = Stats::default();
        loop {
            let line = self.next_line(true)?;
            let ended = matches!(line, Line::End);
            if !ended {
                number += 1;
                stats.rows_scanned += 1;
                let read = match line {
                    Line::TooLong => Err("it is longer than 1 MiB".to_owned()),
                    _ => self.take(&mut batch),
                };
                match read {
                    Err(why) => stats.bad(source, number, &why),
                    Ok(()) => match plan.skips(&batch, |id| kept.contains(id)) {
                        Some(skip) => {
                            batch.pop();
                            stats.skip(skip);
                        }
                        None => {
                            stats.rows_imported += 1;
                            if source.table == Table::Titles
                                && plan.needs_titles()
                                && let Some(id) = batch.last_id()
                            {
                                kept.insert(id);
                            }
                        }
                    },
                }
            }
            // Skipped rows count too: a stop, and the stored position, must not wait for kept rows.
            let is_full = batch.rows() >= BATCH_ROWS
                || batch.size() >= BATCH_BYTES
                || stats.rows_scanned >= 50 * BATCH_ROWS as u64;
            if is_full || ended {
                let piece = Piece {
                    batch: std::mem::replace(&mut batch, Batch::new(source.table)),
                    lines: number,
                    stats: std::mem::take(&mut stats),
                };
                if !sink(piece) || ended {
                    return Ok(());
                }
            }
        }
    }

    fn take(&self, batch: &mut Batch) -> Result<(), String> {
        let line = std::str::from_utf8(&self.line).map_err(|_| "it is not UTF-8".to_owned())?;
        let mut fields = [""; 32];
        let mut count = 0;
        for field in line.split('\t') {
            let Some(place) = fields.get_mut(count) else {
                return Err("it has too many fields".to_owned());
            };
            *place = field;
            count += 1;
        }
        let needed = self.places.iter().flatten().max().map_or(0, |place| place + 1);
        if count < needed {
            return Err(format!("it has {count} fields of {needed}"));
        }
        batch.push(self.source, &fields[..count], &self.places)
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// Examines every file of a directory: size, first bytes and header.
pub fn examine(directory: &Path, cancel: &Cancel) -> Vec<Examined> {
    let examine = |source: &'static Source| {
        let known = look(directory, source.file);
        let mut examined = Examined {
            source,
            size: known.map(|known| known.size),
            gzip_ok: true,
            header_ok: true,
            error: None,
        };
        match open(directory, source, Arc::default(), Reach::HEADER, cancel) {
            Ok(_) => {}
            Err(FileFault::Missing { .. }) => (examined.gzip_ok, examined.header_ok) = (false, false),
            Err(fault) => {
                examined.gzip_ok = matches!(fault, FileFault::Columns { .. } | FileFault::LongHeader { .. });
                examined.header_ok = false;
                examined.error = Some(fault.to_string());
            }
        }
        examined
    };
    SOURCES
        .iter()
        .take_while(|_| !cancel.is_set())
        .map(examine)
        .collect()
}

fn since_1970(at: std::time::SystemTime) -> i64 {
    at.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A file to import.
#[derive(Clone, Debug)]
pub struct Present {
    pub source: &'static Source,
    pub size: u64,
    pub modified: i64,
}

/// The present files of a plan, in order.
pub fn present(directory: &Path, plan: &Plan) -> Vec<Present> {
    let found = plan.sources().filter_map(|source| {
        let known = look(directory, source.file)?;
        Some(Present {
            source,
            size: known.size,
            modified: since_1970(known.modified),
        })
    });
    found.collect()
}

/// Version of the mapping from title types to kinds: a store of another version is imported anew.
const KINDS: u32 = 2;

/// Identity of files and plan: a store loaded from others is not continued.
pub fn fingerprint(directory: &Path, files: &[Present], plan: &Plan) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|file| format!("{} {} {}", file.source.file, file.size, file.modified))
        .collect();
    // A plan always serialises.
    let plan = serde_json::to_string(plan).unwrap_or_default();
    format!("{KINDS}\n{}\n{}\n{plan}", directory.display(), files.join("\n"))
}

/// Identifier of the machine's present boot.
pub fn boot() -> String {
    std::fs::read_to_string(PathBuf::from("/proc/sys/kernel/random/boot_id"))
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
