//! Missing and new files of one scan that are the same file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use qm_jobs::JobError;
use qm_media::lanes::LOOKS;
use qm_media::ops::guard::place_of;
use qm_media::repo;
use qm_media::repo::items::Stored;
use qm_media::service::jobs::Stop;
use qm_media_names::place;
use qm_probe::{Expected, fingerprint_of};

use super::{Change, Index};
use crate::model::renames::{Pairs, Trace};
use crate::ops::walk::SeenFile;

/// Most files of one scan whose content is compared.
const MOST_COMPARED: usize = 1_000;

impl<'a> Index<'a> {
    /// Turns pairs of a missing and a new file into renames, if they are the same file.
    pub(super) async fn follow_renames(&mut self, is_kept: impl Fn(&str) -> bool) -> Result<(), Stop> {
        let came: Vec<(usize, &'a SeenFile)> = self
            .additions
            .iter()
            .enumerate()
            .filter_map(|(at, change)| match change {
                Change::Add(file, _) => Some((at, *file)),
                _ => None,
            })
            .collect();
        if came.is_empty() {
            return Ok(());
        }
        let went = self.went(is_kept).await?;
        if went.is_empty() {
            return Ok(());
        }
        let lost: Vec<Trace> = went.iter().map(trace_of).collect();
        let mut found: Vec<Trace> = came.iter().map(|(_, file)| seen_trace(file)).collect();
        let mut pairs = Pairs::find(&lost, &found);
        let doubtful = pairs.doubtful(&lost, &found);
        if !doubtful.is_empty() {
            let files = doubtful.iter().take(MOST_COMPARED).map(|at| (*at, came[*at].1));
            for (at, fingerprint) in self.fingerprints(files.collect()).await? {
                found[at].fingerprint = fingerprint;
            }
            pairs.compare(&lost, &found);
        }
        let mut same: HashSet<String> = HashSet::new();
        for (one, other) in pairs.found {
            let (at, file) = came[other];
            let Change::Add(_, directory) = &self.additions[at] else {
                continue;
            };
            same.insert(went[one].id.clone());
            self.additions[at] = Change::Move(file, went[one].clone(), directory.clone());
        }
        // Renames come first: new files in a folder of renamed files belong to their items.
        self.additions
            .sort_by_key(|change| !matches!(change, Change::Move(..)));
        self.removals.retain(|change| {
            !matches!(change, Change::Remove(item, _) if item.copy_id.is_none() && same.contains(&item.id))
        });
        Ok(())
    }

    /// Missing first files of items that have no other file.
    async fn went(&self, is_kept: impl Fn(&str) -> bool) -> Result<Vec<Stored>, Stop> {
        let mut went: Vec<Stored> = Vec::new();
        for change in &self.removals {
            if let Change::Remove(item, _) = change {
                went.push(item.clone());
            }
        }
        let gone = self
            .known
            .iter()
            .filter(|(place, known)| known.items > 0 && !self.present.contains(&***place) && !is_kept(place));
        for (_, known) in gone {
            let mut tx = self.room.db.begin_read().await?;
            went.extend(repo::items::of_directory(&mut tx, &known.id).await?);
        }
        // A further file is found again by its name, as it has no edits. An item with another file that is still there keeps
        // that one.
        let (first, further): (Vec<Stored>, Vec<Stored>) =
            went.into_iter().partition(|item| item.copy_id.is_none());
        let gone: HashSet<&str> = further.iter().map(|file| &*file.place).collect();
        let mut tx = self.room.db.begin_read().await?;
        let places = repo::copies::places(&mut tx, first.iter().map(|item| &*item.id)).await?;
        let staying: HashSet<String> = places
            .into_iter()
            .filter(|(_, place)| !gone.contains(&**place))
            .map(|(item, _)| item)
            .collect();
        Ok(first
            .into_iter()
            .filter(|item| !staying.contains(&item.id))
            .collect())
    }

    /// Digests of files, by their positions in the list.
    async fn fingerprints(
        &self,
        files: Vec<(usize, &SeenFile)>,
    ) -> Result<Vec<(usize, Option<String>)>, Stop> {
        let expected: Vec<(usize, Expected)> = files
            .into_iter()
            .map(|(at, file)| {
                let expected = Expected {
                    path: place::decode(&file.place),
                    size: file.size,
                    mtime: file.mtime,
                };
                (at, expected)
            })
            .collect();
        let (library, roots) = (self.of.path.clone(), self.room.file_roots.clone());
        let reading = LOOKS.run(move |cancel| {
            let roots: Vec<PathBuf> = roots.iter().map(|root| place_of(Path::new(root))).collect();
            let made = expected.iter().take_while(|_| !cancel.is_set());
            made.map(|(at, file)| (*at, fingerprint_of(Path::new(&library), file, &roots)))
                .collect()
        });
        Ok(reading
            .await
            .map_err(|error| JobError::new("fingerprints", error.to_string()))?)
    }
}

fn trace_of(item: &Stored) -> Trace {
    Trace {
        device: item.device,
        inode: item.inode,
        size: item.size,
        mtime: item.mtime,
        fingerprint: item.fingerprint.clone(),
    }
}

fn seen_trace(file: &SeenFile) -> Trace {
    Trace {
        device: Some(file.node.0),
        inode: Some(file.node.1),
        size: file.size,
        mtime: file.mtime,
        fingerprint: None,
    }
}
