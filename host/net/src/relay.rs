//! `PLUGIN_RELAYS`: relays that an operator sets for plugins' own hosts, e.g. where a service is unreachable.
//! Only a plugin's own origins ([`Reach::Own`](crate::grants::Reach)) are replaced, and the plugin does not
//! notice; the operator may choose an internal address.

use std::collections::HashMap;

use url::Url;

use crate::NetError;
use crate::grants::Grants;

/// The parsed list, by origin.
#[derive(Debug, Default)]
pub struct Relays(HashMap<String, Url>);

impl Relays {
    /// Parses entries such as `https://api.example.org=http://10.0.0.2:8081`.
    pub fn parse(entries: &[String]) -> Result<Self, NetError> {
        let one = |entry: &String| {
            let (from, to) = entry.split_once('=')?;
            let from = Grants::origin(from.trim()).ok()?;
            let to = Grants::origin(to.trim()).ok()?;
            Some((from, Url::parse(&to).ok()?))
        };
        let relays = entries
            .iter()
            .map(|entry| one(entry).ok_or_else(|| NetError::Relay(entry.clone())));
        relays.collect::<Result<_, _>>().map(Self)
    }

    /// The URL with the relay of its origin, if there is one.
    pub fn lead(&self, url: &Url) -> Option<Url> {
        let origin = Grants::origin(&url.origin().ascii_serialization()).ok()?;
        let relay = self.0.get(&origin)?;
        let mut led = relay.clone();
        led.set_path(url.path());
        led.set_query(url.query());
        Some(led)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relays(entries: &[&str]) -> Result<Relays, NetError> {
        Relays::parse(&entries.iter().map(|&entry| entry.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_origin_is_led_elsewhere_and_nothing_beside_it() {
        let relays = relays(&[
            "https://API.example.org=http://10.0.0.2:8081",
            " https://b.example = https://c.example/ ",
        ]);
        let relays = relays.unwrap();
        let led = |url: &str| relays.lead(&Url::parse(url).unwrap()).map(|url| url.to_string());
        assert_eq!(
            led("https://api.example.org:443/bot1:a/send?x=%20y").as_deref(),
            Some("http://10.0.0.2:8081/bot1:a/send?x=%20y")
        );
        assert_eq!(led("https://b.example/x").as_deref(), Some("https://c.example/x"));
        for url in [
            "http://api.example.org/",
            "https://api.example.org:444/",
            "https://x.api.example.org/",
        ] {
            assert_eq!(led(url), None, "{url}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for entry in [
            "",
            "https://a.example",
            "a.example=http://b.example",
            "https://a.example/x=http://b.example",
        ] {
            let error = relays(&["https://a.example=http://b.example", entry]).unwrap_err();
            assert!(error.to_string().contains(&format!("`{entry}`")), "{error}");
        }
    }
}
