//! Mail by a server configured by an operator: one connection per mail.
//!
//! The name is resolved once, every address checked, and one of them dialled. Encrypted from the start, or by
//! STARTTLS where the server offers it; an untrusted certificate is an error either way, and a password is
//! never sent unencrypted to an external address. Bounds: 5 s to connect, 30 s in total, and the library's
//! limits on answers.

use std::error::Error as _;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::address::Envelope;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{self, extension::Extension};
use lettre::{Address, transport::smtp::authentication::Mechanism};
use qm_kernel::{Secret, secret::MASK};

use crate::address::is_internal;
use crate::dial::{CONNECT, DialError, Dialer, bare, may_act};
use crate::trust::{Trust, Untrusted, certificate_fault};

/// Time limit for sending one mail.
const TOTAL: Duration = Duration::from_secs(30);
/// Largest number of bytes of a server's text that is passed on.
const WORDS: usize = 300;

/// A mail server, as an operator configured it.
#[derive(Clone, Debug)]
pub struct MailServer {
    /// Name or literal address.
    pub host: String,
    pub port: u16,
    /// TLS from the first byte; otherwise STARTTLS where the server offers it.
    pub implicit_tls: bool,
    /// User name and password.
    pub login: Option<(String, Secret)>,
    /// Pinned certificates; `None`: the machine's authorities.
    pub trust: Option<Trust>,
}

/// Certificates that a handshake accepts.
#[derive(Clone, Copy)]
enum Taking<'a> {
    /// Those that this machine trusts.
    Machine,
    /// Those issued by one of these authorities.
    Authorities(&'a Trust),
    /// Any certificate: it is checked before more than a greeting is sent.
    Any,
}

/// A connection with the best available encryption.
struct Greeted {
    connection: AsyncSmtpConnection,
    at: IpAddr,
}

/// A mail with its sender.
#[derive(Clone, Debug)]
pub struct Mail {
    /// May be blank.
    pub from_name: String,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: Option<String>,
    /// Unique part of the Message-ID, without the sender's domain.
    pub id: String,
    pub date: SystemTime,
}

/// Reason why a mail was not accepted. No text holds the password or the user name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailFault {
    /// An address, or another part of the mail, is invalid.
    Invalid(String),
    /// No connection, or no sufficiently safe one.
    Unreachable(String),
    /// The mail may have been accepted all the same.
    Timeout,
    /// Temporary refusal, in the server's words.
    Later(String),
    /// Permanent refusal, in the server's words.
    Refused(String),
    /// The login failed.
    Auth(String),
}

impl From<DialError> for MailFault {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Timeout => MailFault::Unreachable("it does not answer".to_owned()),
            other => MailFault::Unreachable(other.to_string()),
        }
    }
}

impl Dialer {
    /// Sends `mail` by `server`. Success means that the server accepted it.
    pub async fn mail(&self, server: &MailServer, mail: &Mail) -> Result<(), MailFault> {
        let (envelope, bytes) = written(mail)?;
        let sending = self.hand_in(server, &envelope, &bytes);
        tokio::time::timeout(TOTAL, sending)
            .await
            .map_err(|_| MailFault::Timeout)?
    }

    async fn hand_in(&self, server: &MailServer, envelope: &Envelope, bytes: &[u8]) -> Result<(), MailFault> {
        may_act(&self.mandate)?;
        let words = Words { server };
        let Greeted {
            mut connection,
            at: ip,
        } = self.trusted(server).await?;
        if let Some((user, password)) = &server.login {
            let encrypted = server.implicit_tls || connection.is_encrypted();
            if !encrypted && !is_internal(ip) {
                connection.abort().await;
                let why = "it offers no encryption, and a password is not sent unencrypted";
                return Err(MailFault::Unreachable(why.to_owned()));
            }
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            let signed_in = connection.auth(mechanisms(), &credentials).await;
            if let Err(error) = signed_in {
                connection.abort().await;
                return Err(words.of_auth(&error));
            }
        }
        may_act(&self.mandate)?;
        let sent = connection.send(envelope, bytes).await;
        sent.map_err(|error| words.fault(&error))?;
        // The mail is accepted: the end of the connection does not matter.
        let _ = tokio::time::timeout(Duration::from_secs(1), connection.quit()).await;
        Ok(())
    }

