//! One call to the client: the address, the cookie, one retry with a fresh login, and nothing beyond that.

use crate::config::Config;
use crate::encode::form;
use crate::error::{Error, checked, excerpt, redirected};
use crate::http::{Answer, Clock, Http, Request};
use crate::login::{Login, Refusal, session_cookie};

/// Limit of a text or a small JSON answer, in bytes.
pub(crate) const SMALL: u64 = 1 << 20;
/// Limit of a list, in bytes; the host allows no more.
pub(crate) const LARGE: u64 = 64 << 20;

/// Time limit of a logout, in milliseconds: closing an engine does not wait for a client that hangs.
const LOGOUT_MS: u32 = 1000;

const FORM: &str = "application/x-www-form-urlencoded";

pub(crate) enum Body<'a> {
    None,
    Form(&'a [(&'a str, &'a str)]),
    /// Made anew for the retry instead of being kept twice: it may hold 20 MiB.
    Made {
        content_type: &'a str,
        make: &'a dyn Fn() -> Vec<u8>,
    },
}

pub(crate) struct Call<'a> {
    /// Under `/api/v2`.
    pub path: &'a str,
    pub query: &'a [(&'a str, &'a str)],
    pub body: Body<'a>,
    pub max_body: u64,
    /// The client also says 403 when it may not write where it is told to; then it is no matter of the login.
    pub forbids: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn get(path: &'a str, query: &'a [(&'a str, &'a str)], max_body: u64) -> Self {
        Call {
            path,
            query,
            body: Body::None,
            max_body,
            forbids: false,
        }
    }

    pub(crate) fn post(path: &'a str, fields: &'a [(&'a str, &'a str)]) -> Self {
        Call {
            path,
            query: &[],
            body: Body::Form(fields),
            max_body: SMALL,
            forbids: false,
        }
    }
}

pub(crate) struct Link<H, C> {
    http: H,
    pub(crate) clock: C,
    config: Config,
    login: Login,
}

impl<H: Http, C: Clock> Link<H, C> {
    pub(crate) fn new(config: Config, http: H, clock: C) -> Self {
        Link {
            http,
            clock,
            config,
            login: Login::default(),
        }
    }

    /// The answer, with a status of 2xx.
    pub(crate) fn call(&mut self, call: &Call) -> Result<H::Answer, Error> {
        checked(self.exchange(call)?)
    }

    /// The answer's whole body as text.
    pub(crate) fn text(&mut self, path: &str) -> Result<String, Error> {
        let bytes = self
            .call(&Call::get(path, &[], SMALL))
            .map_err(no_such_call)?
            .read_to_end()?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The answer, whatever its status. A 403 means that the session is gone: one new login, one more try.
    pub(crate) fn exchange(&mut self, call: &Call) -> Result<H::Answer, Error> {
        self.log_in()?;
        let answer = self.send(call)?;
        if answer.status() != 403 {
            self.login.proven();
            return Ok(answer);
        }
        self.login.forget();
        self.log_in()?;
        let answer = self.send(call)?;
        if answer.status() == 403 && !call.forbids {
            return Err(self.login.refused(Refusal::NoSession, self.clock.monotonic_ms()));
        }
        self.login.proven();
        Ok(answer)
    }

    /// Ends the client's session, as well as can be. For the end of a conversation only.
    pub(crate) fn log_out(&mut self) {
        if self.login.cookie().is_some() {
            self.config.timeout_ms = self.config.timeout_ms.min(LOGOUT_MS);
            let _ = self.send(&Call::post("/auth/logout", &[])); // its sessions expire by themselves as well
            self.login.forget();
        }
    }

    fn log_in(&mut self) -> Result<(), Error> {
        if self.login.cookie().is_some() {
            return Ok(());
        }
        self.login.may_try(self.clock.monotonic_ms())?;
        let credentials = [
            ("username", self.config.username.as_str()),
            ("password", self.config.password.as_str()),
        ];
        let mut answer = self.send(&Call::post("/auth/login", &credentials))?;
        let refusal = match answer.status() {
            200 | 204 => {
                let said = answer.read_to_end()?;
                match (said.trim_ascii(), session_cookie(&answer)) {
                    (b"Fails.", _) => Refusal::Credentials,
                    (b"" | b"Ok.", Some(cookie)) => {
                        self.login.accepted(cookie);
                        return Ok(());
                    }
                    _ => Refusal::NoSession,
                }
            }
            401 => Refusal::Credentials,
            403 => Refusal::Banned,
            300..=399 => return Err(Error::Protocol(redirected(&answer))),
            404 => return Err(Error::Protocol("there is no Web API at baseUrl (404)".into())),
            status @ (429 | 502..=504) => {
                return Err(Error::Unreachable(format!(
                    "the login was answered {status}: {}",
                    excerpt(&mut answer)
                )));
            }
            status => {
                return Err(Error::Protocol(format!(
                    "the login was answered {status}: {}",
                    excerpt(&mut answer)
                )));
            }
        };
        Err(self.login.refused(refusal, self.clock.monotonic_ms()))
    }

    fn send(&self, call: &Call) -> Result<H::Answer, Error> {
        let mut url = format!("{}/api/v2{}", self.config.base_url, call.path);
        if !call.query.is_empty() {
            url.push('?');
            url.push_str(&form(call.query));
        }
        // The client's protection against forged requests compares the Referer with the Host.
        let mut headers = vec![("Referer", self.config.base_url.clone())];
        if let Some(cookie) = self.login.cookie() {
            headers.push(("Cookie", cookie.to_owned()));
        }
        let (method, body) = match &call.body {
            Body::None => ("GET", Vec::new()),
            Body::Form(fields) => {
                headers.push(("Content-Type", FORM.into()));
                ("POST", form(fields).into_bytes())
            }
            Body::Made { content_type, make } => {
                headers.push(("Content-Type", (*content_type).to_owned()));
                ("POST", make())
            }
        };
        let idle_ms = self.config.timeout_ms;
        Ok(self.http.send(Request {
            method,
            url,
            headers,
            body,
            idle_ms,
            max_body: call.max_body,
        })?)
    }
}

/// A 404 to a call that names no torrent: this is not the API we know.
pub(crate) fn no_such_call(error: Error) -> Error {
    match error {
        Error::NotFound(_) => Error::Protocol("the client does not know this call (404)".into()),
        other => other,
    }
}
