//! Preview of a delete: sizes, and the torrents whose data is at stake.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use qm_ports::TorrentPayload;

use super::{Files, Looker};
use crate::dto::requests::WirePath;
use crate::dto::reviews::{BulkDeletePreview, DeletePreview, Linked};
use crate::error::FilesError;
use qm_confined::{ConfinedPath, FsError, Intent, RelPath};
use qm_file_operations::{self as ops, Lane, Usage};

/// Item found at a path.
enum Found {
    Item(ConfinedPath),
    /// No item; holds the absolute path it would have.
    Nothing(String),
}

impl Files {
    pub async fn delete_preview(
        &self,
        path: &WirePath,
        looker: &Looker,
    ) -> Result<DeletePreview, FilesError> {
        let rel = path.rel()?;
        let item = match self.find(rel).await? {
            Found::Item(item) => item,
            Found::Nothing(path) => {
                return Ok(DeletePreview {
                    path,
                    ..DeletePreview::default()
                });
            }
        };
        let absolute = item.absolute();
        let preview = DeletePreview {
            path: absolute.to_string_lossy().into_owned(),
            exists: true,
            links: 1,
            ..DeletePreview::default()
        };
        // A preview never fails for what is wrong with the disk.
        let Ok(usage) = self.usage(item, looker).await else {
            return Ok(preview);
        };
        let torrents: Vec<Linked> = self.torrents_at(&absolute).iter().map(Linked::from).collect();
        Ok(DeletePreview {
            links: usage.links,
            size_bytes: usage.bytes,
            frees_bytes: usage.frees,
            torrent: torrents.first().cloned(),
            torrents,
            ..preview
        })
    }

    pub async fn bulk_delete_preview(
        &self,
        paths: &[WirePath],
        looker: &Looker,
    ) -> Result<BulkDeletePreview, FilesError> {
        let rels: Vec<RelPath> = paths.iter().filter_map(|path| path.rel().ok()).collect();
        let (paths, places, usage) = self
            .look(Lane::Walk(looker.user()), looker, move |base, control| {
                // No handle is kept of any of them: a request may name more than there are handles.
                let mut places: Vec<(PathBuf, RelPath)> = Vec::new();
                for rel in rels {
                    control.check()?;
                    if let Ok(item) = base.resolve(&rel, Intent::Change) {
                        places.push((item.absolute(), rel));
                    }
                }
                let paths = places.len() as u64;
                let places = outermost(places);
                let items = places
                    .iter()
                    .filter_map(|(_, rel)| base.resolve(rel, Intent::Change).ok());
                let usage = ops::measure_all(items, control);
                control.check()?;
                let places: Vec<PathBuf> = places.into_iter().map(|(place, _)| place).collect();
                Ok((paths, places, usage.unwrap_or_default()))
            })
            .await?;
        let torrents = self.torrents_touching(&places);
        Ok(BulkDeletePreview {
            paths,
            size_bytes: usage.bytes,
            frees_bytes: usage.frees,
            torrents: torrents.iter().map(Linked::from).collect(),
        })
    }

    /// The torrents whose data is at `absolute`, contains it or lies below it.
    pub(super) fn torrents_at(&self, absolute: &Path) -> Vec<TorrentPayload> {
        self.torrents_touching(&[absolute.to_path_buf()])
    }

    fn torrents_touching(&self, places: &[PathBuf]) -> Vec<TorrentPayload> {
        if places.is_empty() {
            return Vec::new();
        }
        let all: Vec<PathBuf> = places.iter().flat_map(|place| self.names_of(place)).collect();
        let all: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
        self.payloads.touching(&all)
    }

    /// Torrents of each place, found by one look through all torrents.
    pub(super) fn torrents_of_each(&self, places: &[PathBuf]) -> Vec<Vec<TorrentPayload>> {
        let all = self.torrents_touching(places);
        let of = |place: &PathBuf| {
            let names = self.names_of(place);
            let touches = |torrent: &&TorrentPayload| {
                let data = Path::new(&torrent.path);
                names
                    .iter()
                    .any(|name| data.starts_with(name) || name.starts_with(data))
            };
            all.iter().filter(touches).cloned().collect()
        };
        places.iter().map(of).collect()
    }

    /// The path, and the paths by which a client may know it: a root may be known by the link it was configured as.
    fn names_of(&self, place: &Path) -> Vec<PathBuf> {
        let aliases = self
            .aliases
            .iter()
            .filter_map(|(configured, canonical)| Some(configured.join(place.strip_prefix(canonical).ok()?)));
        std::iter::once(place.to_owned()).chain(aliases).collect()
    }

    async fn find(&self, rel: RelPath) -> Result<Found, FilesError> {
        self.on_disk(Lane::Look, move |base| match base.resolve(&rel, Intent::Change) {
            Ok(item) => Ok(Found::Item(item)),
            Err(FsError::NotFound(_)) => {
                let root = base.root().unwrap_or_default();
                Ok(Found::Nothing(format!(
                    "{}{}",
                    root.trim_end_matches('/'),
                    rel.text()
                )))
            }
            Err(other) => Err(other.into()),
        })
        .await
    }

    async fn usage(&self, item: ConfinedPath, looker: &Looker) -> Result<Usage, FsError> {
        let control = looker.control();
        self.workers
            .run(Lane::Walk(looker.user()), move || ops::measure(&item, &control))
            .await
    }
}

/// Without those that lie in another of them, or are another of them.
fn outermost(mut places: Vec<(PathBuf, RelPath)>) -> Vec<(PathBuf, RelPath)> {
    places.sort();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    places.retain(|(place, _)| {
        let is_new = !place.ancestors().any(|above| seen.contains(above));
        if is_new {
            seen.insert(place.clone());
        }
        is_new
    });
    places
}
