//! Requests to a configured server, all of a call within one time limit.

use media_core::{Access, Answer, Fault, MAX_BODY, Net, Product, Request};
use sdk_media::transport::NetError;
use sdk_media::{Config, HttpRequest, PluginError, ServerError, clock, header, read_until};

use crate::convert::fault;

/// The name the service goes by.
const USER_AGENT: &str = "Quartermaster";
/// Time limit on a call when the configuration names none, in milliseconds.
const TIMEOUT_MS: u64 = 8000;

/// A server that is asked.
pub struct Site {
    pub access: Access,
    name: &'static str,
    timeout_ms: u64,
    /// Deadline of the call, in milliseconds of the monotonic clock.
    deadline: u64,
}

impl Site {
    pub fn read(product: &dyn Product, config: &str) -> Result<Self, ServerError> {
        sdk_media::install_panic_hook();
        let invalid = |error: PluginError| match error {
            PluginError::InvalidConfig(why) => ServerError::InvalidConfig(why),
            other => ServerError::InvalidConfig(format!("{other:?}")),
        };
        let config = Config::parse(config).map_err(invalid)?;
        let text = |name: &str| config.text(name).map(str::to_owned);
        let section = match config.text("librarySectionId") {
            Some(text) => Some(text.to_owned()),
            // People write it as a number too.
            None => config
                .number("librarySectionId")
                .map_err(invalid)?
                .map(|number| number.to_string()),
        };
        let access = Access {
            token: text("token"),
            api_key: text("apiKey"),
            username: text("username"),
            password: config
                .secret("password")
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
            section,
            ..Access::with_address(config.text("baseUrl")).map_err(fault)?
        };
        product.check(&access).map_err(fault)?;
        let timeout = config.number("timeoutMs").map_err(invalid)?;
        let timeout_ms = timeout.unwrap_or(TIMEOUT_MS).clamp(1000, 60_000);
        Ok(Self {
            access,
            name: product.label(),
            timeout_ms,
            deadline: clock::monotonic_ms() + timeout_ms,
        })
    }

    /// Milliseconds that are left.
    fn left(&self) -> Result<u32, Fault> {
        match self.deadline.saturating_sub(clock::monotonic_ms()) {
            0 => Err(self.late()),
            left => Ok(u32::try_from(left).unwrap_or(u32::MAX)),
        }
    }

    fn late(&self) -> Fault {
        Fault::Timeout(format!(
            "{} did not answer within {} ms",
            self.name, self.timeout_ms
        ))
    }

    fn network(&self, error: NetError) -> Fault {
        let name = self.name;
        match error {
            NetError::Denied(what) => Fault::Denied(what),
            NetError::Timeout => self.late(),
            NetError::Refused => Fault::Unreachable(format!("nobody listens at the address of {name}")),
            NetError::Closed => {
                Fault::Unreachable(format!("{name} closed the connection before it had answered"))
            }
            NetError::TooLarge => {
                Fault::TooLarge(format!("{name} answered more than {} MiB", MAX_BODY >> 20))
            }
            NetError::Other(why) => Fault::Unreachable(why),
        }
    }
}

impl Net for Site {
    fn ask(&self, request: Request) -> Result<Answer, Fault> {
        let mut sent = HttpRequest::new(request.method, &request.url, self.left()?)
            .header("User-Agent", USER_AGENT)
            .header("Accept", "application/json")
            .max_body(MAX_BODY);
        for (name, value) in &request.headers {
            sent = sent.header(name, value);
        }
        if let Some(body) = request.body {
            sent = sent.body("application/json", body.to_string().into_bytes());
        }
        let response = sent.send_raw().map_err(|(_, error)| self.network(error))?;
        Ok(Answer {
            status: response.status(),
            location: header(&response.headers(), "location").map(str::to_owned),
            body: read_until(&response, self.deadline).map_err(|error| self.network(error))?,
        })
    }
}
