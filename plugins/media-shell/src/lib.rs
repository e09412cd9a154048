//! Code that the plugins for media servers share beside the wire formats: the configuration, requests through the host, the
//! words of the contract, and [`media_server!`], which makes a plugin of a product.

mod convert;
mod net;

use media_core::Product;
use sdk_media::{AboutServer, Description, Descriptor, Extent, ServerError, Session};

use crate::convert::fault;
use crate::net::Site;

pub use media_core;
pub use sdk_media;

pub fn describe(product: &dyn Product) -> Description {
    sdk_media::install_panic_hook();
    Description {
        about: Descriptor {
            id: product.id().to_owned(),
            label: product.label().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config_schema: product.schema().to_owned(),
            capabilities: Vec::new(),
            hosts: Vec::new(),
            extra: Vec::new(),
        },
        platform: product.platform().to_owned(),
        abilities: convert::abilities(product.abilities()),
        extra: Vec::new(),
    }
}

pub fn test(product: &dyn Product, config: &str) -> Result<AboutServer, ServerError> {
    let site = Site::read(product, config)?;
    let about = product.test(&site.access, &site).map_err(fault)?;
    Ok(AboutServer {
        name: about.name,
        version: about.version,
        extra: Vec::new(),
    })
}

pub fn refresh(product: &dyn Product, config: &str, extent: Extent) -> Result<(), ServerError> {
    let site = Site::read(product, config)?;
    let extent = media_core::Extent {
        library: extent.library,
        path: extent.path,
    };
    product.refresh(&site.access, &extent, &site).map_err(fault)
}

pub fn sessions(product: &dyn Product, config: &str) -> Result<Vec<Session>, ServerError> {
    let site = Site::read(product, config)?;
    let all = product.sessions(&site.access, &site).map_err(fault)?;
    Ok(all.into_iter().map(convert::session).collect())
}

pub fn terminate(
    product: &dyn Product,
    config: &str,
    session: &str,
    message: Option<&str>,
) -> Result<(), ServerError> {
    let site = Site::read(product, config)?;
    product
        .terminate(&site.access, session, message, &site)
        .map_err(fault)
}

/// Makes a plugin of a product.
#[macro_export]
macro_rules! media_server {
    ($product:expr) => {
        struct Plugin;

        impl $crate::sdk_media::MediaServer for Plugin {
            fn describe() -> $crate::sdk_media::Description {
                $crate::describe(&$product)
            }

            fn test(
                config: String,
            ) -> Result<$crate::sdk_media::AboutServer, $crate::sdk_media::ServerError> {
                $crate::test(&$product, &config)
            }

            fn refresh(
                config: String,
                extent: $crate::sdk_media::Extent,
            ) -> Result<(), $crate::sdk_media::ServerError> {
                $crate::refresh(&$product, &config, extent)
            }

            fn sessions(
                config: String,
            ) -> Result<Vec<$crate::sdk_media::Session>, $crate::sdk_media::ServerError> {
                $crate::sessions(&$product, &config)
            }

            fn terminate(
                config: String,
                session: String,
                message: Option<String>,
            ) -> Result<(), $crate::sdk_media::ServerError> {
                $crate::terminate(&$product, &config, &session, message.as_deref())
            }
        }

        sdk_media::export_media_server!(Plugin);
    };
}
