//! WebSocket frames (RFC 6455), server side. A server's frame has no mask, so an encoded message is the same
//! bytes for every socket: it is built once and shared. No extension is negotiated. Bounds: 64 KiB per
//! received message, over all its fragments.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Largest message a client may send, in bytes.
pub(super) const MAX_MESSAGE: usize = 64 * 1024;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Code and text of a close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CloseReason {
    pub(super) code: u16,
    pub(super) text: &'static str,
}

impl CloseReason {
    pub(super) const NORMAL: Self = Self { code: 1000, text: "" };
    pub(super) const GOING_AWAY: Self = Self {
        code: 1001,
        text: "The server is shutting down",
    };
    pub(super) const PROTOCOL: Self = Self {
        code: 1002,
        text: "Not a WebSocket frame",
    };
    pub(super) const NOT_UTF8: Self = Self {
        code: 1007,
        text: "Not UTF-8",
    };
    pub(super) const POLICY: Self = Self {
        code: 1008,
        text: "Too many messages unread",
    };
    pub(super) const TOO_BIG: Self = Self {
        code: 1009,
        text: "Message over 64 KiB",
    };
    pub(super) const UNAUTHORIZED: Self = Self {
        code: 4401,
        text: "Unauthorized",
    };
    pub(super) const EXPIRED: Self = Self {
        code: 4401,
        text: "Token expired",
    };
    /// The user was deactivated or deleted, or changed the password.
    pub(super) const ENDED: Self = Self {
        code: 4401,
        text: "Session ended",
    };
    pub(super) const NO_AUTH: Self = Self {
        code: 4408,
        text: "No authentication in time",
    };
    pub(super) const NO_PONG: Self = Self {
        code: 4408,
        text: "No answer to a ping",
    };
    /// An invalid Engine.IO packet.
    pub(super) const BAD_PACKET: Self = Self {
        code: 1003,
        text: "Not an Engine.IO packet",
    };
}

/// One text frame from several pieces, without joining them first.
pub(super) fn text(pieces: &[&[u8]]) -> Bytes {
    encode(TEXT, pieces)
}

pub(super) fn ping() -> Bytes {
    encode(PING, &[])
}

pub(super) fn pong(payload: &[u8]) -> Bytes {
    encode(PONG, &[payload])
}

pub(super) fn close(reason: CloseReason) -> Bytes {
    encode(CLOSE, &[&reason.code.to_be_bytes(), reason.text.as_bytes()])
}

fn encode(opcode: u8, pieces: &[&[u8]]) -> Bytes {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut frame = BytesMut::with_capacity(length + 10);
    frame.put_u8(0x80 | opcode);
    match length {
        0..126 => frame.put_u8(length as u8),
        126..=0xFFFF => {
            frame.put_u8(126);
            frame.put_u16(length as u16);
        }
        _ => {
            frame.put_u8(127);
            frame.put_u64(length as u64);
        }
    }
    for piece in pieces {
        frame.put_slice(piece);
    }
    frame.freeze()
}

/// A complete message from a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    Text(String),
    /// Binary messages are not used; only their arrival counts.
    Binary,
    Ping(Bytes),
    Pong,
    Close,
}

/// Decodes messages from the bytes of a client.
#[derive(Default)]
pub(super) struct Decoder {
    /// Fragments of an unfinished message, and true if it is text.
    partial: Option<(bool, BytesMut)>,
}

struct Head {
    fin: bool,
    opcode: u8,
    mask: [u8; 4],
    /// Length of the payload in bytes.
    own: usize,
    payload: usize,
}

