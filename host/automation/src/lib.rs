//! Automation: rules of a trigger, conditions and actions that run automatically.
//!
//! A *decision* that a rule is to run is a row (`automation_runs`), stored before anything is done: for an edge in the
//! transaction by which the event is consumed, for what is complete already (the backfill) by a pass over the torrents that
//! changed, for a time table when it is due. A *runner* takes the rows in order, off the sync loops: of one rule one run at a time, of one torrent one run at
//! a time, by priority. What an action is about to do is committed before it begins; how the run ended, with the log, the
//! ledger and the audit, in one transaction.
//! Invariants: a rule runs once for an edge and once for a due time, and by backfill only while the ledger does not have the pair; an action that
//! may have been begun when the server died is begun again only if its plugin says that this does no harm; a rule that
//! fails hinders no other; a slow action delays no tick.
//! Deliberately absent: retries of single actions (a completion rule that failed runs again as a whole), and a dry run of
//! actions.
//!
//! Events: `automation.rule_stopped`. It consumes `torrent.rules_due`, `torrent.renewed`, and the events of shows, feeds and disks that are triggers.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
pub use service::book::RuleBook;
use service::{Automation, AutomationDeps};
