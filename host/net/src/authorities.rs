//! The certificate authorities that this machine trusts: read once a process, on a thread of their own, since they are many and
//! nobody needs them before the first connection under TLS.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::lanes::AUTHORITIES;
use crate::trust::in_words;

static READ: OnceLock<Result<Verifier, Error>> = OnceLock::new();

fn verifier() -> Result<&'static Verifier, Error> {
    READ.get_or_init(|| Verifier::new(Arc::new(ring::default_provider())))
        .as_ref()
        .map_err(Clone::clone)
}

/// Begins to read them.
pub(crate) fn begin() {
    if READ.get().is_none() {
        // Without a thread whoever needs them first reads them.
        let _ = AUTHORITIES.begin(|_| drop(verifier()));
    }
}

/// Returns once they were read, or cannot be.
pub(crate) async fn read() -> Result<(), Error> {
    if READ.get().is_none() {
        // Only where the process ends is it cut off; then nothing is asked of them any more.
        drop(AUTHORITIES.run_for(None, |_| drop(verifier())).await);
    }
    verifier().map(drop)
}

/// Judges servers by what was read. A handshake that comes before the reading has ended waits for that.
#[derive(Debug)]
pub(crate) struct Authorities;

impl ServerCertVerifier for Authorities {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        verifier()?
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| in_words(end_entity, error))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verifier()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verifier()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = ring::default_provider();
        provider.signature_verification_algorithms.supported_schemes()
    }
}
