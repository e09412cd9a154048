//! Certificates by which an operator trusts a server that this machine does not trust.
//!
//! A certificate is given by its SHA-256 or in full; an authority in full. Nothing else is trusted then, not
//! even the machine's authorities: pinning excludes every other certificate.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, OtherError, RootCertStore};
use sha2::{Digest as _, Sha256};

use crate::judge::{Certificates, Judge};

/// Rule for the text of a [`Trust`], in words that follow the field's name.
pub const CERTIFICATE_RULE: &str =
    "must be the SHA-256 of a certificate (64 hex digits), or certificates in PEM, without a private key";

/// True if a text is blank, or a valid [`Trust`].
pub fn is_certificate(text: &str) -> bool {
    text.trim().is_empty() || Trust::parse(CERTIFICATE, text).is_ok()
}

/// Name of the configuration property that holds a [`Trust`].
pub const CERTIFICATE: &str = "tlsCertificate";
/// Largest size of the text in bytes.
pub const MAX_TEXT: usize = 32 << 10;
const MAX_CERTIFICATES: usize = 16;

/// Certificates that one configuration trusts.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Trust {
    /// SHA-256 of the pinned certificate.
    pin: Option<[u8; 32]>,
    /// Certificates of servers or of authorities.
    certificates: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Parses a SHA-256 (64 hex digits, also with colons) or certificates in PEM. The error names the field
    /// `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > MAX_TEXT {
            return Err(format!("`{name}` is longer than {} KiB", MAX_TEXT >> 10));
        }
        if text.contains("-----BEGIN") {
            return Self::of_pem(name, text);
        }
        let pin = fingerprint(text).ok_or_else(|| {
            format!(
                "`{name}` must be the SHA-256 of a certificate (64 hex digits), or certificates in PEM (-----BEGIN CERTIFICATE-----)"
            )
        })?;
        Ok(Self {
            pin: Some(pin),
            certificates: Vec::new(),
        })
    }

    fn of_pem(name: &str, text: &str) -> Result<Self, String> {
        if text.contains("PRIVATE KEY-----") {
            return Err(format!(
                "`{name}` holds a private key: enter the certificate alone"
            ));
        }
        let broken = || format!("`{name}` holds no certificate that can be read: it must be in PEM, whole");
        let certificates = CertificateDer::pem_slice_iter(text.as_bytes())
            .take(MAX_CERTIFICATES + 1)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| broken())?;
        if certificates.len() > MAX_CERTIFICATES {
            return Err(format!(
                "`{name}` holds more than {MAX_CERTIFICATES} certificates"
            ));
        }
        let mut roots = RootCertStore::empty();
        if certificates.is_empty() || certificates.iter().any(|one| roots.add(one.clone()).is_err()) {
            return Err(broken());
        }
        Ok(Self {
            pin: None,
            certificates,
        })
    }

    /// True if it pins this very certificate.
    pub(crate) fn names(&self, certificate: &[u8]) -> bool {
        self.pin == Some(sha256(certificate))
            || self.certificates.iter().any(|one| one.as_ref() == certificate)
    }

    /// Certificates that may belong to authorities.
    pub(crate) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// Verifier of servers.
    pub(crate) fn verifier(&self) -> Arc<dyn ServerCertVerifier> {
        let mut roots = RootCertStore::empty();
        for one in &self.certificates {
            // Each was added before, when it was parsed.
            let _ = roots.add(one.clone());
        }
        let provider = Arc::new(ring::default_provider());
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Arc::new(Judge(Trusting {
            trust: self.clone(),
            // `None` without a root.
            authorities: authorities.ok(),
        }))
    }
}

/// Only the kind: a certificate is long, and useless in a log.
impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pin {
            Some(pin) => write!(f, "Trust({})", colons(pin)),
            None => write!(f, "Trust({} certificates)", self.certificates.len()),
        }
    }
}

fn fingerprint(text: &str) -> Option<[u8; 32]> {
    let prefix = text
        .get(..7)
        .filter(|prefix| prefix.eq_ignore_ascii_case("sha256:") || prefix.eq_ignore_ascii_case("sha-256"));
    let text = prefix.map_or(text, |prefix| {
        text[prefix.len()..].trim_start_matches([':', '=', ' '])
    });
    let digits: Option<Vec<u8>> = text
        .bytes()
        .filter(|byte| !matches!(byte, b':' | b' ' | b'-'))
        .map(|byte| u8::try_from(char::from(byte).to_digit(16)?).ok())
        .take(65)
        .collect();
    let digits = digits.filter(|digits| digits.len() == 64)?;
    let mut pin = [0; 32];
    for (byte, pair) in pin.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(pin)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Usual notation with colons.
fn colons(digest: &[u8; 32]) -> String {
    let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

/// An untrusted certificate of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Untrusted {
    reason: String,
    sha256: String,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, sha256 } = self;
        write!(f, "its certificate is not trusted: {reason} (SHA-256 {sha256})")
    }
}

