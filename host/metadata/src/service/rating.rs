//! Ratings by ids of the data set of titles, from OMDb: used where no data set has one.
//!
//! OMDb is used for ratings only and stands in no chain, so it is no plugin: one request by id, with its own
//! key, and with the time limit, pace and cache of providers. Its answers have status 200 whatever they mean,
//! so the document decides.
//!
//! Source: OMDb's own documentation (`/?i=tt…`), and answers of its service.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use qm_kernel::Secret;
use qm_net::{DialError, Grants, HttpRequest, Progress};
use qm_ports::metadata::{Alone, ProviderError, Rated};
use qm_titles::is_titledb_id;
use serde::Deserialize;
use url::Url;

use super::MetadataArea;
use super::cache::{Answer, Question};
use super::keys::PATIENCE;
use super::lookup::silent;

/// Name in errors.
const OMDB: &str = "omdb";
/// The only requested origin.
pub const ORIGIN: &str = "https://www.omdbapi.com";
/// Largest answer in bytes; a title has about 2 KiB.
const MOST: usize = 64 << 10;
/// Pause after the daily budget is used up. It does not say when the next day begins.
const USED_UP: u32 = 60 * 60;

/// Fields of an answer.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[serde(default)]
    response: String,
    #[serde(default)]
    error: String,
    /// `movie`, `series`, `episode`, `game`.
    #[serde(default)]
    r#type: String,
    /// A number of one decimal, or `N/A`.
    #[serde(default, rename = "imdbRating")]
    rating: String,
}

impl MetadataArea {
    /// Rating of the title with this id, with the given key.
    pub(super) async fn rated(&self, key: Option<Secret>, id: &str) -> Alone<Rated> {
        let Some(key) = key else {
            return Alone::Nobody;
        };
        // Any other text would request something else.
        if !is_titledb_id(id) {
            return Alone::Unknown;
        }
        match self.ask_rating(&key, id).await {
            Ok(Answer::Rating(rated)) => Alone::Told(rated),
            Ok(_) => Alone::Unknown,
            Err(reason) => silent(OMDB, reason),
        }
    }

    async fn ask_rating(&self, key: &Secret, id: &str) -> Result<Answer, String> {
        let mut hasher = DefaultHasher::new();
        key.expose().hash(&mut hasher);
        let question = Question::Rating(id.to_owned());
        let asking = async {
            let rated = tokio::time::timeout(PATIENCE, self.fetch_rating(key, id)).await;
            let rated = rated.unwrap_or_else(|_| Err(unreachable(DialError::Timeout)))?;
            Ok(rated.map_or(Answer::Unknown, Answer::Rating))
        };
        self.asked(OMDB, hasher.finish(), &question, asking).await
    }

    /// One request. Errors contain nothing of its URL, because it holds the key, and nothing of a refusal
    /// that repeats the key.
    async fn fetch_rating(&self, key: &Secret, id: &str) -> Result<Option<Rated>, ProviderError> {
        let key = key.expose().trim();
        let params = [("i", id), ("apikey", key)];
        let url = Url::parse_with_params(ORIGIN, params)
            .map_err(|_| ProviderError::InvalidConfig("its address makes no sense".to_owned()))?;
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            idle: PATIENCE,
            max_body: MOST,
        };
        let grants = Grants::none().with_origins([ORIGIN]);
        let dialer = self.net.dialer();
        let mut reply = dialer
            .send(request, &grants, Progress::default())
            .await
            .map_err(unreachable)?;
        let status = reply.status();
        let body = reply.read_to_end().await.map_err(unreachable)?;
        read(status, &body, key)
    }
}

fn unreachable(error: DialError) -> ProviderError {
    match error {
        DialError::Timeout => ProviderError::Timeout("timed out (8 s)".to_owned()),
        DialError::TooLarge => ProviderError::TooLarge(format!("its answer is over {} KiB", MOST >> 10)),
        DialError::Denied(why) => ProviderError::Denied(why),
        other => ProviderError::Unreachable(format!("could not be reached: {other}")),
    }
}

/// Meaning of an answer; `None`: the title exists without a rating.
fn read(status: u16, body: &[u8], key: &str) -> Result<Option<Rated>, ProviderError> {
    let Ok(document) = serde_json::from_slice::<Document>(body) else {
        return Err(match status {
            200 => ProviderError::Unparsable("it answered something else than JSON".to_owned()),
            429 => used_up("HTTP 429"),
            401 => ProviderError::Auth("it refused the key (401)".to_owned()),
            _ => ProviderError::Status {
                status,
                message: format!("it answered HTTP {status}"),
            },
        });
    };
    if document.response.eq_ignore_ascii_case("true") {
        return Ok(rating(&document));
    }
    let why = if key.is_empty() {
        document.error
    } else {
        document.error.replace(key, "…")
    };
    let why: String = why.chars().take(200).collect();
    let said = why.to_ascii_lowercase();
    Err(if said.contains("limit") {
        used_up(&why)
    } else if said.contains("api key") || status == 401 {
        ProviderError::Auth(format!("it refused the key: {why}"))
    } else if said.contains("not found") || said.contains("imdb id") {
        ProviderError::NotFound(why)
    } else {
        ProviderError::Api {
            code: status.to_string(),
            description: why,
        }
    })
}

fn used_up(why: &str) -> ProviderError {
    ProviderError::Throttled {
        seconds: Some(USED_UP),
        message: format!("it wants to be left alone: {why}"),
    }
}

fn rating(document: &Document) -> Option<Rated> {
    let rating: f64 = document.rating.parse().ok()?;
    (0.0..=10.0).contains(&rating).then(|| Rated {
        rating,
        is_series: document.r#type == "series",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(status: u16, text: &str) -> String {
        match read(status, text.as_bytes(), "k3y") {
            Ok(Some(rated)) => format!("{} {}", rated.rating, rated.is_series),
            Ok(None) => "no rating".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn answers_mean_what_their_documents_say() {
        let table = [
            (
                200,
                r#"{"Title":"Tide","Type":"movie","imdbRating":"7.4","Response":"True"}"#,
                "7.4 false",
            ),
            (
                200,
                r#"{"Type":"series","imdbRating":"8.0","Response":"True"}"#,
                "8 true",
            ),
            (
                200,
                r#"{"Type":"movie","imdbRating":"N/A","Response":"True"}"#,
                "no rating",
            ),
            (
                200,
                r#"{"Type":"movie","imdbRating":"77","Response":"True"}"#,
                "no rating",
            ),
            (
                200,
                r#"{"Response":"False","Error":"Incorrect IMDb ID."}"#,
                "Incorrect IMDb ID.",
            ),
            (
                401,
                r#"{"Response":"False","Error":"Invalid API key!"}"#,
                "it refused the key: Invalid API key!",
            ),
            (
                401,
                r#"{"Response":"False","Error":"Request limit reached!"}"#,
                "it wants to be left alone: Request limit reached!",
            ),
            (
                200,
                r#"{"Response":"False","Error":"Something new."}"#,
                "200: Something new.",
            ),
            (
                401,
                r#"{"Response":"False","Error":"No such API key: k3y"}"#,
                "it refused the key: No such API key: …",
            ),
            (
                200,
                "<html>Sign in</html>",
                "it answered something else than JSON",
            ),
            (503, "<html>busy</html>", "it answered HTTP 503"),
            (429, "", "it wants to be left alone: HTTP 429"),
        ];
        for (status, text, wanted) in table {
            assert_eq!(meaning(status, text), wanted, "{text}");
        }
    }
}
