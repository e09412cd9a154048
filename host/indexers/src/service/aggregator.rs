//! Client of the aggregator: one GET at a time to the configured URL, with the key in a header, and nowhere
//! else.
//!
//! Bounds: [`PATIENCE`] for the status and [`LIST_PATIENCE`] for the list; [`MAX_ABOUT`] and [`MAX_LIST`]
//! bytes of them. Redirects are errors, because the key would be sent along.

use std::time::Duration;

use bytes::Bytes;
use qm_kernel::Secret;
use qm_net::{CERTIFICATE, DialError, Dialer, Grants, HttpRequest, HttpResponse, Progress, Trust};

use crate::model::listing::{About, Entry, about, count, entries};
use crate::model::reports::AggregatorError;

pub const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit of the list: an aggregator takes a while for tens of definitions with all their fields.
pub const LIST_PATIENCE: Duration = Duration::from_secs(30);
const MAX_ABOUT: usize = 512 << 10;
/// Largest list in bytes; an indexer takes about 20 KiB, with its fields and categories.
const MAX_LIST: usize = 16 << 20;

const ABOUT: &str = "/api/v1/system/status";
const LIST: &str = "/api/v1/indexer";
/// Path of Jackett's Torznab document; no other known program has it. Without a key the request is refused.
const JACKETT: &str = "/api/v2.0/indexers/all/results/torznab/api?t=caps";
/// Prefix of Jackett's API paths: users copy the address of one of its feeds.
const JACKETT_API: &str = "/api/v2.0/";
/// Login page to which Jackett redirects.
const JACKETT_LOGIN: &str = "/UI/Login";

/// The aggregator at one URL, with one key.
pub struct Aggregator<'a> {
    pub dialer: &'a Dialer,
    /// Without a `/` at the end.
    pub base: &'a str,
    pub key: &'a Secret,
    /// Pinned certificate; `None`: the trust store of this machine.
    pub certificate: Option<&'a str>,
    /// Time limits of the status request and of the list request.
    pub patience: (Duration, Duration),
}

