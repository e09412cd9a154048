//! Reading the audit trail: one page, newest first, at any depth, with the total number of rows.
//!
//! Both use an index and walk over at most [`STEP`] of its entries, however many rows there are: see
//! [`Marks`]. Only the rows of the page itself are fetched.

use qm_db::{Db, DbError, Tx};
use qm_kernel::{Ctx, PageQuery, Timestamp};
use serde_json::Value;

use super::marks::{Marks, STEP, Survey};
use super::repo::{self, Row};
use super::target::Target;

/// Reader of audit rows. Cheap to clone.
#[derive(Clone)]
pub struct AuditTrail {
    db: Db,
    ctx: Ctx,
    marks: Marks,
}

/// An audit row with its user and its subject, as far as known.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRecord {
    pub id: String,
    pub user_id: Option<String>,
    pub action: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    /// `success` or `failure`.
    pub result: String,
    pub ip_address: Option<String>,
    pub user_agent: Option<String>,
    pub metadata: Option<Value>,
    pub created_at: Timestamp,
    pub user: Option<AuditUser>,
    pub target: Option<Target>,
}

/// User of an audit row, if the account still exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditUser {
    pub username: String,
    pub display_name: Option<String>,
}

impl From<Row> for AuditRecord {
    fn from(row: Row) -> Self {
        let (
            id,
            user_id,
            action,
            object_type,
            object_id,
            result,
            ip_address,
            user_agent,
            metadata,
            created_at,
            username,
            display_name,
        ) = row;
        let metadata = metadata.and_then(|text| serde_json::from_str(&text).ok());
        Self {
            id,
            user_id,
            action,
            target: Target::from_metadata(object_type.as_deref(), metadata.as_ref()),
            object_type,
            object_id,
            result,
            ip_address,
            user_agent,
            metadata,
            created_at: Timestamp::from_ms(created_at),
            user: username.map(|username| AuditUser {
                username,
                display_name,
            }),
        }
    }
}

impl AuditTrail {
    pub fn new(db: Db, ctx: Ctx) -> Self {
        Self {
            db,
            ctx,
            marks: Marks::default(),
        }
    }

    /// One page, newest first, and the total number of rows; of one action or of all.
    pub async fn page(
        &self,
        page: PageQuery,
        action: Option<&str>,
    ) -> Result<(Vec<AuditRecord>, u64), DbError> {
        // One snapshot, so that page and total agree.
        let mut tx = self.db.begin_read().await?;
        let survey = self.marks.survey(&mut tx, action, self.ctx.now()).await?;
        let offset = page.offset();
        let rows = if offset >= survey.total {
            Vec::new()
        } else if offset <= STEP {
            repo::newest(&mut tx, action, page.page_size as i64, offset as i64).await?
        } else {
            deep(&mut tx, action, &survey, page).await?
        };
        Ok((rows.into_iter().map(AuditRecord::from).collect(), survey.total))
    }

    /// The newest `count` rows, newest first, without the total.
    pub async fn newest(tx: &mut Tx, count: u32) -> Result<Vec<AuditRecord>, DbError> {
        let rows = repo::newest(tx, None, i64::from(count), 0).await?;
        Ok(rows.into_iter().map(AuditRecord::from).collect())
    }
}

/// A page at depth, found from the mark before its oldest row.
async fn deep(
    tx: &mut Tx,
    action: Option<&str>,
    survey: &Survey,
    page: PageQuery,
) -> Result<Vec<Row>, DbError> {
    let end = survey.total - page.offset();
    let start = end.saturating_sub(page.page_size);
    let (mark, skipped) = survey.nearest(start);
    repo::after(tx, action, &mark, (end - start) as i64, skipped as i64).await
}
