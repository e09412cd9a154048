//! Encrypted values of all areas: reports on values of earlier or unknown keys, and re-encryption with the
//! present key.
//!
//! An area lists its encrypted values through [`SealedValues`]; this module knows no tables. A value is
//! re-encrypted by compare-and-swap on the stored text, so a concurrent change by a running server is never
//! overwritten. Every transaction of a rotation is complete in itself (values and audit row), so an
//! interrupted one is simply run again.
//!
//! Bounds: [`BATCH`] objects per transaction; [`PASSES`] passes per area; [`NAMED`] named unreadable values
//! per area; the health route reads at most [`EXAMINED`] objects per area.

mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx};
use qm_kernel::as_error;
use serde::Serialize;
use serde_json::json;

use crate::audit::{Audit, AuditEntry};
use crate::cipher::{Cipher, Standing};

pub use settings::SecretSettings;

/// Objects per transaction, so that a running server waits only briefly.
const BATCH: u32 = 50;
/// A running server may write back a value that it read before the rotation; the next pass finds it.
const PASSES: usize = 3;
const NAMED: usize = 1000;
const EXAMINED: usize = 1000;

/// One encrypted value as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRow {
    /// Id or key of the object it belongs to.
    pub object: String,
    /// Which of its fields.
    pub field: String,
    /// The encrypted text.
    pub stored: String,
}

/// Encrypted values of some objects.
#[derive(Clone, Debug, Default)]
pub struct SealedPage {
    pub rows: Vec<SealedRow>,
    /// The last object read, to continue from; `None` at the end.
    pub next: Option<String>,
}

impl SealedPage {
    /// Page of objects with one encrypted field, as (id, encrypted text), read with this limit.
    pub fn of_one(field: &str, found: Vec<(String, String)>, limit: u32) -> Self {
        let found = found.into_iter().map(|(object, stored)| (object, [Some(stored)]));
        Self::of_fields([field], found.collect(), limit)
    }

    /// Page of objects with these encrypted fields, some possibly unset, read with this limit.
    pub fn of_fields<const N: usize>(
        fields: [&str; N],
        found: Vec<(String, [Option<String>; N])>,
        limit: u32,
    ) -> Self {
        let last = found.last().filter(|_| found.len() == limit as usize);
        let next = last.map(|(object, _)| object.clone());
        let mut rows = Vec::new();
        for (object, values) in found {
            for (field, stored) in fields.into_iter().zip(values) {
                rows.extend(stored.map(|stored| SealedRow {
                    object: object.clone(),
                    field: field.to_owned(),
                    stored,
                }));
            }
        }
        Self { rows, next }
    }
}

/// Encrypted values of an area.
#[async_trait]
pub trait SealedValues: Send + Sync {
    /// Name of the area in reports.
    fn area(&self) -> &'static str;

    /// Values of up to `limit` objects after the object `after`, ordered by object id.
    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError>;

    /// Replaces `row.stored` with `new`; `false` when it has changed meanwhile.
    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError>;
}

/// A stored value that opens under none of the keys, or was damaged. It reads as absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Unreadable {
    /// e.g. `identity`
    pub area: String,
    /// Id or key of what the value belongs to.
    pub object: String,
    /// Which of its fields.
    pub field: String,
}

/// Result of a rotation in one area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AreaReport {
    pub area: &'static str,
    /// Values encrypted with the present key already.
    pub current: u64,
    /// Values encrypted again; with `dry_run` those that would be.
    pub rotated: u64,
    /// Values that a running server changed at the same moment, in the last pass: run the rotation again.
    pub contested: u64,
    pub unreadable: u64,
    /// The first of the unreadable values.
    pub named: Vec<Unreadable>,
}

/// Encrypted values of the whole service. Cheap to clone.
#[derive(Clone)]
pub struct Sealed {
    db: Db,
    cipher: Cipher,
    audit: Audit,
    areas: Arc<[Arc<dyn SealedValues>]>,
}

