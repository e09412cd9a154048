//! Admission of private addresses that users name and the server then contacts.

use qm_kernel::{Caller, Permission};
use qm_platform::origins::{is_same_origin, origin};
use serde_json::Value;

use super::Indexers;
use crate::error::IndexerAreaError;
use crate::model::change::Change;
use crate::model::tries::MOST;

impl Indexers {
    /// As [`Indexers::admit_address`], for every address of a configuration.
    pub(super) async fn admit_addresses(
        &self,
        caller: Caller<'_>,
        change: &Change,
        before: Option<&str>,
    ) -> Result<(), IndexerAreaError> {
        let config = change.config.iter().flat_map(|config| config.values());
        let urls = config
            .filter_map(Value::as_str)
            .filter(|text| text.contains("://"));
        for address in change.base_url.as_deref().into_iter().chain(urls) {
            self.admit_address(caller, address, before).await?;
        }
        Ok(())
    }

    /// Refuses a private address beyond the limit. Call it before the address is stored or dialled, and
    /// outside any transaction, because the name may have to be resolved. `before` is the address so far.
    pub(super) async fn admit_address(
        &self,
        caller: Caller<'_>,
        address: &str,
        before: Option<&str>,
    ) -> Result<(), IndexerAreaError> {
        let is_operator = caller.principal.has_permission(Permission::EnginesManage);
        let is_known = before.is_some_and(|before| is_same_origin(before, address));
        if address.is_empty() || is_operator || is_known || !self.net.leads_inside(address).await {
            return Ok(());
        }
        let taken = self
            .tries
            .take(&caller.principal.user_id, &origin(address), self.ctx.now());
        taken.map_err(|wait| IndexerAreaError::TooManyAddresses {
            most: MOST,
            minutes: wait.as_secs().div_ceil(60),
        })
    }
}
