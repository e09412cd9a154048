//! Hands a torrent over and waits until rTorrent lists it.
//!
//! Options travel as commands of the load, because a magnet's commands are all that its torrent inherits once the
//! metadata is there. A command is parsed by rTorrent: quotes and backslashes are escaped, and a value that begins with
//! `$`, which it would execute even within quotes, is refused.

use crate::client::{Client, target};
use crate::error::{Error, Subject};
use crate::label;
use crate::limits;
use crate::relocate::directory;
use crate::wire::{Clock, Transport};
use crate::xml::{self, Param};
use engine_model::{AddOptions, AddRequest, Source};

/// Waits between looks at the list, milliseconds: 6 s in all.
const WAITS_MS: [u32; 24] = [
    10, 20, 40, 80, 150, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300,
    300, 300,
];
/// rTorrent closes the connection on a request that is larger, whatever its settings are.
const MAX_REQUEST_BYTES: usize = 16_000_000;

impl<T: Transport, C: Clock> Client<T, C> {
    /// Adds a torrent; one that is there already stays as it is.
    pub fn add(&self, request: &AddRequest) -> Result<(), Error> {
        let target =
            target(&request.hash).map_err(|_| Error::Rejected("the info-hash is not one".to_owned()))?;
        let commands = commands(&target, &request.options)?;
        if self.is_listed(&target)? {
            return Ok(());
        }
        if let Some(path) = &request.options.save_path {
            self.make_directory(directory(path)?)?;
        }
        if is_limited(&request.options) {
            self.set_group(
                &limits::group(&target),
                request.options.upload_limit,
                request.options.download_limit,
            )?;
        }
        let magnet;
        let (method, source) = match (&request.source, request.options.start_paused) {
            (Source::Magnet(uri), paused) => {
                magnet = magnet_uri(uri)?;
                (
                    if paused { "load.normal" } else { "load.start" },
                    Param::Text(&magnet),
                )
            }
            (Source::Metainfo(bytes), paused) => (
                if paused { "load.raw" } else { "load.raw_start" },
                Param::Bytes(bytes),
            ),
        };
        let mut params = vec![Param::Text(""), source];
        params.extend(commands.iter().map(Param::from));
        self.make_room(xml::call(method, &params).len())?;
        self.call(method, &params)??;
        if self.wait_until_listed(&target)? {
            return Ok(());
        }
        let why = match request.source {
            Source::Magnet(_) => {
                "rTorrent accepted the magnet link but never registered it within 6s; a link without trackers (tr=) needs DHT"
            }
            Source::Metainfo(_) => "rTorrent accepted the torrent but never registered it within 6s",
        };
        Err(Error::Rejected(why.to_owned()))
    }

    fn is_listed(&self, target: &str) -> Result<bool, Error> {
        match self.call("d.hash", &[target.into()])?.map_err(Error::from) {
            Ok(_) => Ok(true),
            Err(Error::NotFound(Subject::Torrent)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Loading happens after the answer. A look that fails is only a look that saw nothing.
    fn wait_until_listed(&self, target: &str) -> Result<bool, Error> {
        for wait in WAITS_MS {
            if let Ok(true) = self.is_listed(target) {
                return Ok(true);
            }
            self.clock.sleep_ms(wait);
        }
        self.is_listed(target)
    }

    /// rTorrent refuses requests above a size that can be raised.
    fn make_room(&self, bytes: usize) -> Result<(), Error> {
        if bytes > MAX_REQUEST_BYTES {
            return Err(Error::Rejected(
                "the .torrent file is larger than rTorrent takes over this connection".to_owned(),
            ));
        }
        let bytes = bytes as i64 + 1024;
        // The smallest limit it can have been built with; below it nothing needs asking.
        if bytes < 256 << 10 {
            return Ok(());
        }
        if self.call("network.xmlrpc.size_limit", &["".into()])??.int() < bytes {
            self.call("network.xmlrpc.size_limit.set", &["".into(), Param::Int(bytes)])??;
        }
        Ok(())
    }
}

fn is_limited(options: &AddOptions) -> bool {
    options.upload_limit.unwrap_or(0) > 0 || options.download_limit.unwrap_or(0) > 0
}

/// The options as commands of the load.
fn commands(target: &str, options: &AddOptions) -> Result<Vec<String>, Error> {
    let mut commands = Vec::new();
    if let Some(path) = &options.save_path {
        commands.push(command("d.directory.set", directory(path)?));
    }
    if let Some(category) = options
        .category
        .as_deref()
        .filter(|category| !category.is_empty())
    {
        commands.push(command(label::SET, &label::written(category)));
    }
    if is_limited(options) {
        commands.push(command("d.throttle_name.set", &limits::group(target)));
    }
    Ok(commands)
}

/// A command with one value, which is neither parsed further nor executed.
fn command(name: &str, value: &str) -> String {
    let mut command = format!("{name}=\"");
    for char in value.chars() {
        if matches!(char, '"' | '\\') {
            command.push('\\');
        }
        command.push(char);
    }
    command.push('"');
    command
}

/// A magnet link as rTorrent recognises one; anything else it would read as the path of a file or fetch as a URL.
fn magnet_uri(uri: &str) -> Result<String, Error> {
    match uri.split_at_checked(8) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("magnet:?") => Ok(format!("magnet:?{rest}")),
        _ => Err(Error::Rejected("not a magnet link".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_leave_their_quotes() {
        let with = |category: &str, save_path: &str| {
            let options = AddOptions {
                category: Some(category.to_owned()),
                save_path: Some(save_path.to_owned()),
                ..AddOptions::default()
            };
            commands("AB", &options)
        };
        let commands = with(r"a\,b;c$cat=x", "/d/$cat=x, y;z/").unwrap();
        assert_eq!(
            commands,
            [
                r#"d.directory.set="/d/$cat=x, y;z""#,
                r#"d.custom1.set="a%5C%2Cb%3Bc%24cat%3Dx""#
            ]
        );
        for (category, save_path) in [
            ("a", "/d\"x"),
            ("a", "/d\r"),
            ("a", "$cat=/d"),
            ("a", "~/d"),
            ("a", ""),
        ] {
            assert!(
                matches!(with(category, save_path), Err(Error::Rejected(_))),
                "{category:?} {save_path:?}"
            );
        }
        let never_run = with("$execute.throw=touch,/x", "/d").unwrap();
        assert_eq!(never_run[1], r#"d.custom1.set="%24execute.throw%3Dtouch%2C%2Fx""#);
    }

    #[test]
    fn only_magnet_links_are_loaded_by_name() {
        assert_eq!(magnet_uri("MAGNET:?xt=a").unwrap(), "magnet:?xt=a");
        for uri in ["", "magnet", "/etc/passwd", "http://x/magnet:?", "mägnet:?x"] {
            assert!(magnet_uri(uri).is_err(), "{uri:?}");
        }
    }
}
