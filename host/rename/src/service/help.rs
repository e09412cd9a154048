//! Names for the media library, when it follows a download, a scan or an order by itself.

use async_trait::async_trait;
use qm_kernel::{ErrorKind, Requester};
use qm_ports::helpers::{HelpError, InOrder, MediaNaming, NamedItems, NamingOrder};
use qm_rename_plan::Mode;

use super::Rename;
use super::items::Manner;
use crate::error::RenameError;
use crate::model::run::moves;

#[async_trait]
impl MediaNaming for Rename {
    async fn name_items(&self, who: &Requester, order: NamingOrder<'_>) -> Result<NamedItems, HelpError> {
        let app = self.myself().map_err(refused)?;
        let mut manner = Manner {
            mode: None,
            torrent_hash: order.torrent_hash.map(str::to_owned),
        };
        if order.is_moving {
            let shelf = self.shelves.find_shelf_by_id(order.library_id).await;
            let shelf = shelf.map_err(|error| refused(error.into()))?;
            let mode = shelf.and_then(|shelf| Mode::from_word(&shelf.mode));
            // A link or a copy beside a file that came a moment ago would only be a second one.
            manner.mode = Some(mode.filter(|mode| moves(*mode)).unwrap_or(Mode::RenameMove));
        }
        let naming = app.rename_items(who, order.library_id, order.item_ids, manner);
        let named = naming.await.map_err(refused)?;
        Ok(NamedItems {
            settled: named.settled,
            renamed: named.renamed,
            failed: named.failed,
        })
    }

    async fn put_in_order(&self, who: &Requester, library_id: &str) -> Result<InOrder, HelpError> {
        let app = self.myself().map_err(refused)?;
        let organized = app.organize(who, library_id, false).await.map_err(refused)?;
        Ok(InOrder {
            named: organized.outcome.applied,
            failed: organized.outcome.failed,
            needs_review: organized.needs_review.len() as u64,
        })
    }
}

fn refused(error: RenameError) -> HelpError {
    let text = error.to_string();
    match (&error, error.kind()) {
        (RenameError::Running(_), _) | (_, ErrorKind::Unavailable) => HelpError::Busy(text),
        _ => HelpError::Failed(text),
    }
}
