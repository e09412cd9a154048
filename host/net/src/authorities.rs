//! Certificate authorities of this machine: read once per process, on a separate thread, because they are
//! many and not needed before the first TLS connection.

use std::sync::{Arc, OnceLock};

use rustls::Error;
use rustls::client::danger::{ServerCertVerified, ServerCertVerifier as _};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_platform_verifier::Verifier;

use crate::judge::Certificates;
use crate::lanes::AUTHORITIES;

static READ: OnceLock<Result<Verifier, Error>> = OnceLock::new();

fn verifier() -> Result<&'static Verifier, Error> {
    READ.get_or_init(|| Verifier::new(Arc::new(ring::default_provider())))
        .as_ref()
        .map_err(Clone::clone)
}

/// Starts the reading.
pub(crate) fn begin() {
    if READ.get().is_none() {
        // If no thread is free, the first user reads them.
        let _ = AUTHORITIES.begin(|_| drop(verifier()));
    }
}

/// Waits for the end of the reading; fails if they cannot be read.
pub(crate) async fn read() -> Result<(), Error> {
    if READ.get().is_none() {
        // Cut off only when the process ends; then no connection needs them.
        drop(AUTHORITIES.run_for(None, |_| drop(verifier())).await);
    }
    verifier().map(drop)
}

/// The authorities. An early handshake waits for the reading.
#[derive(Debug)]
pub(crate) struct Authorities;

impl Certificates for Authorities {
    fn judge(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }
}
