//! Check of a whole library for files that are missing on its disk.

use std::path::{Path, PathBuf};

use qm_media::LibraryError;
use qm_media::lanes::WALKS;
use qm_media::model::item::Filter;
use qm_media::model::view::{Consistency, MissingFile};
use qm_media::ops::guard::place_of;
use qm_media::ops::reach::Reach;
use qm_media::repo;
use qm_media_names::place;
use qm_ports::beside::KnownFile;

use super::Scanner;

/// Items that one query reads.
const LOOKED_FOR: i64 = 2000;
/// Items whose pictures, subtitles and notes are looked for at once: one may have hundreds.
const BESIDE: usize = 200;

impl Scanner {
    /// Looks for every file of a library. An unknown id gives an empty report.
    pub async fn consistency(&self, id: &str) -> Result<Consistency, LibraryError> {
        let found = repo::libraries::find(&mut self.db.begin_read().await?, id).await?;
        let mut report = Consistency::default();
        let Some(library) = found else {
            return Ok(report);
        };
        let filter = Filter {
            library_id: Some(library.id.clone()),
            ..Filter::default()
        };
        let mut after = String::new();
        loop {
            let mut tx = self.db.begin_read().await?;
            let mut items = repo::lists::behind(&mut tx, &filter, &after, LOOKED_FOR).await?;
            repo::copies::fill(&mut tx, &mut items).await?;
            drop(tx);
            let Some((last, _)) = items.last() else {
                return Ok(report);
            };
            after.clone_from(&last.id);
            let ids: Vec<String> = items.iter().map(|(item, _)| item.id.clone()).collect();
            let copies: usize = items.iter().map(|(item, _)| item.copies.len()).sum();
            report.checked += (2 * items.len() + copies) as u64;
            let (path, roots) = (library.path.clone(), self.file_roots.clone());
            let looking = WALKS.run(move |_| {
                let reach = Reach::open(Path::new(&path)).ok();
                let roots: Vec<PathBuf> = roots.iter().map(|root| place_of(Path::new(root))).collect();
                let is_there = |place: &str| {
                    reach
                        .as_ref()
                        .is_some_and(|reach| reach.is_file(&place::decode(place), &roots))
                };
                let mut missing = Vec::new();
                for (item, file) in items {
                    let first = (!is_there(&item.place)).then_some((item.place, file.id));
                    let mut add = |id: String, kind, place: &str| {
                        missing.push(MissingFile {
                            id,
                            path: place::absolute(&path, place),
                            kind,
                        });
                    };
                    if let Some((place, file)) = first {
                        add(item.id, "item", &place);
                        add(file, "file", &place);
                    }
                    for (place, file) in item.copies {
                        if !is_there(&place) {
                            add(file.id, "file", &place);
                        }
                    }
                }
                missing
            });
            for missing in looking.await? {
                report.add(missing);
            }
            for ids in ids.chunks(BESIDE) {
                self.look_beside(&library.path, ids, &mut report).await?;
            }
        }
    }

    /// Looks for the files beside items of a library.
    async fn look_beside(
        &self,
        library: &str,
        ids: &[String],
        report: &mut Consistency,
    ) -> Result<(), LibraryError> {
        let beside = self.files_beside(ids).await?;
        report.checked += beside.len() as u64;
        let (path, roots) = (library.to_owned(), self.file_roots.clone());
        let looking = WALKS.run(move |_| {
            let reach = Reach::open(Path::new(&path)).ok();
            let roots: Vec<PathBuf> = roots.iter().map(|root| place_of(Path::new(root))).collect();
            let is_there = |file: &KnownFile| {
                let place = place::decode(&file.place);
                reach.as_ref().is_some_and(|reach| reach.is_file(&place, &roots))
            };
            let gone = beside.into_iter().filter(|file| !is_there(file));
            let missing = gone.map(|file| MissingFile {
                path: place::absolute(&path, &file.place),
                id: file.id,
                kind: file.kind,
            });
            missing.collect::<Vec<MissingFile>>()
        });
        for missing in looking.await? {
            report.add(missing);
        }
        Ok(())
    }

    /// Pictures, subtitles and notes beside items.
    async fn files_beside(&self, items: &[String]) -> Result<Vec<KnownFile>, LibraryError> {
        let beside = self.catalogue.beside();
        let mut files = Vec::new();
        if let Some(pictures) = beside.pictures() {
            files.extend(pictures.list_files(items).await?);
        }
        if let Some(notes) = beside.notes() {
            files.extend(notes.list_files(items).await?);
        }
        Ok(files)
    }
}
