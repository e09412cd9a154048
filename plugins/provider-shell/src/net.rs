//! One request to a product.

use sdk_provider::transport::NetError;
use sdk_provider::{Config, HttpRequest, PluginError, ProviderError, clock, header, read_until};

use provider_model::{Answer, MAX_BODY};

/// The name the service goes by.
const USER_AGENT: &str = "Quartermaster";
/// Time limit on a request when the configuration names none, in milliseconds.
const TIMEOUT_MS: u64 = 8000;

/// A product that is asked, and how long it is waited for.
pub struct Site {
    name: &'static str,
    timeout_ms: u64,
}

/// Answer of the provider.
pub struct Told {
    status: u16,
    retry_after: Option<String>,
    location: Option<String>,
    body: Vec<u8>,
}

impl Told {
    pub fn status(&self) -> u16 {
        self.status
    }

    pub fn answer(&self) -> Answer<'_> {
        Answer {
            status: self.status,
            retry_after: self.retry_after.as_deref(),
            location: self.location.as_deref(),
            body: &self.body,
            now: clock::now_ms(),
        }
    }
}

/// The configuration, and the product with its time limit.
pub fn read(name: &'static str, config: &str) -> Result<(Config, Site), ProviderError> {
    let invalid = |error: PluginError| match error {
        PluginError::InvalidConfig(why) => ProviderError::InvalidConfig(why),
        other => ProviderError::InvalidConfig(format!("{other:?}")),
    };
    let config = Config::parse(config).map_err(invalid)?;
    let timeout = config.number("timeoutMs").map_err(invalid)?;
    let timeout_ms = timeout.unwrap_or(TIMEOUT_MS).clamp(1000, 60_000);
    Ok((config, Site { name, timeout_ms }))
}

impl Site {
    /// Sends a request with these headers, and waits for the whole answer.
    pub fn ask(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Told, ProviderError> {
        let deadline = clock::monotonic_ms() + self.timeout_ms;
        let idle = u32::try_from(self.timeout_ms).unwrap_or(u32::MAX);
        let mut sent = HttpRequest::new(method, url, idle)
            .header("User-Agent", USER_AGENT)
            .header("Accept", "application/json")
            .max_body(MAX_BODY);
        for (name, value) in headers {
            sent = sent.header(name, value);
        }
        if let Some(body) = body {
            sent = sent.body("application/json", body);
        }
        let response = sent.send_raw().map_err(|(_, error)| self.network(error))?;
        let headers = response.headers();
        let of = |name| header(&headers, name).map(str::to_owned);
        Ok(Told {
            status: response.status(),
            retry_after: of("retry-after"),
            location: of("location"),
            body: read_until(&response, deadline).map_err(|error| self.network(error))?,
        })
    }

    fn late(&self) -> ProviderError {
        ProviderError::Timeout(format!(
            "{} did not answer within {} ms",
            self.name, self.timeout_ms
        ))
    }

    fn network(&self, error: NetError) -> ProviderError {
        let name = self.name;
        match error {
            NetError::Denied(what) => ProviderError::Denied(what),
            NetError::Timeout => self.late(),
            NetError::Refused => {
                ProviderError::Unreachable(format!("nobody listens at the address of {name}"))
            }
            NetError::Closed => {
                ProviderError::Unreachable(format!("{name} closed the connection before it had answered"))
            }
            NetError::TooLarge => {
                ProviderError::TooLarge(format!("{name} answered more than {} MiB", MAX_BODY >> 20))
            }
            NetError::Other(why) => ProviderError::Unreachable(why),
        }
    }
}
