//! The Default Root Path: where browsing begins, within the hard roots.

use async_trait::async_trait;
use qm_kernel::{Permission, Requester};
use qm_platform::judge_alone;
use qm_ports::DefaultRoot;
use serde_json::json;

use super::Files;
use super::tell::Fact;
use crate::dto::answers::RootInfo;
use crate::dto::requests::shorten;
use crate::error::FilesError;
use crate::settings::DEFAULT_ROOT_PATH;
use qm_confined::FsError;
use qm_file_operations::Lane;

const ACTION: &str = "settings.update_root_path";

#[async_trait]
impl DefaultRoot for Files {
    async fn find_default_root(&self) -> Result<Option<String>, String> {
        self.configured_root().await.map_err(|error| error.to_string())
    }
}

impl Files {
    pub async fn root(&self) -> Result<RootInfo, FilesError> {
        let configured = self.configured_root().await?;
        let hard_roots = self.roots.paths();
        self.on_disk(Lane::Look, move |base| {
            let (exists, readable, writable) = base.access();
            Ok(RootInfo {
                root: base.root().ok_or(FsError::NoRoot)?,
                configured,
                hard_roots,
                exists,
                readable,
                writable,
            })
        })
        .await
    }

    /// Sets the Default Root Path to a directory within the hard roots.
    pub async fn set_root(&self, caller: &Requester, path: &str) -> Result<RootInfo, FilesError> {
        let needed = [Permission::SettingsManageRootPath];
        judge_alone(&*self.acting, &self.db, &caller.principal, &needed).await?;
        let checked = self.check_root(path.trim()).await;
        let next = match checked {
            Ok(next) => next,
            Err(error) => {
                let metadata = json!({ "requested": shorten(path), "error": error.public() });
                let fact = setting(metadata).failure_if(true);
                self.audit_alone(caller, fact, None).await;
                return Err(error);
            }
        };
        let mut tx = self.db.begin_write().await?;
        self.acting.judge(&mut tx, &caller.principal, &needed).await?;
        let setting_of_root = &DEFAULT_ROOT_PATH;
        let previous = self.settings.get(&mut tx, setting_of_root).await?;
        let metadata = json!({ "previous": previous, "next": next });
        self.settings.put(&mut tx, setting_of_root, &next).await?;
        self.audit_in(&mut tx, Some(caller), setting(metadata)).await?;
        tx.commit().await?;
        self.root().await
    }

    /// The path normalised, if it can be the root.
    async fn check_root(&self, path: &str) -> Result<String, FilesError> {
        if path.is_empty() {
            return Err(FilesError::NoPath);
        }
        let (roots, path) = (self.roots.clone(), path.to_owned());
        self.workers
            .run(Lane::Quick, move || {
                roots
                    .narrow(&path)
                    .map_err(|error| FilesError::Root(error.to_string()))?;
                Ok(roots.inspect(&path)?.path)
            })
            .await
    }
}

fn setting(metadata: serde_json::Value) -> Fact {
    Fact {
        object_type: Some("setting"),
        ..Fact::file(ACTION, DEFAULT_ROOT_PATH.key, metadata)
    }
}
