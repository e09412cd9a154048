//! Lookups of the rows that a request names; a missing row is an error.

use qm_db::Tx;

use crate::error::RssError;
use crate::model::feed::Feed;
use crate::model::rule::Rule;
use crate::repo;

pub(super) async fn rule(tx: &mut Tx, id: &str) -> Result<Rule, RssError> {
    let found = repo::rules::find(tx, id).await?;
    found.ok_or_else(|| RssError::NoSuchRule(id.to_owned()))
}

pub(super) async fn feed(tx: &mut Tx, id: &str) -> Result<Feed, RssError> {
    let found = repo::feeds::find(tx, id).await?;
    found.ok_or_else(|| RssError::NoSuchFeed(id.to_owned()))
}
