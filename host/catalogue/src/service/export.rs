//! All items as a table, in lines that are read while they are sent.

use std::sync::Arc;

use qm_kernel::Requester;
use qm_media::LibraryError;
use qm_media::model::item::Filter;
use qm_media::repo;
use qm_platform::AuditEntry;
use serde_json::json;

use super::Catalogue;
use crate::model::table::Lines;

/// Rows of the table that one query reads.
const ROWS: i64 = 1000;

impl Catalogue {
    /// All items that are wanted, as lines of a table that are read while they are sent.
    pub fn export(self: &Arc<Self>, filter: Filter, requester: Requester) -> Export {
        Export {
            catalogue: self.clone(),
            filter,
            requester,
            after: Some(String::new()),
            rows: 0,
        }
    }
}

/// A table while it is sent.
pub struct Export {
    catalogue: Arc<Catalogue>,
    filter: Filter,
    requester: Requester,
    /// Id of the last item that was sent; `None`: all are sent.
    after: Option<String>,
    rows: u64,
}

impl Export {
    /// The next lines; `None` after the last ones. The end is recorded in the audit trail.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LibraryError> {
        let Some(after) = self.after.take() else {
            return Ok(None);
        };
        let mut tx = self.catalogue.db.begin_read().await?;
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
        let filter = &self.filter;
        let entry = AuditEntry {
            user_id: Some(self.requester.principal.user_id.to_string()),
            action: "media.export.csv",
            object_type: Some("media_library"),
            object_id: filter.library_id.clone(),
            client: Some(&self.requester.client),
            metadata: Some(json!({
                "rows": self.rows,
                "filters": {
                    "libraryId": filter.library_id, "mediaType": filter.media_type,
                    "matchStatus": filter.match_status, "search": filter.search,
                    "yearFrom": filter.year_from, "yearTo": filter.year_to, "season": filter.season,
                    "resolution": filter.resolution, "genre": filter.genre, "identified": filter.identified,
                },
            })),
            ..AuditEntry::default()
        };
        self.catalogue.audit.record_alone(&self.catalogue.db, entry).await;
    }
}