    /// A connection with a trusted certificate, if it is encrypted.
    async fn trusted(&self, server: &MailServer) -> Result<Greeted, MailFault> {
        let words = Words { server };
        let Some(trust) = &server.trust else {
            return match self.encrypted(server, Taking::Machine).await? {
                Ok(greeted) => Ok(greeted),
                Err(error) => Err(self.explained(server, &error).await),
            };
        };
        let greeted = self.encrypted(server, Taking::Any).await?;
        let mut greeted = greeted.map_err(|error| words.fault(&error))?;
        if !greeted.connection.is_encrypted() {
            return Ok(greeted);
        }
        let certificate = greeted.connection.peer_certificate();
        let certificate = certificate.map_err(|error| words.fault(&error))?;
        if trust.names(&certificate) {
            return Ok(greeted);
        }
        greeted.connection.abort().await;
        if trust.certificates().is_empty() {
            return Err(MailFault::Unreachable(
                Untrusted::not_named(&certificate).to_string(),
            ));
        }
        match self.encrypted(server, Taking::Authorities(trust)).await? {
            Ok(greeted) => Ok(greeted),
            Err(error) => Err(self.explained(server, &error).await),
        }
    }

    /// Fault of a handshake; if the certificate is the reason, with its SHA-256, for which the server is
    /// contacted again.
    async fn explained(&self, server: &MailServer, error: &smtp::Error) -> MailFault {
        let fault = Words { server }.fault(error);
        let Some(reason) = certificate_fault(error) else {
            return fault;
        };
        let Ok(Ok(mut seen)) = self.encrypted(server, Taking::Any).await else {
            return fault;
        };
        let certificate = seen.connection.peer_certificate();
        seen.connection.abort().await;
        match certificate {
            Ok(certificate) => {
                MailFault::Unreachable(Untrusted::from_certificate(&certificate, reason).with_way_out())
            }
            Err(_) => fault,
        }
    }

    /// A connection, encrypted if the server can; the inner error is that of the handshake or the greeting.
    async fn encrypted(
        &self,
        server: &MailServer,
        taking: Taking<'_>,
    ) -> Result<Result<Greeted, smtp::Error>, MailFault> {
        let mut greeted = match self.greeted(server, taking).await? {
            Ok(greeted) => greeted,
            Err(error) => return Ok(Err(error)),
        };
        let connection = &mut greeted.connection;
        if !server.implicit_tls && connection.server_info().supports_feature(Extension::StartTls) {
            let tls = self.mail_tls(&server.host, taking)?;
            if let Err(error) = connection.starttls(tls, &ClientId::default()).await {
                return Ok(Err(error));
            }
        }
        Ok(Ok(greeted))
    }