impl Aggregator<'_> {
    /// Version and name of the aggregator, and the number of its indexers if the list can be read.
    pub async fn probe(&self) -> Result<(About, Option<u64>), AggregatorError> {
        let about = self.within(self.patience.0, self.about()).await?;
        let list = self.within(self.patience.0, self.get(LIST, MAX_LIST)).await;
        Ok((about, list.ok().as_deref().and_then(count)))
    }

    /// Its indexers; each entry is parsed on its own.
    pub async fn list(&self) -> Result<(About, Vec<Entry>), AggregatorError> {
        let whole = async {
            let about = self.about().await?;
            // Sister programs have the same API for other things.
            if let Some(name) = about
                .name
                .as_ref()
                .filter(|name| !name.eq_ignore_ascii_case("prowlarr"))
            {
                return Err(self.unreadable(format!("it is {name}, which lists no indexers of its own")));
            }
            let body = self.get(LIST, MAX_LIST).await?;
            let entries = entries(&body, self.base).map_err(|why| self.unreadable(why))?;
            Ok((about, entries))
        };
        self.within(self.patience.1, whole).await
    }

    async fn about(&self) -> Result<About, AggregatorError> {
        let got = self.get(ABOUT, MAX_ABOUT).await;
        let told = got.and_then(|body| {
            about(&body).ok_or_else(|| self.unreadable("its status is no JSON object".to_owned()))
        });
        match told {
            Err(error) if error.is_of_something_else() && self.is_jackett().await => {
                Err(AggregatorError::Jackett(self.place()))
            }
            told => told,
        }
    }

    /// True when Jackett answers there. It is asked without the key.
    async fn is_jackett(&self) -> bool {
        let root = self.base.split(JACKETT_API).next().unwrap_or(self.base);
        let Ok(mut answer) = self.send(format!("{root}{JACKETT}"), None, MAX_ABOUT).await else {
            return false;
        };
        let location = answer.headers().get("location");
        if location.is_some_and(|to| to.to_str().is_ok_and(|to| to.contains(JACKETT_LOGIN))) {
            return true;
        }
        let body = answer.read_to_end().await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let text = text.trim_start_matches(['\u{feff}', ' ', '\r', '\n']);
        text.starts_with('<') && (text.contains("<error ") || text.contains("<caps"))
    }

    async fn within<T>(
        &self,
        patience: Duration,
        work: impl Future<Output = Result<T, AggregatorError>>,
    ) -> Result<T, AggregatorError> {
        let timed = tokio::time::timeout(patience, work).await;
        timed.unwrap_or_else(|_| Err(AggregatorError::Timeout(self.place())))
    }

    /// Error prefix with the base URL as the operator entered it; it holds no secret.
    fn place(&self) -> String {
        format!("The indexer proxy at {}", self.base)
    }

    fn unreadable(&self, why: String) -> AggregatorError {
        AggregatorError::Unreadable {
            place: self.place(),
            why,
        }
    }

    async fn get(&self, path: &str, most: usize) -> Result<Vec<u8>, AggregatorError> {
        let url = format!("{}{path}", self.base);
        let mut answer = self.send(url, Some(self.key), most).await?;
        let place = self.place();
        match answer.status() {
            200..=299 => answer
                .read_to_end()
                .await
                .map_err(|error| self.to_error(error, most)),
            401 | 403 => Err(AggregatorError::Rejected(place)),
            status @ 300..=399 => Err(AggregatorError::Redirected { place, status }),
            status => Err(AggregatorError::Status { place, status }),
        }
    }

    fn grants(&self) -> Result<Grants, String> {
        let grants = Grants::of_url("internalUrl", self.base)?;
        match self.certificate {
            Some(text) => grants.trusting(&Trust::parse(CERTIFICATE, text)?),
            None => Ok(grants),
        }
    }

    /// Sends a request. `url` has the origin of the base URL, with any path: the dialer refuses everything
    /// else.
    async fn send(
        &self,
        url: String,
        key: Option<&Secret>,
        most: usize,
    ) -> Result<HttpResponse, AggregatorError> {
        let grants = self.grants().map_err(|why| AggregatorError::Unreachable {
            place: self.base.to_owned(),
            why,
        })?;
        let key = key.map(|key| ("X-Api-Key".to_owned(), key.expose().as_bytes().to_vec()));
        let accept = ("Accept".to_owned(), b"application/json".to_vec());
        let request = HttpRequest {
            method: "GET".to_owned(),
            url,
            headers: key.into_iter().chain([accept]).collect(),
            body: Bytes::new(),
            idle: self.patience.1,
            max_body: most,
        };
        let sent = self.dialer.send(request, &grants, Progress::default()).await;
        sent.map_err(|error| self.to_error(error, most))
    }

    fn to_error(&self, error: DialError, most: usize) -> AggregatorError {
        match error {
            DialError::Denied(_) => AggregatorError::Denied(self.base.to_owned()),
            DialError::Timeout => AggregatorError::Timeout(self.place()),
            DialError::TooLarge => AggregatorError::TooLarge {
                place: self.place(),
                most: most >> 10,
            },
            other => AggregatorError::Unreachable {
                place: self.base.to_owned(),
                why: other.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use qm_net::{Net, NetConfig};
    use qm_test_base::aggregator::FakeAggregator;
    use qm_test_base::indexer::KEY;

    use qm_kernel::ErrorKind;

    use super::*;

    #[tokio::test]
    async fn who_says_nothing_is_given_up() {
        let there = FakeAggregator::start().await;
        let net = Net::new(NetConfig::default()).unwrap();
        let (base, key) = (there.base("hang"), Secret::new(KEY));
        let aggregator = Aggregator {
            dialer: net.dialer(),
            base: &base,
            key: &key,
            certificate: None,
            patience: (Duration::from_millis(200), Duration::from_millis(300)),
        };
        let wanted = AggregatorError::Timeout(format!("The indexer proxy at {base}"));
        assert_eq!(aggregator.probe().await.unwrap_err(), wanted);
        assert_eq!(aggregator.list().await.unwrap_err(), wanted);
        assert_eq!(wanted.kind(), ErrorKind::UpstreamTimeout);
    }
}