impl Sealed {
    pub fn new(db: Db, cipher: Cipher, audit: Audit, areas: Vec<Arc<dyn SealedValues>>) -> Self {
        Self {
            db,
            cipher,
            audit,
            areas: areas.into(),
        }
    }

    /// Encrypts every value of an earlier key with the present key. With `dry_run` it only counts.
    pub async fn rotate(&self, dry_run: bool) -> Result<Vec<AreaReport>, DbError> {
        let mut reports = Vec::new();
        for area in self.areas.iter() {
            let mut report = self.pass(&**area, dry_run).await?;
            let mut unsettled = report.rotated + report.contested;
            for _ in 1..PASSES {
                if dry_run || unsettled == 0 {
                    break;
                }
                let again = self.pass(&**area, dry_run).await?;
                report.rotated += again.rotated;
                report.contested = again.contested;
                unsettled = again.rotated + again.contested;
            }
            reports.push(report);
        }
        Ok(reports)
    }

    /// Stored values that cannot be decrypted, for the health page: a bounded list, and empty when the
    /// database does not answer, which is reported elsewhere.
    pub async fn unreadable(&self) -> Vec<Unreadable> {
        let mut found = Vec::new();
        for area in self.areas.iter() {
            if let Err(error) = self.look(&**area, &mut found).await {
                let error = as_error(&error);
                tracing::warn!(area = area.area(), error, "stored secrets were not looked at");
            }
        }
        found
    }

    async fn look(&self, area: &dyn SealedValues, found: &mut Vec<Unreadable>) -> Result<(), DbError> {
        let mut tx = self.db.begin_read().await?;
        let page = area.list(&mut tx, None, EXAMINED as u32).await?;
        let unreadable = page
            .rows
            .iter()
            .filter(|row| self.cipher.standing(&row.stored) == Standing::Unreadable)
            .map(|row| named(area, row));
        found.extend(unreadable.take(NAMED));
        Ok(())
    }

    /// One pass over an area, one transaction per batch.
    async fn pass(&self, area: &dyn SealedValues, dry_run: bool) -> Result<AreaReport, DbError> {
        let mut report = AreaReport {
            area: area.area(),
            ..AreaReport::default()
        };
        let mut after: Option<String> = None;
        loop {
            let mut tx = if dry_run {
                self.db.begin_read().await?
            } else {
                self.db.begin_write().await?
            };
            let page = area.list(&mut tx, after.as_deref(), BATCH).await?;
            let before = report.rotated;
            for row in &page.rows {
                self.rotate_row(area, &mut tx, row, dry_run, &mut report).await?;
            }
            if !dry_run && report.rotated > before {
                let entry = AuditEntry {
                    action: "secrets.rotate",
                    metadata: Some(json!({ "area": area.area(), "rotated": report.rotated - before })),
                    ..AuditEntry::default()
                };
                self.audit.record(&mut tx, entry).await?;
            }
            tx.commit().await?;
            after = page.next;
            if after.is_none() {
                return Ok(report);
            }
        }
    }

    async fn rotate_row(
        &self,
        area: &dyn SealedValues,
        tx: &mut Tx,
        row: &SealedRow,
        dry_run: bool,
        report: &mut AreaReport,
    ) -> Result<(), DbError> {
        match self.cipher.standing(&row.stored) {
            Standing::Current(_) => report.current += 1,
            Standing::Previous(_) if dry_run => report.rotated += 1,
            Standing::Previous(secret) => {
                let new = self.cipher.encrypt(secret.expose());
                if area.replace(tx, row, &new).await? {
                    report.rotated += 1;
                } else {
                    report.contested += 1;
                }
            }
            Standing::Unreadable => {
                report.unreadable += 1;
                if report.named.len() < NAMED {
                    report.named.push(named(area, row));
                }
            }
        }
        Ok(())
    }
}

fn named(area: &dyn SealedValues, row: &SealedRow) -> Unreadable {
    Unreadable {
        area: area.area().to_owned(),
        object: row.object.clone(),
        field: row.field.clone(),
    }
}
