//! Permission checks for reading the content of a file: tickets, streams, downloads, previews.

use qm_confined::{FsError, Intent, RelPath};
use qm_kernel::{Permission, Requester};

use super::Files;
use super::preview::preview;
use crate::dto::answers::{Preview, TicketView};
use crate::dto::requests::{PathQuery, PreviewQuery, StreamQuery, WirePath};
use crate::error::FilesError;
use qm_file_contents::{Media, bound_to};
use qm_file_operations::Lane;

impl Files {
    /// A ticket for a file that is there.
    pub async fn issue_ticket(&self, caller: &Requester, path: &WirePath) -> Result<TicketView, FilesError> {
        let rel = path.rel()?;
        // A ticket for what cannot be streamed would be of no use.
        let media = self.open(rel.clone(), FilesError::StreamsDirectory).await?;
        let user_id = &caller.principal.user_id;
        let issued = self
            .tickets
            .issue(&bound_to(&rel), &media.mark, user_id, self.ctx.now());
        let (token, expires_at) = issued;
        Ok(TicketView {
            token,
            path: rel.text(),
            path_raw: rel.raw(),
            expires_at,
        })
    }

    /// The file of a ticket, as long as it is the one the ticket was issued for and the user may still see it.
    pub async fn stream(&self, query: StreamQuery) -> Result<Media, FilesError> {
        let claims = self
            .tickets
            .verify(&query.ticket, self.ctx.now())
            .ok_or(FilesError::BadTicket)?;
        let rel = query.path.rel()?;
        if bound_to(&rel) != claims.path {
            return Err(FilesError::OtherPath);
        }
        let holds = self.holders.holds(&claims.user_id, Permission::FilesPreview);
        match holds.await {
            Ok(true) => {}
            Ok(false) => return Err(FilesError::BadTicket),
            Err(reason) => return Err(FilesError::HolderUnknown(reason)),
        }
        let media = self.open(rel, FilesError::StreamsDirectory).await?;
        if media.mark != claims.file {
            return Err(FilesError::OtherFile);
        }
        Ok(media)
    }

    pub async fn download(&self, query: PathQuery) -> Result<Media, FilesError> {
        let rel = query.path.rel()?;
        self.open(rel, FilesError::DownloadsDirectory).await
    }

    pub async fn preview(&self, query: PreviewQuery) -> Result<Preview, FilesError> {
        let rel = query.path.rel()?;
        self.on_disk(Lane::Look, move |base| {
            let item = base.resolve(&rel, Intent::Read)?;
            preview(&item, query.encoding.as_deref())
        })
        .await
    }

    /// Sources that may frame a streamed file, as a policy names them.
    pub fn frame_ancestors(&self) -> &str {
        &self.frame_ancestors
    }

    /// Randomness that no file holds, to mark the parts of an answer with.
    pub fn boundary(&self) -> String {
        hex::encode(self.ctx.bytes::<16>())
    }

    async fn open(&self, rel: RelPath, if_directory: FilesError) -> Result<Media, FilesError> {
        let workers = self.workers.clone();
        let now = self.ctx.now();
        self.on_disk(Lane::Look, move |base| {
            let item = base.resolve(&rel, Intent::Read)?;
            let root = base.root().unwrap_or_default();
            match Media::open(&item, &root, workers, now) {
                Err(FsError::IsADirectory(_)) => Err(if_directory),
                opened => Ok(opened?),
            }
        })
        .await
    }
}
