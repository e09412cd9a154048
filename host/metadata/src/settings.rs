//! The settings of this area.

use qm_platform::settings;
use serde_json::{Map, Value};

/// A setting with members.
pub type Object = Map<String, Value>;

settings! {
    of "metadata";

    /// Metadata providers in the order they are asked; empty: an order by kind of library.
    pub METADATA_PROVIDER_ORDER: Vec<String> = "media.metadataProviderOrder", Vec::new;

    /// Merging of fields from several metadata providers.
    pub UNIVERSAL_SCRAPER: bool = "media.universalScraper.enabled", || false;

    /// The provider preferred for a field, by field.
    pub UNIVERSAL_SCRAPER_FIELDS: Object = "media.universalScraper.fields", Object::new;

    /// The API key of metadata provider A.
    pub secret PROVIDER_A_API_KEY = "media.providerAApiKey";

    /// The API key of metadata provider B.
    pub secret PROVIDER_B_API_KEY = "media.providerBApiKey";

    /// The subscriber PIN of metadata provider B.
    pub secret PROVIDER_B_PIN = "media.providerBPin";

    /// The API key of OMDb, which is asked for a rating where no data set has one.
    pub secret OMDB_API_KEY = "media.omdbApiKey";
}
