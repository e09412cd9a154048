//! Name resolution. A trait, so that tests can change the answers.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::Outside;
use crate::address::is_never_dialled;
use crate::lanes::NAMES;

/// Resolver of host names. Called once per dial; no second resolution happens between check and connect.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of `host`, A and AAAA. Not called for literal addresses.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The operating system's resolver.
#[derive(Debug)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let host = host.to_owned();
        let looking = NAMES.run(move |_| {
            let found = (&*host, 0).to_socket_addrs()?;
            Ok(found.map(|address| address.ip()).collect())
        });
        looking.await.map_err(io::Error::other)?
    }
}

/// For the shared client: checks each address of a granted name at the dial.
pub struct OperatorNames(pub Arc<dyn Resolver>);

impl Resolve for OperatorNames {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.0.clone();
        Box::pin(async move {
            let ips = resolver.resolve(name.as_str()).await?;
            let addresses = dialable(name.as_str(), ips)?;
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

/// For hosts that a plugin names itself: the name must be external, or listed.
pub struct OutwardNames {
    pub resolver: Arc<dyn Resolver>,
    pub outside: Arc<Outside>,
}

impl Resolve for OutwardNames {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, outside) = (self.resolver.clone(), self.outside.clone());
        Box::pin(async move {
            let ips = resolver.resolve(name.as_str()).await?;
            if !outside.permits(name.as_str(), &ips).await {
                return Err(Inside(name.as_str().to_owned()).into());
            }
            let addresses = dialable(name.as_str(), ips)?;
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

/// An internal host, where only an operator may point.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)"
)]
pub struct Inside(pub String);

/// For a guarded request: only the vetted addresses, for any name.
pub struct Pinned(pub Vec<IpAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Vec<_> = self.0.iter().map(|&ip| SocketAddr::new(ip, 0)).collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

/// A name with forbidden addresses only.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` resolves to an address that is never dialled")]
pub struct Forbidden(pub String);

/// The addresses of `ips` allowed for an operator's endpoint; an error when none is left.
pub fn dialable(host: &str, ips: Vec<IpAddr>) -> Result<Vec<IpAddr>, Forbidden> {
    let any = !ips.is_empty();
    let ok: Vec<IpAddr> = ips.into_iter().filter(|&ip| !is_never_dialled(ip)).collect();
    if ok.is_empty() && any {
        Err(Forbidden(host.to_owned()))
    } else {
        Ok(ok)
    }
}