    /// A connection to the first address that accepts one.
    async fn greeted(
        &self,
        server: &MailServer,
        taking: Taking<'_>,
    ) -> Result<Result<Greeted, smtp::Error>, MailFault> {
        let host = bare(&server.host);
        let addresses = tokio::time::timeout(CONNECT, self.operators_addresses(host)).await;
        let addresses = addresses.map_err(|_| DialError::Timeout)??;
        let tls = if server.implicit_tls {
            Some(self.mail_tls(&server.host, taking)?)
        } else {
            None
        };
        let mut last = None;
        for ip in addresses {
            let at = SocketAddr::new(ip, server.port);
            let hello = ClientId::default();
            // An address: no second resolution happens.
            let connected =
                AsyncSmtpConnection::connect_tokio1(at, Some(CONNECT), &hello, tls.clone(), None).await;
            match connected {
                Ok(connection) => return Ok(Ok(Greeted { connection, at: ip })),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Ok(Err(error)),
            None => Err(MailFault::Unreachable(format!("cannot resolve {host}"))),
        }
    }

    fn mail_tls(&self, host: &str, taking: Taking<'_>) -> Result<TlsParameters, MailFault> {
        let failed = |error: smtp::Error| MailFault::Unreachable(format!("TLS cannot be set up: {error}"));
        let mut builder = TlsParameters::builder(bare(host).to_owned());
        match taking {
            Taking::Machine => {
                for pem in self.mail_roots.iter() {
                    builder = builder.add_root_certificate(Certificate::from_pem(pem).map_err(failed)?);
                }
            }
            Taking::Authorities(trust) => {
                builder = builder.certificate_store(CertificateStore::None);
                for one in trust.certificates() {
                    let root = Certificate::from_der(one.to_vec()).map_err(failed)?;
                    builder = builder.add_root_certificate(root);
                }
            }
            // Not unchecked: `trusted` compares it, or it is only displayed.
            Taking::Any => {
                builder = builder
                    .dangerous_accept_invalid_certs(true)
                    .dangerous_accept_invalid_hostnames(true);
            }
        }
        builder.build().map_err(failed)
    }
}

fn mechanisms() -> &'static [Mechanism] {
    DEFAULT_MECHANISMS
}

/// Envelope and bytes of a mail. The library encodes every header; text that could break one is refused.
fn written(mail: &Mail) -> Result<(Envelope, Vec<u8>), MailFault> {
    for (part, text) in [
        ("subject", &mail.subject),
        ("sender's name", &mail.from_name),
        ("sender", &mail.from),
        ("address", &mail.to),
        ("id", &mail.id),
    ] {
        if text.contains(char::is_control) {
            return Err(MailFault::Invalid(format!("the {part} must be one line")));
        }
    }
    let from = address("sender's address", &mail.from)?;
    let to = address("address", &mail.to)?;
    let name = Some(mail.from_name.trim()).filter(|name| !name.is_empty());
    let invalid =
        |error: lettre::error::Error| MailFault::Invalid(format!("the letter makes no sense: {error}"));
    let builder = Message::builder()
        .message_id(Some(format!("<{}@{}>", mail.id, from.domain())))
        .date(mail.date)
        .from(Mailbox::new(name.map(str::to_owned), from))
        .to(Mailbox::new(None, to))
        .subject(&*mail.subject)
        // Asks for no automatic answers (RFC 3834).
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    let text = mail.text.replace("\r\n", "\n");
    let message = match &mail.html {
        Some(html) => builder.multipart(MultiPart::alternative_plain_html(text, html.clone())),
        None => builder.singlepart(lettre::message::SinglePart::plain(text)),
    };
    let message = message.map_err(invalid)?;
    Ok((message.envelope().clone(), message.formatted()))
}

fn address(name: &str, text: &str) -> Result<Address, MailFault> {
    text.parse()
        .map_err(|_| MailFault::Invalid(format!("the {name} is no email address")))
}

/// True for a valid mail address of sender or recipient.
pub fn is_mail_address(text: &str) -> bool {
    !text.contains(char::is_control) && text.parse::<Address>().is_ok()
}

/// Text of a server, with credentials masked.
struct Words<'a> {
    server: &'a MailServer,
}

