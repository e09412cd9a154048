//! Conflicts that a transfer into a directory would have. Looks only.
//! Bounds: at most [`MAX_SOURCES`](crate::dto::choices::MAX_SOURCES) are looked at, one after the other; the directory's
//! entries are held once; of a file at most 16 MiB are read. A caller that hangs up ends it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::unix::fs::FileExt;

use qm_release::Release;
use sha2::{Digest, Sha256};

use super::{Files, Looker};
use crate::dto::choices::FindConflicts;
use crate::dto::requests::TransferKind;
use crate::dto::reviews::{Conflict, ConflictReport, ReleaseInfo};
use crate::error::FilesError;
use crate::model::conflict::{ConflictKind, Quality, Resolution, Verdict, compare};
use qm_confined::{Base, Component, ConfinedPath, Dir, FsError, Intent, Kind, Meta, RelPath};
use qm_file_operations::{self as ops, Control, Lane, Page, shown_name};

/// A file up to twice this long is hashed whole, a longer one this much of both ends.
const HASHED_END: u64 = 8 * 1024 * 1024;

impl Files {
    pub async fn find_conflicts(
        &self,
        body: FindConflicts,
        looker: &Looker,
    ) -> Result<ConflictReport, FilesError> {
        self.look(Lane::Walk(looker.user()), looker, move |base, control| {
            let directory = destination(base, &body.destination.rel()?)?;
            let mut report = ConflictReport {
                destination: directory.rel().text(),
                conflicts: Vec::new(),
                clean: Vec::new(),
            };
            let mut place = Place::open(base, &directory, control)?;
            for source in &body.sources {
                control.check()?;
                let met = match Candidate::find(base, &source.rel()?)? {
                    Some(candidate) => place
                        .meets(&candidate)?
                        .map(|met| met.conflict(&candidate, body.operation, control)),
                    None => None,
                };
                match met {
                    Some(conflict) => report.conflicts.push(conflict?),
                    None => report.clean.push(source.as_given().to_owned()),
                }
            }
            Ok(report)
        })
        .await
    }
}

/// The directory that files are to go into; anything else is refused.
pub(super) fn destination(base: &Base, rel: &RelPath) -> Result<ConfinedPath, FilesError> {
    let item = match base.resolve(rel, Intent::Read) {
        Ok(item) => item,
        Err(FsError::NotFound(_) | FsError::NotADirectory(_)) => {
            return Err(FilesError::DestinationNoDirectory);
        }
        Err(other) => return Err(other.into()),
    };
    if item.meta()?.is_dir() {
        Ok(item)
    } else {
        Err(FilesError::DestinationNoDirectory)
    }
}

/// Item with the release that its name tells.
struct Candidate {
    item: ConfinedPath,
    meta: Meta,
    name: String,
    release: Release,
}

impl Candidate {
    /// `None`: there is nothing to transfer.
    fn find(base: &Base, rel: &RelPath) -> Result<Option<Self>, FsError> {
        let found = match base.resolve(rel, Intent::Read) {
            // A link that leads nowhere is something all the same.
            Err(FsError::NotFound(_)) => match base.resolve(rel, Intent::Change) {
                Err(FsError::NotFound(_) | FsError::Protected(_) | FsError::InTrash) => return Ok(None),
                found => found,
            },
            found => found,
        };
        match found.and_then(Self::from_item) {
            // It went meanwhile.
            Err(FsError::NotFound(_)) => Ok(None),
            found => found.map(Some),
        }
    }

    fn from_item(item: ConfinedPath) -> Result<Self, FsError> {
        let name = shown_name(&item);
        Ok(Self {
            meta: item.meta()?,
            release: qm_release::parse(&name),
            item,
            name,
        })
    }

    fn is_file(&self) -> bool {
        self.meta.kind == Kind::File
    }

    fn info(&self) -> ReleaseInfo {
        let release = &self.release;
        ReleaseInfo {
            path: self.item.rel().text(),
            path_raw: self.item.rel().raw(),
            name: self.name.clone(),
            size: self.meta.size,
            modified_at: Some(self.meta.modified),
            show: release.named().map(Cow::into_owned),
            season: release.season,
            episode: release.episode,
            resolution: release.resolution,
            source: release.source,
            codec: release.codec,
            release_group: release.release_group.clone(),
            proper: release.proper,
            repack: release.repack,
        }
    }
}

/// The destination.
struct Place<'a> {
    base: &'a Base,
    directory: &'a ConfinedPath,
    handle: Dir,
    meta: Meta,
    /// Files of the directory by release identity, the first of each; read when first needed.
    releases: Option<HashMap<String, Component>>,
    control: &'a Control,
}

/// Entry of the destination that a candidate conflicts with.
struct Met {
    target: Candidate,
    /// True when it is the candidate itself, which is in the destination already.
    itself: bool,
}

impl<'a> Place<'a> {
    fn open(base: &'a Base, directory: &'a ConfinedPath, control: &'a Control) -> Result<Self, FsError> {
        Ok(Self {
            base,
            directory,
            handle: directory.open_dir()?,
            meta: directory.meta()?,
            releases: None,
            control,
        })
    }

