//! Which files would meet another in a directory. Looks only.
//! Bounds: the directory's entries are held once; of a file at most 16 MiB are read.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;

use qm_release::Release;
use sha2::{Digest, Sha256};

use super::Files;
use super::browse::shown_name;
use crate::confined::{Base, Component, ConfinedPath, FsError, Intent, Kind, Meta, RelPath};
use crate::dto::choices::FindConflicts;
use crate::dto::reviews::{Conflict, ConflictReport, ReleaseInfo};
use crate::error::FilesError;
use crate::model::conflict::{ConflictKind, Quality, Resolution, Verdict, compare};
use crate::ops::{self, Lane, Page};

/// A file up to twice this long is hashed whole, a longer one this much of both ends.
const HASHED_END: u64 = 8 * 1024 * 1024;

impl Files {
    pub async fn find_conflicts(&self, body: FindConflicts) -> Result<ConflictReport, FilesError> {
        self.on_disk(Lane::Long, move |base| {
            let directory = destination(base, &body.destination.rel()?)?;
            let mut children = Children::read(&directory)?;
            let mut report = ConflictReport {
                destination: directory.rel().text(),
                conflicts: Vec::new(),
                clean: Vec::new(),
            };
            for source in &body.sources {
                let conflict = match Candidate::of(base.resolve(&source.rel()?, Intent::Read)) {
                    Err(FsError::NotFound(_)) | Ok(None) => None,
                    Err(other) => return Err(other.into()),
                    Ok(Some(candidate)) => children
                        .rival(base, &directory, &candidate)?
                        .map(|target| conflict(&candidate, &target)),
                };
                match conflict {
                    Some(conflict) => report.conflicts.push(conflict),
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

/// A file and what its name says.
struct Candidate {
    item: ConfinedPath,
    meta: Meta,
    name: String,
    release: Release,
}

impl Candidate {
    /// `None`: it is no file.
    fn of(found: Result<ConfinedPath, FsError>) -> Result<Option<Self>, FsError> {
        let item = found?;
        let meta = item.meta()?;
        if meta.kind != Kind::File {
            return Ok(None);
        }
        let name = shown_name(&item);
        Ok(Some(Self {
            release: qm_release::parse(&name),
            item,
            meta,
            name,
        }))
    }

    fn info(&self) -> ReleaseInfo {
        let release = &self.release;
        ReleaseInfo {
            path: self.item.rel().text(),
            path_raw: self.item.rel().raw(),
            name: self.name.clone(),
            size: self.meta.size,
            modified_at: Some(self.meta.modified),
            show: release.title.clone(),
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

/// The files of the destination.
struct Children {
    names: Vec<Component>,
    by_name: HashMap<Component, usize>,
    /// By release identity, the first of each; read once somebody asks.
    identities: Option<HashMap<String, usize>>,
}

impl Children {
    fn read(directory: &ConfinedPath) -> Result<Self, FsError> {
        let listing = ops::list(directory, Page::default())?;
        let files = listing.items.into_iter().filter(|entry| entry.kind == Kind::File);
        let names: Vec<Component> = files.map(|entry| entry.name).collect();
        let by_name = names.iter().cloned().enumerate();
        Ok(Self {
            by_name: by_name.map(|(index, name)| (name, index)).collect(),
            names,
            identities: None,
        })
    }

    /// The file a candidate would meet: one of its name, else the first release of the same thing.
    fn rival(
        &mut self,
        base: &Base,
        directory: &ConfinedPath,
        candidate: &Candidate,
    ) -> Result<Option<Candidate>, FsError> {
        let name = candidate.item.name();
        let same_name = name.and_then(|name| self.by_name.get(name)).copied();
        let index = match (same_name, qm_release::identity(&candidate.release)) {
            (Some(index), _) => index,
            (None, None) => return Ok(None),
            (None, Some(identity)) => match self.identities().get(&identity) {
                Some(index) => *index,
                None => return Ok(None),
            },
        };
        let rel = directory.rel().join(&self.names[index]);
        let rival = match Candidate::of(base.resolve(&rel, Intent::Read)) {
            Ok(rival) => rival,
            // It went meanwhile.
            Err(FsError::NotFound(_)) => None,
            Err(other) => return Err(other),
        };
        Ok(rival.filter(|rival| rival.meta.identity != candidate.meta.identity))
    }

    fn identities(&mut self) -> &HashMap<String, usize> {
        let names = &self.names;
        self.identities.get_or_insert_with(|| {
            let mut first = HashMap::new();
            for (index, name) in names.iter().enumerate() {
                if let Some(identity) = qm_release::identity(&qm_release::parse(&name.text())) {
                    first.entry(identity).or_insert(index);
                }
            }
            first
        })
    }
}

fn conflict(source: &Candidate, target: &Candidate) -> Conflict {
    let identical = source.meta.size == target.meta.size
        && match (partial_hash(source), partial_hash(target)) {
            (Ok(one), Ok(other)) => one == other,
            // What cannot be read is like nothing.
            (Err(_), _) | (_, Err(_)) => false,
        };
    let identity = qm_release::identity(&source.release);
    let kind = if identical {
        ConflictKind::Identical
    } else if identity.is_some() && identity == qm_release::identity(&target.release) {
        ConflictKind::SameEpisode
    } else {
        ConflictKind::NameClash
    };
    let (verdict, verdict_reasons) = if identical {
        (Verdict::Equivalent, Vec::new())
    } else {
        let quality = |candidate: &Candidate| Quality::of(&candidate.name, &candidate.release);
        compare(&quality(source), &quality(target))
    };
    Conflict {
        source: source.info(),
        target: target.info(),
        kind: kind.as_str(),
        identity_basis: identical.then_some("size+partial-hash"),
        verdict: verdict.as_str(),
        verdict_reasons,
        recommended: kind.recommended(verdict).as_str(),
        allowed: kind.allowed().iter().copied().map(Resolution::as_str).collect(),
    }
}

/// Over the size, then all of a short file or both ends of a long one.
fn partial_hash(candidate: &Candidate) -> Result<[u8; 32], FsError> {
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
            let part = buffer.len().min((start + length - at) as usize);
            file.read_exact_at(&mut buffer[..part], at)
                .map_err(|error| FsError::io(error, candidate.item.rel()))?;
            hash.update(&buffer[..part]);
            at += part as u64;
        }
    }
    Ok(hash.finalize().into())
}