impl std::error::Error for Untrusted {}

impl Untrusted {
    pub(crate) fn from_certificate(certificate: &[u8], reason: String) -> Self {
        Self {
            reason,
            sha256: colons(&sha256(certificate)),
        }
    }

    /// A certificate other than the configured one.
    pub(crate) fn not_named(certificate: &[u8]) -> Self {
        Self::from_certificate(
            certificate,
            format!("it is not the one that `{CERTIFICATE}` names"),
        )
    }

    /// Text for users who may configure this connection, with a way out.
    pub(crate) fn with_way_out(&self) -> String {
        format!(
            "{self}; to trust it all the same, enter that SHA-256, or its authority in PEM, as `{CERTIFICATE}`"
        )
    }

    /// The certificate behind a TLS error, at any depth.
    pub(crate) fn behind<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        match tls_error(error)? {
            Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => inner.downcast_ref(),
            _ => None,
        }
    }
}

impl From<Untrusted> for Error {
    fn from(untrusted: Untrusted) -> Self {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(untrusted))))
    }
}

/// The reason in words, for a TLS error about the server's certificate that is not in words yet.
pub(crate) fn certificate_fault(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    match tls_error(error)? {
        Error::InvalidCertificate(error) => Some(words_of(error)),
        _ => None,
    }
}

/// The TLS error that is `error` or its cause.
fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Error> {
    let mut cause = Some(error);
    while let Some(inner) = cause {
        if let Some(tls) = inner.downcast_ref::<Error>() {
            return Some(tls);
        }
        // An I/O error reports the source of its content as its own source, not the content.
        let held = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match held {
            Some(held) => Some(held),
            None => inner.source(),
        };
    }
    None
}

/// The same error, with the certificate and the reason in words.
pub(crate) fn in_words(certificate: &CertificateDer<'_>, error: Error) -> Error {
    match error {
        // In words already.
        error if Untrusted::behind(&error).is_some() => error,
        Error::InvalidCertificate(error) => Untrusted::from_certificate(certificate, words_of(&error)).into(),
        other => other,
    }
}

fn words_of(error: &CertificateError) -> String {
    use CertificateError as E;
    let words = match error {
        E::Expired | E::ExpiredContext { .. } => "it has expired",
        E::NotValidYet | E::NotValidYetContext { .. } => "it is not valid yet",
        E::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            let shown: Vec<&str> = presented.iter().take(3).map(String::as_str).collect();
            return format!("it is for other names ({})", shown.join(", "));
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => "it is for another name",
        // An authority of the same name has another key.
        E::UnknownIssuer | E::BadSignature => "no authority that is trusted here has issued it",
        E::Revoked => "it was revoked",
        E::BadEncoding => "it is damaged",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "it is not meant for a server",
        // Faults for which the TLS library has no variant.
        E::Other(OtherError(inner)) if format!("{inner:?}").contains("CaUsedAsEndEntity") => {
            "it is signed by itself, as an authority's is"
        }
        other => return format!("it is not accepted ({other:?})"),
    };
    words.to_owned()
}

/// Certificates of a [`Trust`], prepared for verification.
#[derive(Debug)]
struct Trusting {
    trust: Trust,
    authorities: Option<Arc<WebPkiServerVerifier>>,
}

impl Certificates for Trusting {
    fn judge(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.trust.names(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.authorities {
            Some(authorities) => {
                authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            None => Err(Untrusted::not_named(end_entity).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sha256_is_read_in_the_forms_programs_print() {
        let hex = "ab".repeat(32);
        let spaced = vec!["AB"; 32].join(":");
        let wanted = Trust::parse("c", &hex).unwrap();
        assert!(wanted.pin.is_some());
        for text in [
            spaced.clone(),
            format!(" {spaced}\n"),
            format!("SHA256:{hex}"),
            format!("sha256: {spaced}"),
            format!("SHA-256 {spaced}"),
        ] {
            assert_eq!(Trust::parse("c", &text).as_ref(), Ok(&wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused_by_the_name_of_its_field() {
        let long = "a".repeat(MAX_TEXT + 1);
        for (text, said) in [
            ("", "SHA-256"),
            ("abc", "SHA-256"),
            (&"zz".repeat(32), "SHA-256"),
            (&"ab".repeat(20), "SHA-256"),
            (&"ab".repeat(33), "SHA-256"),
            (&long, "longer than"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
                "can be read",
            ),
            ("-----BEGIN CERTIFICATE-----\n", "can be read"),
            (
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
                "private key",
            ),
        ] {
            let told = Trust::parse("tlsCertificate", text).unwrap_err();
            assert!(
                told.contains("`tlsCertificate`") && told.contains(said),
                "{text}: {told}"
            );
        }
    }
}
