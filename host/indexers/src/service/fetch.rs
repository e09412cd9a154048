//! Download of releases: links to an indexer's own origin by its protocol, all others through the URL guard.

use qm_metainfo::magnet::is_magnet;
use qm_net::{GuardKind, Linked};
use qm_ports::indexer::{Fetched, IndexerError, Payload};
use url::Url;

use super::ask::Why;
use super::{FETCH, Indexers, MAX_TORRENT};
use crate::error::IndexerAreaError;
use crate::model::indexer::Indexer;
use crate::repo;

impl Indexers {
    /// `listed_by` is the id of the indexer that listed it, if known; it is preferred to others of the same
    /// origin.
    pub async fn fetch_release(
        &self,
        link: &str,
        listed_by: Option<&str>,
    ) -> Result<Fetched, IndexerAreaError> {
        if is_magnet(link) {
            return Ok(Fetched::Magnet(link.to_owned()));
        }
        let Some(indexer) = self.owner(link, listed_by).await? else {
            return self.fetch_outside(link).await;
        };
        let own = link.to_owned();
        let answer = self
            .ask(&indexer, Why::Grab, move |protocols, protocol, config| {
                Box::pin(async move { protocols.download(protocol, config, &own).await })
            })
            .await;
        match answer {
            Ok(Payload::Torrent(file)) => of_body(file),
            Ok(Payload::Magnet(magnet)) => Ok(Fetched::Magnet(magnet)),
            Ok(Payload::Elsewhere(url)) => self.fetch_outside(&url).await,
            Err(source) => Err(IndexerAreaError::Failed {
                message: indexer.complaint(&source),
                source,
            }),
        }
    }

    async fn owner(&self, link: &str, listed_by: Option<&str>) -> Result<Option<Indexer>, IndexerAreaError> {
        let Ok(link) = Url::parse(link) else {
            return Ok(None);
        };
        let mut indexers = repo::indexers::all(&mut self.db.begin_read().await?).await?;
        indexers.retain(|indexer| indexer.is_enabled && indexer.owns(&link));
        let listed = indexers
            .iter()
            .position(|indexer| Some(indexer.id.as_str()) == listed_by);
        Ok(indexers.into_iter().nth(listed.unwrap_or(0)))
    }

    async fn fetch_outside(&self, url: &str) -> Result<Fetched, IndexerAreaError> {
        let linked = self
            .net
            .fetch_linked(url, GuardKind::TorrentUrl, MAX_TORRENT, FETCH)
            .await
            .map_err(|source| IndexerAreaError::Link {
                message: source.about(url),
                source,
            })?;
        match linked {
            Linked::Body(body) => of_body(body.to_vec()),
            Linked::Magnet(magnet) => Ok(Fetched::Magnet(magnet)),
        }
    }
}

/// Accepts a body that begins like a .torrent file; anything else is an error that names it.
fn of_body(body: Vec<u8>) -> Result<Fetched, IndexerAreaError> {
    if body.first() == Some(&b'd') {
        return Ok(Fetched::Torrent(body));
    }
    let message = qm_feeds::instead_of_torrent(&body);
    Err(IndexerAreaError::Failed {
        source: IndexerError::Unparsable(message.clone()),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_torrent_is_told() {
        assert!(of_body(b"d4:infodee".to_vec()).is_ok());
        let refused = of_body(b"<html><body>404</body></html>".to_vec()).err();
        let told = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains("a web page where a .torrent file"), "{told}");
    }
}
