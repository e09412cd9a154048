//! TLS in front of a server on loopback, under a certificate that it signed itself, as seedboxes and NAS have it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// Address of every front: another one than the servers', so that it can have their port. Some clients refuse a request whose
/// `Host` names another port than theirs.
const AT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A front that takes TLS and hands on what is inside.
pub struct TlsFront {
    port: u16,
    pem: String,
    sha256: String,
    serving: AbortHandle,
}

impl TlsFront {
    /// Stands in front of the server at `port` of 127.0.0.1.
    pub async fn start(port: u16) -> TlsFront {
        let made = rcgen::generate_simple_self_signed(vec![AT.to_string()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("our own key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the versions of the library")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("our own certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((AT, port))
            .await
            .expect("the same port of our address");
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut outer) = acceptor.accept(stream).await else {
                        return;
                    };
                    let inner = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                    if let Ok(mut inner) = TcpStream::connect(inner).await {
                        // Whoever hangs up first ends it.
                        let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
                    }
                });
            }
        });
        let digest = Sha256::digest(made.cert.der());
        let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        TlsFront {
            port,
            pem: made.cert.pem(),
            sha256: pairs.join(":"),
            serving: serving.abort_handle(),
        }
    }

    pub fn url(&self) -> String {
        format!("https://{AT}:{}", self.port)
    }

    /// SHA-256 of its certificate, in hex with colons.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its certificate in PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