impl Words<'_> {
    fn fault(&self, error: &smtp::Error) -> MailFault {
        if error.is_transient() {
            MailFault::Later(self.describe(error))
        } else if error.is_permanent() {
            MailFault::Refused(self.describe(error))
        } else if error.is_timeout() {
            MailFault::Unreachable("it does not answer".to_owned())
        } else if error.is_client() {
            MailFault::Refused(self.describe(error))
        } else {
            MailFault::Unreachable(self.describe(error))
        }
    }

    fn of_auth(&self, error: &smtp::Error) -> MailFault {
        if error.is_transient() {
            MailFault::Later(self.describe(error))
        } else if error.is_permanent() || error.is_client() || error.is_response() {
            MailFault::Auth(self.describe(error))
        } else {
            self.fault(error)
        }
    }

    /// One line: code and text, or the fault of the connection.
    fn describe(&self, error: &smtp::Error) -> String {
        let mut words = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        if let Some(code) = error.status() {
            words = format!("{code} {words}");
        }
        for secret in self.secrets() {
            if secret.len() >= 4 {
                words = words.replace(&secret, MASK);
            }
        }
        let line: String = words
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        line[..line.floor_char_boundary(WORDS)].trim().to_owned()
    }

    /// Credentials to mask, plain and encoded.
    fn secrets(&self) -> Vec<String> {
        let Some((user, password)) = &self.server.login else {
            return Vec::new();
        };
        let password = password.expose();
        let both = STANDARD.encode(format!("\0{user}\0{password}"));
        vec![
            both,
            STANDARD.encode(password),
            STANDARD.encode(user),
            password.to_owned(),
            user.clone(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> Mail {
        Mail {
            from_name: "Quarter, \"master\" é".to_owned(),
            from: "qm@example.org".to_owned(),
            to: "jo@example.net".to_owned(),
            subject: "Téléchargé: x".to_owned(),
            text: "ä\nb".to_owned(),
            html: Some("<p>ä</p>".to_owned()),
            id: "n-1".to_owned(),
            date: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_letter_is_written_in_ascii_with_its_headers() {
        let (envelope, bytes) = written(&mail()).unwrap();
        assert_eq!(
            envelope.to().iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["jo@example.net"]
        );
        assert!(bytes.is_ascii());
        let text = String::from_utf8(bytes).unwrap();
        for line in [
            "Message-ID: <n-1@example.org>",
            "Date: Thu, 01 Jan 1970 00:00:00 +0000",
            "To: jo@example.net",
            "Auto-Submitted: auto-generated",
            "Content-Type: multipart/alternative;",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Type: text/html; charset=utf-8",
        ] {
            assert!(
                text.contains(&format!("{line}\r\n")) || text.contains(line),
                "{line}:\n{text}"
            );
        }
        assert!(
            text.lines()
                .any(|line| line.starts_with("From: ") && line.ends_with("<qm@example.org>"))
        );
    }

    #[test]
    fn no_part_breaks_a_header() {
        const EVIL: &str = "x\r\nBcc: all@example.org";
        let changes: [fn(&mut Mail); 5] = [
            |mail| mail.subject = EVIL.to_owned(),
            |mail| mail.from_name = EVIL.to_owned(),
            |mail| mail.from = format!("qm@example.org{EVIL}"),
            |mail| mail.to = format!("jo@example.net{EVIL}"),
            |mail| mail.id = EVIL.to_owned(),
        ];
        for change in changes {
            let mut mail = mail();
            change(&mut mail);
            assert!(matches!(written(&mail), Err(MailFault::Invalid(_))), "{mail:?}");
        }
        let mut body = mail();
        body.text = EVIL.to_owned();
        let text = String::from_utf8(written(&body).unwrap().1).unwrap();
        let head = text.split("\r\n\r\n").next().unwrap();
        assert!(!head.contains("Bcc"), "{head}");
        for bad in [
            "",
            "jo",
            "jo@",
            "a@b@c",
            "jo@example.org, all@example.org",
            "Jo <jo@example.org>",
        ] {
            let mut mail = mail();
            mail.to = bad.to_owned();
            assert!(matches!(written(&mail), Err(MailFault::Invalid(_))), "{bad}");
            assert!(!is_mail_address(bad), "{bad}");
        }
    }

    #[test]
    fn what_signs_in_is_never_told() {
        let server = MailServer {
            host: "mail".to_owned(),
            port: 25,
            implicit_tls: false,
            login: Some(("postman".to_owned(), Secret::new("hunter22"))),
            trust: None,
        };
        let words = Words { server: &server };
        for secret in words.secrets() {
            assert!(
                [
                    "postman",
                    "hunter22",
                    "cG9zdG1hbg==",
                    "aHVudGVyMjI=",
                    "AHBvc3RtYW4AaHVudGVyMjI="
                ]
                .contains(&&*secret)
            );
        }
        assert_eq!(words.secrets().len(), 5);
    }
}
