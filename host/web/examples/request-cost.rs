//! Benchmark: serves one prepared list of 30 KiB and requests it over one connection. Under `valgrind
//! --tool=callgrind`, two runs of different lengths give the instructions per request, which times on a busy
//! machine do not: `request-cost 2000`, `request-cost 12000`.

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use http::HeaderValue;
use qm_kernel::{Ctx, Permission, PermissionSet, Principal, Timestamp, TokenError, TokenVerifier};
use qm_web::{ConnectionLimits, Doorkeeper, Prepared, Routes, WebConfig, finish, routes, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ASKED: &[u8] = b"GET /api/torrents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \
    eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI1ZjJjIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ\r\n\r\n";

struct Known;

impl TokenVerifier for Known {
    fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        Ok(Principal {
            user_id: token.into(),
            username: "viewer".into(),
            roles: Vec::new(),
            permissions: PermissionSet::empty().with(Permission::TorrentsView),
            expires_at: Timestamp::from_secs(i64::from(u32::MAX)),
        })
    }
}

#[utoipa::path(get, path = "/api/torrents", responses((status = 200, body = String)))]
async fn list(State(body): State<Bytes>) -> Prepared {
    Prepared {
        body,
        etag: HeaderValue::from_static("W/\"7800-0123456789abcdef\""),
        headers: Vec::new(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let requests: usize = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(2000);
    let config = WebConfig {
        throttle_limit: u32::MAX,
        // Every server has one; this one admits everybody.
        doorkeeper: Some(Doorkeeper::new(|_, _| None)),
        ..WebConfig::default()
    };
    let routes = Routes::new()
        .add(routes!(list).need(Permission::TorrentsView))
        .with_state(Bytes::from(vec![b' '; 30 * 1024]));
    let router = finish(routes, config, Arc::new(Known), Ctx::system());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut caller = TcpStream::connect(listener.local_addr()?).await?;
    let asking = async move {
        let mut answer = vec![0; 64 * 1024];
        for _ in 0..requests {
            caller.write_all(ASKED).await?;
            let (mut read, mut length) = (0, None);
            while length.is_none_or(|length| read < length) {
                read += caller.read(&mut answer[read..]).await?;
                if length.is_none() {
                    let head = answer[..read].windows(4).position(|end| end == b"\r\n\r\n");
                    length = head.map(|head| head + 4 + 30 * 1024);
                }
            }
            assert!(answer.starts_with(b"HTTP/1.1 200"), "the list is answered");
        }
        std::io::Result::Ok(())
    };
    let (asked, served) = tokio::sync::oneshot::channel::<()>();
    let server = serve(listener, router, ConnectionLimits::default(), async {
        // Either way no request follows.
        let _ = served.await;
    });
    let (outcome, ()) = tokio::join!(
        async {
            let outcome = asking.await;
            drop(asked);
            outcome
        },
        server
    );
    let _: () = outcome?;
    Ok(())
}