impl Decoder {
    /// The next complete message, `None` while more bytes are needed. After an error the connection is
    /// unusable.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Incoming>, CloseReason> {
        while let Some(head) = parse_head(buffer)? {
            if buffer.len() < head.own + head.payload {
                return Ok(None);
            }
            buffer.advance(head.own);
            let mut payload = buffer.split_to(head.payload);
            for (byte, mask) in payload.iter_mut().zip(head.mask.iter().cycle()) {
                *byte ^= mask;
            }
            if let Some(message) = self.accept(&head, payload)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Adds a frame; `None` for a fragment whose message continues.
    fn accept(&mut self, head: &Head, payload: BytesMut) -> Result<Option<Incoming>, CloseReason> {
        match head.opcode {
            PING => return Ok(Some(Incoming::Ping(payload.freeze()))),
            PONG => return Ok(Some(Incoming::Pong)),
            CLOSE => return Ok(Some(Incoming::Close)),
            TEXT | BINARY if self.partial.is_none() => self.partial = Some((head.opcode == TEXT, payload)),
            CONTINUATION => match &mut self.partial {
                Some((_, whole)) if whole.len() + payload.len() > MAX_MESSAGE => {
                    return Err(CloseReason::TOO_BIG);
                }
                Some((_, whole)) => whole.extend_from_slice(&payload),
                None => return Err(CloseReason::PROTOCOL),
            },
            _ => return Err(CloseReason::PROTOCOL),
        }
        if !head.fin {
            return Ok(None);
        }
        match self.partial.take() {
            Some((true, whole)) => match String::from_utf8(whole.into()) {
                Ok(text) => Ok(Some(Incoming::Text(text))),
                Err(_) => Err(CloseReason::NOT_UTF8),
            },
            Some((false, _)) => Ok(Some(Incoming::Binary)),
            None => Ok(None),
        }
    }
}

/// Parses a frame head; `None` while it is incomplete. Refuses forbidden frames before their payload arrives.
fn parse_head(buffer: &[u8]) -> Result<Option<Head>, CloseReason> {
    let [first, second, rest @ ..] = buffer else {
        return Ok(None);
    };
    let (fin, opcode) = (first & 0x80 != 0, first & 0x0F);
    let control = opcode >= CLOSE;
    let masked = second & 0x80 != 0;
    let short = usize::from(second & 0x7F);
    if first & 0x70 != 0 || !masked || (control && (!fin || short > 125)) {
        return Err(CloseReason::PROTOCOL);
    }
    let extra = match short {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let Some((length, rest)) = rest.split_at_checked(extra) else {
        return Ok(None);
    };
    let payload = match extra {
        0 => short as u64,
        _ => length
            .iter()
            .fold(0, |sum: u64, byte| (sum << 8) | u64::from(*byte)),
    };
    if payload > MAX_MESSAGE as u64 {
        return Err(CloseReason::TOO_BIG);
    }
    let Some(mask) = rest.first_chunk::<4>() else {
        return Ok(None);
    };
    Ok(Some(Head {
        fin,
        opcode,
        mask: *mask,
        own: 2 + extra + 4,
        payload: payload as usize,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's frame.
    fn client(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [0x12, 0x34, 0x56, 0x78];
        let mut frame = vec![first];
        match payload.len() {
            length @ 0..126 => frame.push(0x80 | length as u8),
            length @ 126..65_536 => {
                frame.push(0xFE);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(0xFF);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(
            payload
                .iter()
                .zip(mask.iter().cycle())
                .map(|(byte, mask)| byte ^ mask),
        );
        frame
    }

    fn decode(bytes: &[u8]) -> Result<Vec<Incoming>, CloseReason> {
        let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::from(bytes));
        let mut messages = Vec::new();
        while let Some(message) = decoder.next(&mut buffer)? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let mut stream = client(0x81, "héllo".as_bytes());
        stream.extend(client(0x01, b"one "));
        stream.extend(client(0x89, b"!"));
        stream.extend(client(0x80, b"two"));
        stream.extend(client(0x82, &[0; 300]));
        stream.extend(client(0x81, &vec![b'x'; MAX_MESSAGE]));
        stream.extend(client(0x8A, b""));
        stream.extend(client(0x88, &[0x03, 0xE8]));
        let expected = [
            Incoming::Text("héllo".to_owned()),
            Incoming::Ping(Bytes::from_static(b"!")),
            Incoming::Text("one two".to_owned()),
            Incoming::Binary,
            Incoming::Text("x".repeat(MAX_MESSAGE)),
            Incoming::Pong,
            Incoming::Close,
        ];
        for step in [1, 2, 3, 7, 1000, stream.len()] {
            let (mut decoder, mut buffer, mut messages) = (Decoder::default(), BytesMut::new(), Vec::new());
            for piece in stream.chunks(step) {
                buffer.extend_from_slice(piece);
                while let Some(message) = decoder.next(&mut buffer).unwrap() {
                    messages.push(message);
                }
            }
            assert!(messages == expected, "in pieces of {step}");
        }
    }

    #[test]
    fn what_a_client_may_not_send_is_refused() {
        let mut too_long = client(0x01, &vec![b'x'; MAX_MESSAGE]);
        too_long.extend(client(0x80, b"x"));
        for (bytes, expected) in [
            (vec![0x81, 0x01, b'x'], CloseReason::PROTOCOL),  // not masked
            (client(0xC1, b"x"), CloseReason::PROTOCOL),      // compressed
            (client(0x83, b"x"), CloseReason::PROTOCOL),      // unknown opcode
            (client(0x80, b"x"), CloseReason::PROTOCOL),      // nothing to continue
            (client(0x09, b"x"), CloseReason::PROTOCOL),      // a control frame in pieces
            (client(0x89, &[0; 126]), CloseReason::PROTOCOL), // a long control frame
            (
                [client(0x01, b"x"), client(0x81, b"y")].concat(),
                CloseReason::PROTOCOL,
            ),
            (client(0x81, &[0xFF, 0xFE]), CloseReason::NOT_UTF8),
            (client(0x81, &vec![b'x'; MAX_MESSAGE + 1]), CloseReason::TOO_BIG),
            (
                vec![0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                CloseReason::TOO_BIG,
            ),
            (too_long, CloseReason::TOO_BIG),
        ] {
            assert_eq!(
                decode(&bytes),
                Err(expected),
                "{:02x?}",
                &bytes[..bytes.len().min(12)]
            );
        }
    }

    #[test]
    fn lengths_are_written_in_their_shortest_form() {
        for (length, head) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            assert_eq!(text(&[&vec![b'x'; length]]).len(), length + head);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
