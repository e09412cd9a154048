//! The .torrent file of a torrent, as rTorrent keeps it in its session.
//!
//! No command of rTorrent gives a file's bytes, and XML cannot carry them: the program `base64` beside rTorrent writes them as text. Its
//! one argument that varies is the path of the session with an info-hash behind it, and no shell reads it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::client::{Client, target};
use crate::commands::parts;
use crate::error::Error;
use crate::fields::is_magnet;
use crate::wire::{Clock, Transport};

/// Waits between looks at the file, milliseconds: a session is written after the answer.
const WAITS_MS: [u32; 6] = [0, 100, 200, 400, 800, 1_600];

impl<T: Transport, C: Clock> Client<T, C> {
    /// Bytes of the .torrent file; refused while there is no metadata, and by an rTorrent without a session.
    pub fn export_metainfo(&self, hash: &str) -> Result<Vec<u8>, Error> {
        let target = target(hash)?;
        let answers = self.multicall(&[
            ("d.name", vec![(&target).into()]),
            ("session.path", vec!["".into()]),
        ])?;
        let [name, session] = parts(answers)?;
        if is_magnet(&target, &name?.text()) {
            return Err(Error::Rejected("the torrent has no metadata yet".to_owned()));
        }
        let session = session?.text();
        let session = session.trim_end_matches('/');
        if session.is_empty() {
            return Err(Error::Rejected(
                "rTorrent keeps no session; set `session.path` to have .torrent files of it".to_owned(),
            ));
        }
        let path = format!("{session}/{target}.torrent");
        let mut why = String::new();
        for wait in WAITS_MS {
            self.clock.sleep_ms(wait);
            if wait > 0 {
                self.store(&target);
            }
            match self.call(
                "execute.capture",
                &["", "base64", "-w0", "--", &path].map(Into::into),
            )? {
                Ok(text) => match BASE64_STANDARD.decode(text.text().trim()) {
                    Ok(bytes) if bytes.first() == Some(&b'd') => return Ok(bytes),
                    _ => "its text is no .torrent file".clone_into(&mut why),
                },
                Err(fault) => why = fault.text,
            }
        }
        Err(Error::Rejected(format!("rTorrent does not give `{path}`: {why}")))
    }
}
