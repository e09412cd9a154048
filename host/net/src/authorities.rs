//! The certificate authorities that this machine trusts: read once a process, on a thread of their own, since they are many and
//! nobody needs them before the first connection under TLS.

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

/// The authorities that were read. A handshake that comes before the reading has ended waits for that.
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
