//! Reading the audit trail: a page of it, newest first, at any depth, with the number of all its rows.
//!
//! Both come from an index and walk over [`STEP`] of its entries at most, however many rows there are: see [`Marks`].
//! Only the rows of the page itself are fetched.

use qm_db::{Db, DbError, Tx, all, sql};
use qm_kernel::{Ctx, PageQuery, Timestamp};
use serde_json::Value;

use super::marks::{Marks, STEP, Survey};
use super::target::Target;

/// What a page shows of the rows that `$range` picks by index.
macro_rules! page {
    ($range:literal) => {
        concat!(
            "SELECT a.id, a.user_id, a.action, a.object_type, a.object_id, a.result, a.ip_address, a.user_agent, \
             a.metadata, a.created_at, u.username, u.display_name FROM (SELECT id, created_at FROM audit_logs ",
            $range,
            ") p JOIN audit_logs a ON a.id = p.id LEFT JOIN users u ON u.id = a.user_id \
             ORDER BY p.created_at DESC, p.id DESC"
        )
    };
}

sql! {
    pub(super) NEWEST = page!("ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2");
    pub(super) NEWEST_ACTION =
        page!("WHERE action >= $3 AND action <= $3 ORDER BY action DESC, created_at DESC, id DESC LIMIT $1 OFFSET $2");
    pub(super) AFTER = page!("WHERE (created_at, id) > ($3, $4) ORDER BY created_at, id LIMIT $1 OFFSET $2");
    pub(super) AFTER_ACTION = page!(
        "WHERE (action, created_at, id) > ($5, $3, $4) AND action <= $5 ORDER BY action, created_at, id \
         LIMIT $1 OFFSET $2"
    );
}

/// Reads audit rows. Cheap to clone.
#[derive(Clone)]
pub struct AuditTrail {
    db: Db,
    ctx: Ctx,
    marks: Marks,
}

/// A row, and whom and what it is about as far as that is known.
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

/// The user behind a row, while there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditUser {
    pub username: String,
    pub display_name: Option<String>,
}

/// The columns in the order of the statements.
type Row = (
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    i64,
    Option<String>,
    Option<String>,
);

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
            target: Target::of(object_type.as_deref(), metadata.as_ref()),
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

    /// The page, newest first, and the number of rows over all pages; of one action, or of all.
    pub async fn page(
        &self,
        page: PageQuery,
        action: Option<&str>,
    ) -> Result<(Vec<AuditRecord>, u64), DbError> {
        // One snapshot: the page fits the number.
        let mut tx = self.db.begin_read().await?;
        let survey = self.marks.survey(&mut tx, action, self.ctx.now()).await?;
        let offset = page.offset();
        let rows = if offset >= survey.total {
            Vec::new()
        } else if offset <= STEP {
            newest(&mut tx, action, page.page_size as i64, offset as i64).await?
        } else {
            deep(&mut tx, action, &survey, page).await?
        };
        Ok((rows.into_iter().map(AuditRecord::from).collect(), survey.total))
    }

    /// The newest `count` rows, newest first, without asking how many there are.
    pub async fn newest(tx: &mut Tx, count: u32) -> Result<Vec<AuditRecord>, DbError> {
        let rows = newest(tx, None, i64::from(count), 0).await?;
        Ok(rows.into_iter().map(AuditRecord::from).collect())
    }
}

async fn newest(tx: &mut Tx, action: Option<&str>, size: i64, offset: i64) -> Result<Vec<Row>, DbError> {
    match action {
        None => all!(tx, Row, NEWEST, size, offset).await,
        Some(action) => all!(tx, Row, NEWEST_ACTION, size, offset, action).await,
    }
}

/// A page beyond the first rows, found from the mark before its oldest row.
async fn deep(
    tx: &mut Tx,
    action: Option<&str>,
    survey: &Survey,
    page: PageQuery,
) -> Result<Vec<Row>, DbError> {
    let end = survey.total - page.offset();
    let start = end.saturating_sub(page.page_size);
    let (mark, skipped) = survey.nearest(start);
    let (size, skipped) = ((end - start) as i64, skipped as i64);
    match action {
        None => all!(tx, Row, AFTER, size, skipped, mark.created_at, &mark.id).await,
        Some(action) => {
            all!(
                tx,
                Row,
                AFTER_ACTION,
                size,
                skipped,
                mark.created_at,
                &mark.id,
                action
            )
            .await
        }
    }
}
