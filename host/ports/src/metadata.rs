//! Metadata of films and shows: [`Providers`] is how a provider is asked, whatever the plugin and the version of the API its
//! component was written against.
//!
//! Dates are `YYYY-MM-DD` and exist, languages BCP 47, countries ISO 3166-1 in capitals, ratings from 0 to 10. Texts
//! come from a plugin: they are bounded and have no control characters, but nobody has checked what they say.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::settling::Settling;

/// The kind of a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TitleKind {
    Movie,
    Show,
}

/// Questions that a provider can answer, beside the check of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ability {
    Search,
    Details,
    Episodes,
    Artwork,
    Find,
}

/// A provider that an installed plugin speaks to.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderKind {
    /// The neutral id of the provider and of its plugin, e.g. `provider_a`; also the word for its ids.
    pub id: String,
    /// The product's name.
    pub label: String,
    /// The plugin's own version.
    pub version: String,
    /// JSON Schema of the configuration.
    pub config_schema: Value,
    pub kinds: Vec<TitleKind>,
    pub abilities: Vec<Ability>,
    /// Sources of ids that [`Providers::find`] takes, e.g. `titledb`.
    pub find_sources: Vec<String>,
}

/// The configuration that a provider is asked with, secrets in clear; it is handed to the plugin and to nobody else. It
/// lies over the fields that an administrator entered for the plugin: a field that stands here wins, and one that is
/// null is not passed on.
#[derive(Clone, Default)]
pub struct ProviderConfig {
    pub fields: Map<String, Value>,
    /// Time limit on one request, in milliseconds; none: the plugin's own.
    pub timeout_ms: Option<u32>,
}

impl std::fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields.keys()).finish()
    }
}

/// An id at a source, e.g. `titledb` and `tt0944947`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExternalId {
    pub source: String,
    pub id: String,
}

/// An image that anybody may fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// URL of the largest there is.
    pub url: String,
    /// URL of a smaller one, for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// A question for titles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TitleQuery {
    pub kind: TitleKind,
    pub title: String,
    /// Only titles of this year are found; the caller may ask again without a year.
    pub year: Option<u32>,
    pub language: Option<String>,
    /// From 1.
    pub page: u32,
}

impl TitleQuery {
    /// The first page, in the provider's language, of any year.
    pub fn first_page(kind: TitleKind, title: &str) -> Self {
        Self {
            kind,
            title: title.to_owned(),
            year: None,
            language: None,
            page: 1,
        }
    }
}

/// A title as a search lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TitleHit {
    /// The provider's own id.
    pub id: String,
    pub kind: TitleKind,
    pub title: String,
    pub original_title: Option<String>,
    /// The date of the release, or of the first episode.
    pub released: Option<String>,
    pub overview: Option<String>,
    pub original_language: Option<String>,
    pub poster: Option<Picture>,
    pub backdrop: Option<Picture>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
    /// Comparable within one provider alone.
    pub popularity: Option<f64>,
}

/// A page of what was found, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TitlesFound {
    pub hits: Vec<TitleHit>,
    pub page: u32,
    /// Pages there are.
    pub pages: u32,
    /// Hits on all pages, when the provider says.
    pub total: Option<u32>,
}

/// A question for all about one title.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TitleSubject {
    pub kind: TitleKind,
    /// The provider's own id.
    pub id: String,
    pub language: Option<String>,
    /// The country whose certification is asked for.
    pub country: Option<String>,
}

/// Somebody in front of the camera or behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credit {
    pub id: Option<String>,
    pub name: String,
    /// The character, or the job.
    pub role: Option<String>,
    pub picture: Option<Picture>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EpisodeDetails {
    pub id: Option<String>,
    /// 0: specials.
    pub season: u32,
    pub number: u32,
    pub title: Option<String>,
    pub overview: Option<String>,
    pub aired: Option<String>,
    /// Minutes.
    pub runtime: Option<u32>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
    pub still: Option<Picture>,
    /// People who act in this episode beside the cast of the show.
    pub guests: Vec<Credit>,
    pub crew: Vec<Credit>,
}

/// A season, without its episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeasonDetails {
    pub number: u32,
    pub title: Option<String>,
    pub overview: Option<String>,
    pub aired: Option<String>,
    pub episodes: Option<u32>,
    pub poster: Option<Picture>,
}

/// Where a title stands, whatever the product's word for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    #[default]
    Unknown,
    Planned,
    /// More was announced.
    Returning,
    /// It has not ended.
    Continuing,
    Ended,
    Canceled,
    /// The film is out; films only.
    Released,
}

