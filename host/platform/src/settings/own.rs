//! Settings that several areas read.

use qm_db::{DbError, Tx};
use qm_kernel::timezone;
use serde_json::{Map, Value};

use super::Settings;
use crate::settings;

settings! {
    of "platform";

    /// The name clients show; the one the server was started with until it is changed.
    pub PRODUCT_NAME: String = "general.productName",
        || "Quartermaster".to_owned(), accepts(|name| !name.trim().is_empty()), seeded();

    /// The IANA time zone of newsletters and schedules; the server's own until it is set.
    pub TIMEZONE: Option<String> = "app.timezone",
        || None,
        accepts(|zone: &Option<String>| zone.as_deref().is_none_or(timezone::is_zone)),
        rule("must be the IANA name of a time zone, e.g. Europe/Berlin, or null");

    /// The mail server that notifications and newsletters go through.
    pub MAIL: Map<String, Value> = "media_server_analytics.email",
        Map::new, by_route("PATCH /api/media-server-analytics/settings/email"), secret_members(&["password"]);
}

impl Settings {
    /// The operator's time zone, [`TIMEZONE`].
    pub async fn find_zone(&self, tx: &mut Tx) -> Result<timezone::TimeZone, DbError> {
        let name = self.get(tx, &TIMEZONE).await?;
        Ok(timezone::zone(name.as_deref()))
    }
}
