//! Long looks at a whole library: what is missing on its disk, and all its items as a table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_kernel::{ClientInfo, Principal};
use qm_media::LibraryError;
use qm_media::lanes::WALKS;
use qm_media::model::item::Filter;
use qm_media::model::view::{Consistency, MissingFile};
use qm_media::ops::guard::place_of;
use qm_media::ops::reach::Reach;
use qm_media::repo;
use qm_media_names::place;
use qm_platform::AuditEntry;
use serde_json::json;

use super::Library;
use crate::model::table::Lines;

/// Items whose files are looked for at once.
const LOOKED_FOR: i64 = 2000;
/// Rows of a table that are read at once.
const ROWS: i64 = 1000;

impl Library {
    /// Looks for every file of a library. Of one that is not there nothing is missing.
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
        }
    }

    /// All items that are wanted, as lines of a table that are read while they are sent.
    pub fn export(self: &Arc<Self>, filter: Filter, principal: &Principal, client: &ClientInfo) -> Export {
        Export {
            library: self.clone(),
            filter,
            user_id: principal.user_id.to_string(),
            client: client.clone(),
            after: Some(String::new()),
            rows: 0,
        }
    }
}

/// A table that is being sent.
pub struct Export {
    library: Arc<Library>,
    filter: Filter,
    user_id: String,
    client: ClientInfo,
    /// Id of the last item that was sent; `None`: all were.
    after: Option<String>,
    rows: u64,
}

impl Export {
    /// The next lines; `None` behind the last ones, which are then noted in the audit.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LibraryError> {
        let Some(after) = self.after.take() else {
            return Ok(None);
        };
        let mut tx = self.library.db.begin_read().await?;
        let items = repo::lists::behind(&mut tx, &self.filter, &after, ROWS).await?;
        drop(tx);
        let mut lines = Lines::new();
        if after.is_empty() {
            lines.header()?;
        }
        for (item, file) in &items {
            lines.add(item, file)?;
        }
        let lines = lines.into_bytes()?;
        self.rows += items.len() as u64;
        match items.last() {
            Some((last, _)) if items.len() as u64 == ROWS.unsigned_abs() => {
                self.after = Some(last.id.clone());
            }
            _ => self.note().await,
        }
        Ok(Some(lines))
    }

    async fn note(&self) {
        let entry = AuditEntry {
            user_id: Some(self.user_id.clone()),
            action: "media.export.csv",
            object_type: Some("media_library"),
            object_id: self.filter.library_id.clone(),
            client: Some(&self.client),
            metadata: Some(json!({
                "rows": self.rows,
                "filters": {
                    "libraryId": self.filter.library_id, "mediaType": self.filter.media_type,
                    "matchStatus": self.filter.match_status, "search": self.filter.search,
                },
            })),
            ..AuditEntry::default()
        };
        self.library.audit.record_alone(&self.library.db, entry).await;
    }
}
