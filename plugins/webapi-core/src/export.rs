//! The .torrent file of a torrent.

use crate::error::Error;
use crate::http::{Answer, Clock, Http};
use crate::link::{Call, LARGE};
use crate::session::Session;

impl<H: Http, C: Clock> Session<H, C> {
    /// Bytes of the .torrent file; refused while there is no metadata.
    pub fn export_metainfo(&mut self, hash: &str) -> Result<Vec<u8>, Error> {
        self.by_name(hash, |link, id| {
            let query = [("hash", id)];
            let bytes = link
                .call(&Call::get("/torrents/export", &query, LARGE))?
                .read_to_end()?;
            if bytes.first() == Some(&b'd') {
                Ok(bytes)
            } else {
                Err(Error::Protocol(
                    "the client exported something else than a .torrent file".into(),
                ))
            }
        })
    }
}