/// All about one title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TitleDetails {
    /// The provider's own id.
    pub id: String,
    pub kind: TitleKind,
    pub title: String,
    pub original_title: Option<String>,
    pub overview: Option<String>,
    pub tagline: Option<String>,
    /// The first release, or the first episode's date.
    pub released: Option<String>,
    /// Date of the last episode that was aired.
    pub last_aired: Option<String>,
    /// The status in the product's words.
    pub status: Option<String>,
    pub standing: Standing,
    pub original_language: Option<String>,
    pub countries: Vec<String>,
    pub genres: Vec<String>,
    pub tags: Vec<String>,
    /// Minutes; of a show one episode's.
    pub runtime: Option<u32>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
    pub popularity: Option<f64>,
    pub certification: Option<String>,
    pub studios: Vec<String>,
    pub networks: Vec<String>,
    /// In the order of the billing.
    pub cast: Vec<Credit>,
    pub crew: Vec<Credit>,
    pub creators: Vec<String>,
    pub seasons: Vec<SeasonDetails>,
    pub season_count: Option<u32>,
    pub episode_count: Option<u32>,
    pub last_episode: Option<EpisodeDetails>,
    pub next_episode: Option<EpisodeDetails>,
    pub poster: Option<Picture>,
    pub backdrop: Option<Picture>,
    /// URL of its page at the product, for people.
    pub page: Option<String>,
    /// Its ids elsewhere, and its own; each source once.
    pub ids: Vec<ExternalId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageKind {
    Poster,
    Backdrop,
    Logo,
    Banner,
    Still,
}

/// An image of a title, as its provider lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageDetails {
    pub kind: ImageKind,
    pub picture: Picture,
    /// Pixels.
    pub width: Option<u32>,
    pub height: Option<u32>,
    /// The language of the text on it.
    pub language: Option<String>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
}

/// Why a provider did not answer. None of them is a bug of the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Timeout(String),
    /// It refused the key.
    #[error("{0}")]
    Auth(String),
    /// It asks to come back after so many seconds, when it says so.
    #[error("{message}")]
    Throttled { seconds: Option<u32>, message: String },
    /// It does not know what was asked about.
    #[error("{0}")]
    NotFound(String),
    /// It answered something else than its protocol.
    #[error("{0}")]
    Unparsable(String),
    /// It answered an error of its protocol.
    #[error("{code}: {description}")]
    Api { code: String, description: String },
    #[error("{message}")]
    Status { status: u16, message: String },
    #[error("{0}")]
    TooLarge(String),
    /// It redirects elsewhere.
    #[error("{0}")]
    Redirected(String),
    #[error("is not configured right: {0}")]
    InvalidConfig(String),
    #[error("{0}")]
    Unsupported(String),
    /// The plugin asked for something nobody granted it.
    #[error("its plugin may not do that: {0}")]
    Denied(String),
    /// Too many calls wait for its plugin.
    #[error("is busy")]
    Busy,
    /// No installed plugin speaks to the provider.
    #[error("{0}")]
    Missing(String),
    /// The plugin trapped, ran out of its budget or is parked after too many strikes.
    #[error("its plugin failed: {0}")]
    Plugin(String),
}

/// The providers that installed plugins speak to. Calls never panic and never block a thread; every one ends. Nothing is cached
/// here and nobody waits for a pause that a provider asked for: both are the caller's.
#[async_trait]
pub trait Providers: Send + Sync {
    /// Every provider, sorted by id.
    fn providers(&self) -> Vec<ProviderKind>;
    /// A notice that a plugin which may provide this provider is still being loaded; `None` once there is no such
    /// plugin.
    fn settling(&self, _provider: &str) -> Option<Settling> {
        None
    }
    /// Checks this configuration, laid over the one that an administrator entered for the plugin, against the
    /// provider's schema. Nobody is asked.
    async fn is_configured(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError>;
    /// Asks the provider whether the configuration is good.
    async fn verify(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError>;
    async fn search(
        &self,
        provider: &str,
        config: ProviderConfig,
        query: TitleQuery,
    ) -> Result<TitlesFound, ProviderError>;
    async fn details(
        &self,
        provider: &str,
        config: ProviderConfig,
        subject: TitleSubject,
    ) -> Result<TitleDetails, ProviderError>;
    /// The episodes of a season, by number; `NotFound` when there is no such season.
    async fn episodes(
        &self,
        provider: &str,
        config: ProviderConfig,
        show: &str,
        season: u32,
        language: Option<&str>,
    ) -> Result<Vec<EpisodeDetails>, ProviderError>;
    /// Images of a title, the best of each kind first; the country of the subject is ignored.
    async fn artwork(
        &self,
        provider: &str,
        config: ProviderConfig,
        subject: TitleSubject,
    ) -> Result<Vec<ImageDetails>, ProviderError>;
    /// Titles that have this id at another source; none when it is unknown there.
    async fn find(
        &self,
        provider: &str,
        config: ProviderConfig,
        id: ExternalId,
        language: Option<&str>,
    ) -> Result<Vec<TitleHit>, ProviderError>;
}

/// The kind of thing that is looked up, in the words of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LookupKind {
    Movie,
    Tv,
    Anime,
    General,
}

impl LookupKind {
    /// True for shows; they have their own order of providers.
    pub const fn is_show(self) -> bool {
        matches!(self, Self::Tv | Self::Anime)
    }

