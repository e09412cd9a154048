//! Parts that the handlers of changes share: the caller, and the torrent that they name.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use qm_kernel::{Permission, Requester};
use qm_ports::Removal;
use qm_ports::engine::Command;
use qm_web::{ApiError, ApiResult, By, Path};

use crate::dto::requests::{Done, MoveDone};
use crate::service::Torrents;

/// A request about the torrent in its path.
pub struct Asked {
    app: Arc<Torrents>,
    by: Requester,
    hash: String,
}

impl FromRequestParts<Arc<Torrents>> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<Torrents>) -> Result<Self, ApiError> {
        let By(by) = By::from_request_parts(parts, app).await?;
        let Path(hash) = Path::from_request_parts(parts, app).await?;
        Ok(Self {
            app: app.clone(),
            by,
            hash,
        })
    }
}

impl Asked {
    /// Does `command` to the torrent and audits it as `permission`'s action.
    pub async fn run(
        self,
        engine_id: Option<String>,
        permission: Permission,
        command: Command,
    ) -> ApiResult<Done> {
        let (caller, engine_id) = (self.by.caller(), engine_id.as_deref());
        self.app
            .command(caller, engine_id, &self.hash, permission, command)
            .await?;
        Ok(Done::new())
    }

    /// Removes the torrent with its data.
    pub async fn remove_data(self, engine_id: Option<String>, keep_shared: bool) -> ApiResult<Done> {
        let removal = Removal {
            with_data: true,
            keep_shared,
            along: &[],
        };
        let caller = Some(self.by.caller());
        self.app
            .remove_by(caller, engine_id.as_deref(), &self.hash, removal)
            .await?;
        Ok(Done::new())
    }

    /// Moves the torrent with its data.
    pub async fn relocate(self, engine_id: Option<String>, destination: String) -> ApiResult<MoveDone> {
        let (caller, engine_id) = (self.by.caller(), engine_id.as_deref());
        let moving = self
            .app
            .data
            .relocate(caller, engine_id, &self.hash, &destination);
        Ok(MoveDone {
            success: true,
            operation_id: moving.await?,
        })
    }
}
