//! Many concurrent logins with the production hash cost: memory stays bounded and other work goes on. A
//! separate process, because it reads the process's peak memory.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qm_db::testing::Scratch;
use qm_db::{Backend, Db};
use qm_identity::{Credentials, FirstAdmin, HashCost, Identity, IdentityDeps, Pace, TokenService};
use qm_kernel::{ClientInfo, Ctx, Secret};
use qm_platform::{Audit, Cipher};

const LOGINS: usize = 64;
const PASSWORD: &str = "correct horse battery";
/// Two hashes of 64 MiB and everything else; 64 of them would need 4 GiB.
const PEAK_MIB: u64 = 512;

fn identity(db: Db) -> Identity {
    let ctx = Ctx::system();
    Identity::new(IdentityDeps {
        db,
        audit: Audit::new(ctx.clone()),
        cipher: Cipher::new(&Secret::new("encryption"), ctx.clone()),
        tokens: Arc::new(TokenService::new(
            &Secret::new("signing"),
            Duration::from_mins(15),
            ctx.clone(),
        )),
        hash_cost: HashCost::STANDARD,
        pace: Pace::STANDARD,
        refresh_ttl: Duration::from_hours(24),
        ctx,
    })
}

/// A client with its own address, because each address has a limited share of the queue.
fn client(number: usize) -> ClientInfo {
    let ip = IpAddr::V4(Ipv4Addr::new(127, 0, 1, number as u8));
    ClientInfo {
        ip,
        forwarded: ip.to_string(),
        user_agent: None,
        request_id: String::new(),
    }
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("there");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        / 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_logins_is_bounded_and_starves_nobody() {
    let scratch = Scratch::new(Backend::Sqlite)
        .await
        .expect("SQLite is always there");
    let identity = identity(scratch.open().await);
    let admin = FirstAdmin {
        username: "admin".to_owned(),
        email: "admin@example.org".to_owned(),
        password: Some(Secret::new(PASSWORD)),
    };
    identity.seed(&admin).await.expect("seeded");

    let done = Arc::new(AtomicUsize::new(0));
    let logins: Vec<_> = (0..LOGINS)
        .map(|number| {
            let (identity, done) = (identity.clone(), done.clone());
            // Half of them use unknown names, which costs the same.
            let username = if number % 2 == 0 {
                "admin".to_owned()
            } else {
                format!("nobody{number}")
            };
            tokio::spawn(async move {
                let credentials = Credentials {
                    username,
                    password: Secret::new(PASSWORD),
                    second_factor: None,
                };
                let outcome = identity.login(credentials, &client(number)).await;
                done.fetch_add(1, Ordering::Relaxed);
                outcome
            })
        })
        .collect();
    for _ in 0..20 {
        assert!(identity.account("nobody").await.is_err());
    }
    assert!(
        done.load(Ordering::Relaxed) < LOGINS / 2,
        "reads wait for the hashes"
    );

    let mut succeeded = 0;
    for login in logins {
        succeeded += usize::from(login.await.expect("joined").is_ok());
    }
    assert_eq!(succeeded, LOGINS / 2);
    let peak = peak_mib();
    assert!(peak < PEAK_MIB, "{LOGINS} logins took {peak} MiB");
    scratch.remove().await;
}
