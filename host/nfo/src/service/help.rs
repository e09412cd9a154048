//! Notes for the media library, when it follows a download by itself.

use async_trait::async_trait;
use qm_kernel::Requester;
use qm_ports::helpers::{HelpError, MediaNoteWriter};

use super::Nfo;
use crate::error::NfoError;

#[async_trait]
impl MediaNoteWriter for Nfo {
    async fn write_note_of(&self, who: &Requester, item_id: &str) -> Result<bool, HelpError> {
        match self.generate(who.caller(), item_id, false).await {
            Ok(_) => Ok(true),
            // It is somebody's, who is not asked here.
            Err(NfoError::Exists(_) | NfoError::Unkept(..) | NfoError::Locked) => Ok(false),
            Err(error) => Err(HelpError::Failed(error.to_string())),
        }
    }
}
