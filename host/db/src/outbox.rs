//! Events of a transaction: repetitions within the window of their kind are dropped, and events for durable
//! consumers are stored.
//!
//! Invariant: a position becomes visible only after every lower one. PostgreSQL gives the values of a sequence before the
//! commit, so that a reader could pass one whose transaction is still open; here positions come from one row, which is
//! changed as the last thing before the rows are added and the transaction is committed. Who comes next waits for that row,
//! so positions are in the order of the commits, without gaps, on both databases. A transaction that is open for long holds
//! up nobody: it takes its positions when it ends.
//! Windows are claimed in the order of their names, before the row, so that two transactions never wait for each other.

use std::time::Duration;

use qm_kernel::event::{DomainEvent, Plan};

use crate::error::DbError;
use crate::tx::Tx;
use crate::{batch, bulk, exec, sql, value};

sql! {
    /// Changes a row when nothing like it is within its window, and none otherwise.
    OPEN_WINDOW = "INSERT INTO event_windows (occurrence, ends_at) VALUES ($1, $2) \
        ON CONFLICT (occurrence) DO UPDATE SET ends_at = excluded.ends_at WHERE event_windows.ends_at <= $3";
    TAKE_POSITIONS = "UPDATE outbox_counter SET last = last + $1 WHERE one = 1 RETURNING last";
}

bulk! {
    APPEND = "INSERT INTO outbox (position, id, event_key, event) VALUES", 4, "";
}

/// Plan for an event in a process without subscribers: another process may have consumers for it.
pub(crate) const UNHEARD: Plan = Plan {
    window_secs: 0,
    stored: true,
};

/// Result of storing a transaction's events.
#[derive(Default)]
pub(crate) struct StoredEvents {
    /// Events to publish after the commit.
    pub to_publish: Vec<DomainEvent>,
    /// Dropped repetitions.
    pub repeated: Vec<DomainEvent>,
}

struct Row {
    position: i64,
    id: String,
    key: String,
    event: String,
}

/// Stores the events, as the last step of a transaction.
pub(crate) async fn keep(tx: &mut Tx, events: Vec<(Plan, DomainEvent)>) -> Result<StoredEvents, DbError> {
    let repeats = repeats(tx, &events).await?;
    let mut kept = StoredEvents::default();
    let mut rows = Vec::new();
    for ((plan, event), repeats) in events.into_iter().zip(repeats) {
        if repeats {
            kept.repeated.push(event);
            continue;
        }
        if plan.stored {
            rows.push(Row {
                position: 0,
                id: event.id.clone(),
                key: event.event_key.clone().into_owned(),
                event: serde_json::to_string(&event).map_err(|error| DbError::Event(error.to_string()))?,
            });
        }
        kept.to_publish.push(event);
    }
    if !rows.is_empty() {
        let count = rows.len() as i64;
        let last = value!(tx, i64, TAKE_POSITIONS, count).await?;
        for (row, position) in rows.iter_mut().zip(last - count + 1..) {
            row.position = position;
        }
        batch!(
            tx,
            APPEND,
            rows,
            |row| row.position,
            &row.id,
            &row.key,
            &row.event
        )
        .await?
        .exactly(count as u64)?;
    }
    Ok(kept)
}

/// True for each event that repeats one within the window of its kind. The windows of the others begin.
async fn repeats(tx: &mut Tx, events: &[(Plan, DomainEvent)]) -> Result<Vec<bool>, DbError> {
    let mut repeats = vec![false; events.len()];
    let windowed = events
        .iter()
        .enumerate()
        .filter(|(_, (plan, _))| plan.window_secs > 0);
    let mut windowed: Vec<(String, usize)> = windowed
        .map(|(index, (_, event))| (occurrence(event), index))
        .collect();
    windowed.sort();
    for (occurrence, index) in windowed {
        let (plan, event) = &events[index];
        let now = event.occurred_at;
        let ends_at = now.plus(Duration::from_secs(plan.window_secs.into()));
        let opened = exec!(tx, OPEN_WINDOW, occurrence, ends_at.ms(), now.ms()).await?;
        repeats[index] = opened.rows() == 0;
    }
    Ok(repeats)
}

/// Identity of an event for windows: its key and resource. An event without a resource is about its user.
fn occurrence(event: &DomainEvent) -> String {
    let about = match &event.resource_id {
        Some(id) => [event.resource_type.as_deref(), Some(id)],
        None => [None, event.subject_user_id.as_deref()],
    };
    // As JSON, which separates the three and has no NUL.
    serde_json::json!([event.event_key, about]).to_string()
}
