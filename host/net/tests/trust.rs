//! Tests of servers whose certificate this machine does not trust, and of configurations that trust them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use qm_net::{DialError, Grants, HttpRequest, Net, NetConfig, Progress, Resolver, Trust};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Every name resolves to this machine.
struct Names;

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

fn params() -> CertificateParams {
    CertificateParams::new(vec!["nas.test".to_owned()]).unwrap()
}

/// Certificates of a server, its own first, with its key.
struct Shown {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
    /// Its own certificate, or its authority's, in PEM.
    root: String,
}

impl Shown {
    fn by_itself(params: CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        Self {
            chain: vec![made.der().clone()],
            root: made.pem(),
            key,
        }
    }

    fn by_an_authority(params: CertificateParams) -> Self {
        let mut issuing = CertificateParams::new(vec![]).unwrap();
        issuing.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(issuing, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &issuer).unwrap();
        Self {
            chain: vec![made.der().clone()],
            root: issuer.pem(),
            key,
        }
    }

    fn sha256(&self) -> String {
        let digest = Sha256::digest(&self.chain[0]);
        let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        pairs.join(":")
    }

    /// Serves until the test ends. Returns the port, and the number of requests.
    async fn serve(&self) -> (u16, Arc<AtomicUsize>) {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, count) = (acceptor.clone(), count.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut buffer = [0; 4096];
                    while matches!(stream.read(&mut buffer).await, Ok(n) if n > 0) {
                        count.fetch_add(1, Ordering::SeqCst);
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                        if stream.write_all(answer).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        (port, asked)
    }
}

fn net() -> Net {
    Net::with_resolver(NetConfig::default(), Arc::new(Names)).unwrap()
}

async fn ask(net: &Net, port: u16, certificate: Option<&str>) -> Result<u16, String> {
    let url = format!("https://nas.test:{port}/");
    let schema = json!({"properties": {
        "url": {"x-grant": "http-url"}, "tlsCertificate": {"x-trust": true},
    }});
    let config = json!({ "url": url, "tlsCertificate": certificate });
    let grants = Grants::from_config(&schema, config.as_object().unwrap())?;
    let request = HttpRequest {
        method: "GET".to_owned(),
        url,
        headers: Vec::new(),
        body: Bytes::new(),
        idle: Duration::from_mins(1),
        max_body: 1024,
    };
    let sent = net.dialer().send(request, &grants, Progress::default()).await;
    match sent {
        Ok(answer) => Ok(answer.status()),
        Err(DialError::Other(text)) => Err(text),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_certificate_is_trusted_by_its_sha256_or_whole_or_by_its_authority() {
    let mut authority = params();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let mut expired = params();
    expired.not_after = rcgen::date_time_ymd(2001, 1, 1);
    expired.not_before = rcgen::date_time_ymd(2000, 1, 1);
    let other_name = CertificateParams::new(vec!["other.test".to_owned()]).unwrap();
    let net = net();
    // Certificate, reason of distrust, and true if its root makes it trusted.
    let cases = [
        (
            "signed by itself",
            Shown::by_itself(params()),
            "no authority",
            true,
        ),
        (
            "openssl's usual one",
            Shown::by_itself(authority),
            "signed by itself",
            true,
        ),
        (
            "of a house's authority",
            Shown::by_an_authority(params()),
            "no authority",
            true,
        ),
        (
            "of an authority, expired",
            Shown::by_an_authority(expired),
            "",
            false,
        ),
        (
            "of an authority, for another name",
            Shown::by_an_authority(other_name),
            "",
            false,
        ),
    ];
    for (name, shown, why, is_trusted_by_root) in cases {
        let (port, asked) = shown.serve().await;
        let refused = ask(&net, port, None).await.unwrap_err();
        let sha256 = shown.sha256();
        for part in ["is not trusted", why, &sha256, "`tlsCertificate`"] {
            assert!(refused.contains(part), "{name}: {refused}");
        }
        assert!(
            !refused.contains("CaUsed") && !refused.contains("Err"),
            "{name}: {refused}"
        );
        let other = ask(&net, port, Some(&"ab".repeat(32))).await.unwrap_err();
        assert!(
            other.contains("not the one") && other.contains(&sha256),
            "{name}: {other}"
        );
        assert_eq!(asked.load(Ordering::SeqCst), 0, "{name}: nothing was sent");
        // A user has accepted exactly this one.
        assert_eq!(ask(&net, port, Some(&sha256)).await, Ok(200), "{name}");
        let by_root = ask(&net, port, Some(&shown.root)).await;
        assert_eq!(by_root.is_ok(), is_trusted_by_root, "{name}: {by_root:?}");
    }
}

#[tokio::test]
async fn another_certificate_of_the_same_name_is_refused_with_reasons() {
    let (mine, theirs) = (Shown::by_an_authority(params()), Shown::by_an_authority(params()));
    let (port, asked) = theirs.serve().await;
    let net = net();
    let refused = ask(&net, port, Some(&mine.root)).await.unwrap_err();
    assert!(refused.contains("no authority that is trusted here"), "{refused}");
    let refused = ask(&net, port, Some(&mine.sha256())).await.unwrap_err();
    assert!(
        refused.contains("not the one that `tlsCertificate` names"),
        "{refused}"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_certificate_for_plain_http_is_an_error() {
    let trust = Trust::parse("tlsCertificate", &"ab".repeat(32)).unwrap();
    let plain = Grants::of_url("url", "http://nas.test").unwrap();
    assert!(plain.trusting(&trust).unwrap_err().contains("https://"));
    assert!(
        Grants::of_url("url", "https://nas.test")
            .unwrap()
            .trusting(&trust)
            .is_ok()
    );
}
