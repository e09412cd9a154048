//! Stored settings of the mail server: a JSON object; missing or invalid members take their defaults.

use qm_platform::origins::{self, Places, put_wanted, take_wanted};
use serde_json::{Map, Value, json};

/// Default port for submission.
const PORT: u16 = 587;

/// Stored members by name.
pub type Stored = Map<String, Value>;

/// The mail server, without its password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Blank: no server.
    pub host: String,
    pub port: u16,
    /// TLS from the first byte; otherwise STARTTLS where the server offers it.
    pub secure: bool,
    /// True when the service signs in.
    pub auth: bool,
    pub user: String,
    /// Blank: the name of the service.
    pub from_name: String,
    /// Blank: no address.
    pub from_address: String,
    /// Pinned certificate: a SHA-256 or PEM. Blank: the trust store of this machine.
    pub certificate: String,
    /// Encrypted password.
    pub sealed: Option<String>,
    /// Secrets to enter again, because the address changed.
    pub wanted: Vec<String>,
}

impl Server {
    pub fn from_stored(stored: &Stored) -> Self {
        let text = |name: &str| {
            let text = stored.get(name).and_then(Value::as_str).unwrap_or_default();
            text.trim().to_owned()
        };
        let flag = |name: &str| stored.get(name).and_then(Value::as_bool);
        let port = stored.get("port").and_then(Value::as_u64);
        let user = text("user");
        Self {
            host: text("host"),
            port: port
                .and_then(|port| u16::try_from(port).ok())
                .filter(|&port| port != 0)
                .unwrap_or(PORT),
            secure: flag("secure").unwrap_or(false),
            auth: flag("auth").unwrap_or(!user.is_empty()),
            user,
            from_name: text("fromName"),
            from_address: text("fromAddress"),
            certificate: text("tlsCertificate"),
            sealed: Some(text("password")).filter(|sealed| !sealed.is_empty()),
            wanted: take_wanted(&mut stored.clone()),
        }
    }

    /// Address to which the password is sent.
    fn places(&self) -> Places {
        let place = json!({ "host": self.host, "port": self.port, "secure": self.secure });
        Places::in_config(None, place.as_object().unwrap_or(&Map::new()))
    }

    /// Mail can be sent.
    pub fn is_ready(&self) -> bool {
        !self.host.is_empty() && !self.from_address.is_empty()
    }
}

/// Change of the settings; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub secure: Option<bool>,
    pub auth: Option<bool>,
    pub user: Option<String>,
    pub from_name: Option<String>,
    pub from_address: Option<String>,
    pub certificate: Option<String>,
    /// Encrypted.
    pub password: Option<String>,
}

impl Change {
    /// Applies the change. A password that was entered for another host, port or encryption is dropped.
    /// Returns the names of the changed members.
    pub fn apply(self, stored: &mut Stored) -> Vec<&'static str> {
        let (before, was) = (stored.clone(), Server::from_stored(stored));
        let sent = self
            .password
            .clone()
            .map(|sealed| ("password".to_owned(), sealed.into()));
        let members = [
            ("host", self.host.map(Value::from)),
            ("port", self.port.map(Value::from)),
            ("secure", self.secure.map(Value::from)),
            ("auth", self.auth.map(Value::from)),
            ("user", self.user.map(Value::from)),
            ("fromName", self.from_name.map(Value::from)),
            ("fromAddress", self.from_address.map(Value::from)),
            ("tlsCertificate", self.certificate.map(Value::from)),
            ("password", self.password.map(|sealed| json!(sealed))),
        ];
        let given = members.into_iter().filter_map(|(name, value)| {
            stored.insert(name.to_owned(), value?);
            Some(name)
        });
        let given = given.collect();
        let schema = json!({"properties": { "password": {}, "user": {}, "auth": {}, "fromName": {}, "fromAddress": {}, "tlsCertificate": {} }});
        let change = origins::Change {
            schema: Some(&schema),
            before: &before,
            sent: &sent.into_iter().collect(),
            places: (&was.places(), &Server::from_stored(stored).places()),
        };
        let wanted = change.settle(stored, was.wanted);
        put_wanted(stored, &wanted);
        given
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::secret::keeps;

    use super::*;

    fn server(stored: Value) -> Server {
        Server::from_stored(stored.as_object().unwrap())
    }

    #[test]
    fn what_is_missing_is_as_without() {
        let none = server(json!({}));
        assert_eq!(
            (none.port, none.secure, none.auth, none.is_ready()),
            (587, false, false, false)
        );
        assert!(server(json!({ "user": "jo" })).auth, "somebody is named");
        assert!(!server(json!({ "user": "jo", "auth": false })).auth);
        let odd = server(json!({ "host": 5, "port": 70000, "secure": "yes", "fromAddress": null }));
        assert_eq!(
            odd,
            Server {
                port: 587,
                ..Server::default()
            }
        );
        assert!(server(json!({ "host": " m ", "fromAddress": "a@b.c" })).is_ready());
        assert!(!server(json!({ "host": " ", "fromAddress": "a@b.c" })).is_ready());
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let mut stored = Stored::new();
        let first = Change {
            host: Some("m".to_owned()),
            password: Some("sealed".to_owned()),
            ..Change::default()
        };
        assert_eq!(first.apply(&mut stored), ["host", "password"]);
        let second = Change {
            port: Some(25),
            ..Change::default()
        };
        assert_eq!(second.apply(&mut stored), ["port"]);
        assert_eq!(stored["$secretsWanted"], json!(["password"]), "another port");
        let again = Change {
            password: Some("anew".to_owned()),
            secure: Some(true),
            ..Change::default()
        };
        again.apply(&mut stored);
        assert_eq!(
            Value::Object(stored.clone()),
            json!({ "host": "m", "password": "anew", "port": 25, "secure": true })
        );
        for (host, kept) in [("M.", true), ("m", true), ("other", false)] {
            let moved = Change {
                host: Some(host.to_owned()),
                ..Change::default()
            };
            moved.apply(&mut stored);
            assert_eq!(Server::from_stored(&stored).sealed.is_some(), kept, "{host}");
        }
        assert_eq!(Server::from_stored(&stored).wanted, ["password"]);
        for kept in ["", " ", "••••"] {
            assert!(keeps(kept));
        }
        assert!(!keeps("•x") && !keeps("x"));
    }
}