    /// The kind of title that providers are asked for.
    pub const fn title_kind(self) -> TitleKind {
        if self.is_show() {
            TitleKind::Show
        } else {
            TitleKind::Movie
        }
    }
}

/// A question of a library about one item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    pub kind: LookupKind,
    pub title: String,
    pub year: Option<u32>,
    /// Season and episode number of an episode; both or none.
    pub season: Option<u32>,
    pub episode: Option<u32>,
    /// Ids that are known already. A provider whose own id is among them is not searched, nor is one that finds the
    /// title by another of them.
    pub ids: Vec<ExternalId>,
}

/// Somebody with what they do: a character or a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub name: String,
    pub role: Option<String>,
}

/// All that is known about one item. An episode has its own title, day and so on, and the cast of its show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The provider's id, or `universal`.
    pub provider: String,
    pub title: Option<String>,
    /// The original title; for an episode, the original title of its show.
    pub original_title: Option<String>,
    pub overview: Option<String>,
    /// `YYYY-MM-DD`.
    pub release_date: Option<String>,
    pub year: Option<u32>,
    /// Minutes.
    pub runtime: Option<u32>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    pub cast: Vec<Person>,
    pub crew: Vec<Person>,
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub tags: Vec<String>,
    /// Each source once.
    pub ids: Vec<ExternalId>,
    /// Which provider a field came from, by the field; empty unless several were merged.
    pub field_sources: std::collections::BTreeMap<String, String>,
}

/// A provider that did not answer, and why: a sentence without a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    pub provider: String,
    pub reason: String,
}

/// The answer to a [`Lookup`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Complete, or none: if a provider stopped answering in the middle, nothing of its answer is here.
    pub metadata: Option<Metadata>,
    /// Providers that were asked in vain because they did not answer. One that answered and knows nothing is not among them.
    pub silent: Vec<Silent>,
    /// Ids of titles of which none was better than the others, the provider's own; empty when there is metadata.
    pub ambiguous: Vec<ExternalId>,
}

/// A title that may be the one meant; nobody has confirmed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitleSuggestion {
    pub provider: String,
    /// The provider's own id.
    pub id: String,
    pub title: String,
    pub year: Option<u32>,
    /// Hundredths.
    pub score: i64,
}

/// The answer of one provider that was asked alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Alone<T> {
    Told(T),
    /// It answered, and does not know it.
    Unknown,
    /// It answered with titles that are only similar, or with several of that name; the likeliest first.
    Unsure(Vec<TitleSuggestion>),
    /// It has no key, or no plugin.
    Nobody,
    Silent(Silent),
}

/// A rating by people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rated {
    /// 0 to 10.
    pub rating: f64,
    /// The rating is that of a whole series.
    pub is_series: bool,
}

/// Part of a title whose images are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImagesOf {
    /// The film or show as a whole.
    Title,
    /// The season with this number: its poster.
    Season(u32),
    /// Season and number of an episode: its still.
    Episode(u32, u32),
}

/// The order of providers could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the settings of providers cannot be read: {0}")]
pub struct Unsettled(pub String);

/// The way a library asks for metadata. It hides which providers there are and the order in which they are asked.
#[async_trait]
pub trait MetadataChain: Send + Sync {
    /// Providers in the order they are asked: those that have a key.
    async fn chain(&self, kind: LookupKind) -> Result<Vec<String>, Unsettled>;
    /// Takes at most half a minute for each provider. The caller stores the answer after this has ended, so a provider
    /// that fails leaves every item as it was.
    async fn details(&self, lookup: &Lookup) -> Result<Told, Unsettled>;
    /// Asks one provider alone, whatever the order: by its own id if that is known, else by an id at a source by which
    /// it finds titles, else by title and year. Title and year must be the same; titles that are only similar are
    /// suggested. The answer may have another id at another source than the one that is known.
    async fn details_of(&self, provider: &str, lookup: &Lookup) -> Result<Alone<Box<Metadata>>, Unsettled>;
    /// The provider's own id of the title that has this id at another source, and the kind of the title: the first of
    /// `kinds` that there is.
    async fn own_id(
        &self,
        provider: &str,
        id: &ExternalId,
        kinds: &[TitleKind],
    ) -> Result<Alone<(TitleKind, String)>, Unsettled>;
    /// Images of a title at one provider by its own id there, the best of each kind first; `Unknown` for a title that it does
    /// not have. Nothing is fetched.
    async fn images(
        &self,
        _provider: &str,
        _title: (TitleKind, &str),
        _part: ImagesOf,
    ) -> Result<Alone<Vec<ImageDetails>>, Unsettled> {
        Ok(Alone::Nobody)
    }
    /// The rating of the title with this id in the data set of titles, from the provider that rates titles without the
    /// data set.
    async fn rating(&self, titledb_id: &str) -> Result<Alone<Rated>, Unsettled>;
}
