//! Status of the data set and the API.

use qm_platform::{AuditEntry, AuditResult, judge_alone, origins};

use super::Titledb;
use super::options::NEEDED;
use crate::error::TitledbError;
use crate::model::options::{Mode, Options};
use crate::model::status::Status;
use crate::repo;
use qm_kernel::Caller;

fn has_api(options: &Options) -> bool {
    options.api_base_url.is_some() && options.sealed_key.is_some()
}

impl Titledb {
    pub async fn status(&self) -> Result<Status, TitledbError> {
        let options = self.options().await?;
        let imports = self.imports().await?;
        let live = self.store.live().await?;
        let titles = live.as_ref().map_or(0, |live| live.loaded.titles);
        let api_configured = has_api(&options);
        let has_dataset = options.mode.uses_dataset() && titles > 0;
        let available = has_dataset || (options.mode.uses_api() && api_configured);
        let detail = match options.mode {
            Mode::Disabled => "Titledb is switched off in its settings.".to_owned(),
            _ if has_dataset => format!("{titles} titles are imported."),
            Mode::Dataset => "No data set is imported.".to_owned(),
            Mode::OfficialApi | Mode::Hybrid if api_configured => "The API is configured.".to_owned(),
            Mode::OfficialApi => origins::complaint(&options.wanted).map_or_else(
                || "The API is not configured: it takes an address and a key.".to_owned(),
                |wanted| format!("The API is not configured: {wanted}."),
            ),
            Mode::Hybrid => "No data set is imported, and the API is not configured.".to_owned(),
        };
        Ok(Status {
            mode: options.mode,
            available,
            titles,
            api_configured,
            detail,
            left_out: options.left_out(),
            last_import: imports.into_iter().next(),
        })
    }

    /// Checks if the API is configured, and if titles are available. Nothing is sent.
    pub async fn test(&self, caller: Caller<'_>) -> Result<(bool, bool), TitledbError> {
        // The answer reveals that a secret is stored, so the permission is checked first.
        judge_alone(&*self.acting, &self.db, caller.principal, NEEDED).await?;
        let status = self.status().await?;
        let entry = AuditEntry {
            user_id: Some(caller.principal.user_id.to_string()),
            action: "media.titledb.official_api.tested",
            object_type: Some("titledb_settings"),
            result: if status.api_configured {
                AuditResult::Success
            } else {
                AuditResult::Failure
            },
            client: Some(caller.client),
            ..AuditEntry::default()
        };
        self.audit.record_alone(&self.db, entry).await;
        Ok((status.api_configured, status.available))
    }

    /// Closes abandoned imports, and starts an update that is due.
    pub async fn tick(&self) -> Result<(), TitledbError> {
        self.settle().await?;
        let options = self.options().await?;
        if !options.auto_download_enabled {
            return Ok(());
        }
        if !options.mode.uses_dataset() {
            tracing::warn!("titledb: autoDownloadEnabled does nothing while the mode uses no data set");
            return Ok(());
        }
        let newest = repo::imports::newest(&mut self.db.begin_read().await?).await?;
        let interval = (options.auto_update_interval_hours * 3_600_000.0) as i64;
        let now = self.ctx.now();
        let is_due = newest
            .first()
            .is_none_or(|newest| now.ms() - newest.created_at.ms() >= interval);
        if is_due {
            self.update(None).await?;
        }
        Ok(())
    }
}
