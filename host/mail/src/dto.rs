//! Request and answer bodies about the mail server.

use qm_kernel::Secret;
use qm_kernel::secret::keeps;
use qm_net::{CERTIFICATE_RULE, MAX_CERTIFICATE, is_certificate, is_host, is_mail_address};
use qm_web::{FromBody, is_printable};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{Change, Server};

const MAX_HOST: usize = 253;
const MAX_USER: usize = 320;
const MAX_NAME: usize = 100;
const MAX_ADDRESS: usize = 254;
const MAX_PASSWORD: usize = 1024;

const HOST_RULE: &str = "must be one host name or address, without a scheme and a port";
const ADDRESS_RULE: &str = "must be an email address, e.g. jo@example.org";

/// The mail server. Its password is never shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MailServerView {
    /// Blank: there is none.
    #[schema(example = "mail.example.org")]
    pub host: String,
    #[schema(example = 587)]
    pub port: u16,
    /// TLS from the first byte; otherwise STARTTLS where the server offers it.
    pub secure: bool,
    /// The service signs in.
    pub auth: bool,
    pub user: String,
    pub from_name: String,
    /// Blank: there is none, and no mail is sent.
    pub from_address: String,
    pub has_password: bool,
    /// Certificate by which the server is trusted: its SHA-256, or that of its authority in PEM. Blank: what this machine trusts.
    pub tls_certificate: String,
    /// Secrets to enter again, because the address changed; until then nobody is signed in. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
}

impl MailServerView {
    pub fn new(server: Server, product: String) -> Self {
        let from_name = if server.from_name.is_empty() {
            product
        } else {
            server.from_name
        };
        Self {
            host: server.host,
            port: server.port,
            secure: server.secure,
            auth: server.auth,
            user: server.user,
            from_name,
            from_address: server.from_address,
            has_password: server.sealed.is_some(),
            tls_certificate: server.certificate,
            secrets_wanted: server.wanted,
        }
    }
}

/// Changes of the mail server; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct MailServerPatch {
    /// Blank: no mail is sent.
    #[field(trim, max = MAX_HOST, check(is_host_or_blank, HOST_RULE))]
    pub host: Option<String>,
    #[field(min = 1)]
    pub port: Option<u16>,
    pub secure: Option<bool>,
    pub auth: Option<bool>,
    #[field(trim, max = MAX_USER, check(is_printable, "must be one line"))]
    pub user: Option<String>,
    /// Blank, or bullets alone: the one that is stored stays, as long as host, port and `secure` do.
    #[field(max = MAX_PASSWORD, check(is_printable, "must be one line"))]
    #[schema(value_type = Option<String>)]
    pub password: Option<Secret>,
    /// Blank: the name of the service.
    #[field(trim, max = MAX_NAME, check(is_printable, "must be one line"))]
    pub from_name: Option<String>,
    #[field(trim, max = MAX_ADDRESS, check(is_address_or_blank, ADDRESS_RULE))]
    pub from_address: Option<String>,
    /// SHA-256 of the server's certificate, as a trial shows it, or its authority in PEM; no other one is trusted then. Blank: what
    /// this machine trusts.
    #[field(trim, max = MAX_CERTIFICATE, check(is_certificate, CERTIFICATE_RULE))]
    pub tls_certificate: Option<String>,
}

fn is_host_or_blank(text: &str) -> bool {
    text.trim().is_empty() || is_host(text.trim())
}

fn is_address(text: &str) -> bool {
    is_mail_address(text.trim())
}

fn is_address_or_blank(text: &str) -> bool {
    text.trim().is_empty() || is_address(text)
}

impl MailServerPatch {
    /// The change, with the encrypted password.
    pub fn change(self, seal: impl FnOnce(&str) -> String) -> Change {
        let password = self.password.filter(|password| !keeps(password.expose()));
        Change {
            host: self.host,
            port: self.port,
            secure: self.secure,
            auth: self.auth,
            user: self.user,
            from_name: self.from_name,
            from_address: self.from_address,
            certificate: self.tls_certificate,
            password: password.map(|password| seal(password.expose())),
        }
    }
}

/// Recipient of a test mail.
#[derive(ToSchema, FromBody)]
pub struct MailTrial {
    #[field(trim, max = MAX_ADDRESS, check(is_address, ADDRESS_RULE))]
    #[schema(example = "jo@example.org")]
    pub recipient: String,
}

/// The mail server took it.
#[derive(Serialize, ToSchema)]
pub struct MailTaken {
    /// Always true.
    pub ok: bool,
}
