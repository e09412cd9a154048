//! The two wire formats of events, and the requests of clients in each.
//!
//! Plain: `{"event":…,"data":…}`. Socket.IO v4: Engine.IO 4 packets of one digit, Socket.IO packets inside
//! `4`.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::frame;

/// Protocol of a client; fixed by the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Plain,
    SocketIo,
}

pub(super) fn event(protocol: Protocol, name: &str, data: &[u8]) -> Bytes {
    match protocol {
        Protocol::Plain => frame::text(&[b"{\"event\":\"", name.as_bytes(), b"\",\"data\":", data, b"}"]),
        Protocol::SocketIo => frame::text(&[b"42[\"", name.as_bytes(), b"\",", data, b"]"]),
    }
}

/// Frames of one event, one per protocol, built when the first client needs it.
pub(super) struct Shared<'a> {
    name: &'a str,
    data: &'a [u8],
    plain: Option<Bytes>,
    socket_io: Option<Bytes>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(name: &'a str, data: &'a [u8]) -> Self {
        Self {
            name,
            data,
            plain: None,
            socket_io: None,
        }
    }

    pub(super) fn frame(&mut self, protocol: Protocol) -> Bytes {
        let made = match protocol {
            Protocol::Plain => &mut self.plain,
            Protocol::SocketIo => &mut self.socket_io,
        };
        made.get_or_insert_with(|| event(protocol, self.name, self.data))
            .clone()
    }
}

/// Request of a client. Everything else it may send is ignored.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// With its token, if any; `delta`: the client understands deltas.
    Connect {
        token: Option<String>,
        delta: bool,
    },
    /// Leaves the namespace, or closes the connection.
    Disconnect,
    /// A namespace other than `/`.
    UnknownNamespace(String),
    /// Engine.IO's own ping; the payload is returned.
    Ping(String),
    Ignore,
    /// No packet of the protocol.
    Malformed,
}

#[derive(Deserialize)]
struct PlainMessage<'a> {
    #[serde(borrow)]
    event: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Credentials {
    token: Option<String>,
    delta: Option<bool>,
}

pub(super) fn parse(protocol: Protocol, text: &str) -> Request {
    match protocol {
        Protocol::Plain => parse_plain(text),
        Protocol::SocketIo => parse_engine_io(text),
    }
}

fn parse_plain(text: &str) -> Request {
    match serde_json::from_str::<PlainMessage<'_>>(text) {
        Ok(message) if message.event == "auth" => {
            let data = message.data.map_or("{}", RawValue::get);
            let token = serde_json::from_str::<Credentials>(data)
                .ok()
                .and_then(|credentials| credentials.token);
            Request::Connect { token, delta: true }
        }
        Ok(_) | Err(_) => Request::Ignore,
    }
}

fn parse_engine_io(text: &str) -> Request {
    let mut rest = text.chars();
    match rest.next() {
        Some('1') => Request::Disconnect,
        Some('2') => Request::Ping(rest.as_str().chars().take(32).collect()),
        Some('3' | '5' | '6') => Request::Ignore,
        Some('4') => parse_socket_io(rest.as_str()),
        _ => Request::Malformed,
    }
}

fn parse_socket_io(packet: &str) -> Request {
    let Some(kind) = packet.chars().next() else {
        return Request::Malformed;
    };
    if !kind.is_ascii_digit() {
        return Request::Malformed;
    }
    let rest = &packet[1..];
    let (namespace, payload) = match rest.strip_prefix('/') {
        None => ("/", rest),
        Some(_) => rest.split_once(',').unwrap_or((rest, "")),
    };
    // A namespace may carry a query; the default one is `/` with any query.
    let is_default = namespace.split('?').next() == Some("/");
    match kind {
        '0' if !is_default => Request::UnknownNamespace(namespace.chars().take(100).collect()),
        '0' if payload.is_empty() => Request::Connect {
            token: None,
            delta: false,
        },
        '0' => match serde_json::from_str::<serde_json::Value>(payload) {
            Ok(value) => Request::Connect {
                token: value
                    .get("token")
                    .and_then(|token| token.as_str())
                    .map(str::to_owned),
                delta: value.get("delta").and_then(serde_json::Value::as_bool) == Some(true),
            },
            Err(_) => Request::Malformed,
        },
        '1' if is_default => Request::Disconnect,
        '1'..='6' => Request::Ignore,
        _ => Request::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(token: Option<&str>, delta: bool) -> Request {
        Request::Connect {
            token: token.map(str::to_owned),
            delta,
        }
    }

    #[test]
    fn socket_io_packets() {
        for (text, expected) in [
            ("40", connect(None, false)),
            (r#"40{"token":"abc"}"#, connect(Some("abc"), false)),
            (r#"40{"token":"abc","delta":true}"#, connect(Some("abc"), true)),
            (r#"40{"token":5}"#, connect(None, false)),
            (r#"40/,{"token":"abc"}"#, connect(Some("abc"), false)),
            (
                r#"40/admin,{"token":"abc"}"#,
                Request::UnknownNamespace("/admin".to_owned()),
            ),
            ("40{oops", Request::Malformed),
            ("41", Request::Disconnect),
            ("1", Request::Disconnect),
            ("2", Request::Ping(String::new())),
            ("2probe", Request::Ping("probe".to_owned())),
            ("3", Request::Ignore),
            (r#"42["hello",1]"#, Request::Ignore),
            (r#"420["with an acknowledgement"]"#, Request::Ignore),
            ("451-[\"binary\"]", Request::Ignore),
            ("", Request::Malformed),
            ("4", Request::Malformed),
            ("4x", Request::Malformed),
            ("hello", Request::Malformed),
        ] {
            assert_eq!(parse(Protocol::SocketIo, text), expected, "{text}");
        }
    }

    #[test]
    fn plain_messages() {
        for (text, expected) in [
            (
                r#"{"event":"auth","data":{"token":"abc"}}"#,
                connect(Some("abc"), true),
            ),
            (r#"{"event":"auth"}"#, connect(None, true)),
            (r#"{"event":"auth","data":"abc"}"#, connect(None, true)),
            (r#"{"event":"else","data":{"token":"abc"}}"#, Request::Ignore),
            ("not json", Request::Ignore),
            ("[]", Request::Ignore),
        ] {
            assert_eq!(parse(Protocol::Plain, text), expected, "{text}");
        }
    }

    #[test]
    fn one_frame_serves_all_clients_of_a_protocol() {
        let mut shared = Shared::new("stats:update", b"{\"a\":1}");
        let frame = shared.frame(Protocol::Plain);
        assert_eq!(&frame[2..], br#"{"event":"stats:update","data":{"a":1}}"#);
        assert_eq!(frame.as_ptr(), shared.frame(Protocol::Plain).as_ptr());
        assert_eq!(
            &shared.frame(Protocol::SocketIo)[2..],
            br#"42["stats:update",{"a":1}]"#
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            parse(Protocol::SocketIo, &text);
            parse(Protocol::Plain, &text);
            parse(Protocol::SocketIo, &format!("4{text}"));
        }
    }
}