    /// Entry of the candidate's name, because the transfer would be refused; else the first release of the same episode or
    /// movie.
    fn meets(&mut self, candidate: &Candidate) -> Result<Option<Met>, FsError> {
        let Some(name) = candidate.item.name() else {
            return Ok(None);
        };
        // As the file system finds it, which may fold case.
        if let Ok(Some(_)) = self.handle.find(name) {
            let itself = self.holds(&candidate.item)?;
            let target = self.entry(name)?;
            return Ok(target.map(|target| Met { target, itself }));
        }
        let identity = qm_release::identity(&candidate.release).filter(|_| candidate.is_file());
        let Some(name) = identity.and_then(|identity| self.release(&identity).transpose()) else {
            return Ok(None);
        };
        let target = self.entry(&name?)?.filter(|target| {
            // Another name of the very file is no rival.
            target.meta.identity != candidate.meta.identity
        });
        let itself = false;
        Ok(target.map(|target| Met { target, itself }))
    }

    fn entry(&self, name: &Component) -> Result<Option<Candidate>, FsError> {
        let rel = self.directory.rel().join(name);
        match Candidate::find(self.base, &rel) {
            // A link that leads out of the roots takes the name as well.
            Err(FsError::Escapes | FsError::TooManyLinks(_)) => {
                let link = self.base.resolve(&rel, Intent::Change)?;
                Candidate::from_item(link).map(Some)
            }
            found => found,
        }
    }

    /// True when the item is an entry of this directory.
    fn holds(&self, item: &ConfinedPath) -> Result<bool, FsError> {
        let above = item.rel().parent().unwrap_or_default();
        let above = self.base.resolve(&above, Intent::Read)?;
        Ok(above.meta()?.identity == self.meta.identity)
    }

    fn release(&mut self, identity: &str) -> Result<Option<Component>, FsError> {
        if self.releases.is_none() {
            let listing = ops::list(self.directory, Page::default(), self.control)?;
            let mut first = HashMap::new();
            for entry in listing.items {
                if entry.kind == Kind::File
                    && let Some(identity) = qm_release::identity(&qm_release::parse(&entry.name.text()))
                {
                    first.entry(identity).or_insert(entry.name);
                }
            }
            self.releases = Some(first);
        }
        let releases = self.releases.as_ref();
        Ok(releases.and_then(|releases| releases.get(identity)).cloned())
    }
}

impl Met {
    fn conflict(
        &self,
        source: &Candidate,
        operation: TransferKind,
        control: &Control,
    ) -> Result<Conflict, FsError> {
        let target = &self.target;
        let are_files = source.is_file() && target.is_file();
        let kind = if self.itself || !are_files {
            ConflictKind::NameClash
        } else {
            kind_of(source, target, control)?
        };
        let (verdict, verdict_reasons) = if kind == ConflictKind::Identical || self.itself || !are_files {
            (Verdict::Equivalent, Vec::new())
        } else {
            let quality = |candidate: &Candidate| Quality::from_release(&candidate.name, &candidate.release);
            compare(&quality(source), &quality(target))
        };
        let allowed = kind.allowed().iter().copied();
        let allowed = allowed.filter(|resolution| match resolution {
            Resolution::Skip => true,
            // To move it there would only rename it.
            Resolution::KeepBoth => !self.itself || operation == TransferKind::Copy,
            Resolution::DeleteSource => !self.itself,
            Resolution::Replace => !self.itself && !target.meta.is_dir(),
        });
        Ok(Conflict {
            source: source.info(),
            target: target.info(),
            kind: kind.as_str(),
            identity_basis: (kind == ConflictKind::Identical).then_some("size+partial-hash"),
            verdict: verdict.as_str(),
            verdict_reasons,
            recommended: kind.recommended(verdict).as_str(),
            allowed: allowed.map(Resolution::as_str).collect(),
        })
    }
}

/// Similarity of two files, from their size, a partial hash and their release names.
fn kind_of(source: &Candidate, target: &Candidate, control: &Control) -> Result<ConflictKind, FsError> {
    let is_identical = source.meta.size == target.meta.size
        && match (partial_hash(source, control), partial_hash(target, control)) {
            (Ok(one), Ok(other)) => one == other,
            // What cannot be read is like nothing.
            (Err(_), _) | (_, Err(_)) => false,
        };
    control.check()?;
    let identity = qm_release::identity(&source.release);
    Ok(if is_identical {
        ConflictKind::Identical
    } else if identity.is_some() && identity == qm_release::identity(&target.release) {
        ConflictKind::SameEpisode
    } else {
        ConflictKind::NameClash
    })
}

/// Over the size, then all of a short file or both ends of a long one.
fn partial_hash(candidate: &Candidate, control: &Control) -> Result<[u8; 32], FsError> {
    let (file, meta) = candidate.item.open_file()?;
    let mut hash = Sha256::new();
    hash.update(meta.size.to_string());
    let spans = if meta.size <= 2 * HASHED_END {
        [(0, meta.size), (0, 0)]
    } else {
        [(0, HASHED_END), (meta.size - HASHED_END, HASHED_END)]
    };
    let mut buffer = vec![0; 128 * 1024];
    for (start, length) in spans {
        let mut at = start;
        while at < start + length {
            control.check()?;
            let part = buffer.len().min((start + length - at) as usize);
            file.read_exact_at(&mut buffer[..part], at)
                .map_err(|error| FsError::io(error, candidate.item.rel()))?;
            hash.update(&buffer[..part]);
            at += part as u64;
        }
    }
    Ok(hash.finalize().into())
}
