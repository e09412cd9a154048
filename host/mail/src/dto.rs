//! Request and answer bodies about the mail server.

use qm_kernel::Secret;
use qm_kernel::secret::keeps;
use qm_net::{CERTIFICATE, CERTIFICATE_RULE, MAX_CERTIFICATE, is_certificate, is_host, is_mail_address};
use qm_web::{Fields, FromBody};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{Change, Server};

const MAX_HOST: usize = 253;
const MAX_USER: usize = 320;
const MAX_NAME: usize = 100;
const MAX_ADDRESS: usize = 254;
const MAX_PASSWORD: usize = 1024;

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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct MailServerPatch {
    /// Blank: no mail is sent.
    #[schema(max_length = 253)]
    pub host: Option<String>,
    #[schema(minimum = 1, maximum = 65535)]
    pub port: Option<u16>,
    pub secure: Option<bool>,
    pub auth: Option<bool>,
    #[schema(max_length = 320)]
    pub user: Option<String>,
    /// Blank, or bullets alone: the one that is stored stays, as long as host, port and `secure` do.
    #[schema(value_type = Option<String>, max_length = 1024)]
    pub password: Option<Secret>,
    /// Blank: the name of the service.
    #[schema(max_length = 100)]
    pub from_name: Option<String>,
    #[schema(max_length = 254)]
    pub from_address: Option<String>,
    /// SHA-256 of the server's certificate, as a trial shows it, or its authority in PEM; no other one is trusted then. Blank: what
    /// this machine trusts.
    #[schema(max_length = 32768)]
    pub tls_certificate: Option<String>,
}

fn is_line(text: &str) -> bool {
    !text.contains(char::is_control)
}

impl FromBody for MailServerPatch {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let host = f
            .string("host")
            .max(MAX_HOST)
            .check(
                |text| text.trim().is_empty() || is_host(text.trim()),
                "must be one host name or address, without a scheme and a port",
            )
            .optional();
        let port = f.integer("port").min(1).max(65_535).optional();
        let (secure, auth) = (f.boolean("secure").optional(), f.boolean("auth").optional());
        let user = f
            .string("user")
            .max(MAX_USER)
            .check(is_line, "must be one line")
            .optional();
        let password = f
            .string("password")
            .max(MAX_PASSWORD)
            .check(is_line, "must be one line")
            .optional();
        let from_name = f
            .string("fromName")
            .max(MAX_NAME)
            .check(is_line, "must be one line")
            .optional();
        let from_address = f
            .string("fromAddress")
            .max(MAX_ADDRESS)
            .check(
                |text| text.trim().is_empty() || is_mail_address(text.trim()),
                ADDRESS_RULE,
            )
            .optional();
        let tls_certificate = f
            .string(CERTIFICATE)
            .max(MAX_CERTIFICATE)
            .check(is_certificate, CERTIFICATE_RULE)
            .optional();
        Self {
            host,
            port: port.and_then(|port| u16::try_from(port).ok()),
            secure,
            auth,
            user,
            password: password.map(Secret::new),
            from_name,
            from_address,
            tls_certificate,
        }
    }
}

impl MailServerPatch {
    /// The change, with the encrypted password.
    pub fn change(self, seal: impl FnOnce(&str) -> String) -> Change {
        let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned());
        let password = self.password.filter(|password| !keeps(password.expose()));
        Change {
            host: trimmed(self.host),
            port: self.port,
            secure: self.secure,
            auth: self.auth,
            user: trimmed(self.user),
            from_name: trimmed(self.from_name),
            from_address: trimmed(self.from_address),
            certificate: trimmed(self.tls_certificate),
            password: password.map(|password| seal(password.expose())),
        }
    }
}

/// Recipient of a test mail.
#[derive(ToSchema)]
pub struct MailTrial {
    #[schema(max_length = 254, example = "jo@example.org")]
    pub recipient: String,
}

impl FromBody for MailTrial {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let recipient = f
            .string("recipient")
            .required()
            .max(MAX_ADDRESS)
            .check(|text| is_mail_address(text.trim()), ADDRESS_RULE)
            .get();
        Self {
            recipient: recipient.trim().to_owned(),
        }
    }
}

/// The mail server took it.
#[derive(Serialize, ToSchema)]
pub struct MailTaken {
    /// Always true.
    pub ok: bool,
}
