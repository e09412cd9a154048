//! A small reply as a tree of values.

use base64::Engine as _;

use super::lexer::{Kind, Lexer, Step, SyntaxError, Token};
use super::text;
use crate::error::{Error, Fault};

/// A value of a reply. Kinds are those of the wire; rTorrent is free with them, so readers coerce.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Int(i64),
    Double(f64),
    Bytes(Vec<u8>),
    Nil,
    Array(Vec<Value>),
    Struct(Vec<(String, Value)>),
}

pub type Response = Result<Value, Fault>;

impl Value {
    /// A number, also one that came as text; 0 when it is none.
    pub fn int(&self) -> i64 {
        match self {
            Value::Int(number) => *number,
            Value::Double(number) => *number as i64,
            Value::Text(text) => {
                let text = text.trim();
                text.parse()
                    .ok()
                    .or_else(|| text.parse::<f64>().ok().map(|number| number as i64))
                    .unwrap_or(0)
            }
            Value::Bytes(_) | Value::Nil | Value::Array(_) | Value::Struct(_) => 0,
        }
    }

    /// A number that cannot be negative; 0 when it is, or is none.
    pub fn uint(&self) -> u64 {
        u64::try_from(self.int()).unwrap_or(0)
    }

    pub fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Int(number) => number.to_string(),
            Value::Double(number) => number.to_string(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Nil | Value::Array(_) | Value::Struct(_) => String::new(),
        }
    }

    pub fn array(&self) -> &[Value] {
        match self {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    pub fn member(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Struct(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The fault a struct describes, as replies and parts of `system.multicall` do.
    pub fn as_fault(&self) -> Option<Fault> {
        let code = self.member("faultCode")?.int();
        let text = self.member("faultString").map(Value::text).unwrap_or_default();
        Some(Fault { code, text })
    }
}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Self {
        Error::Protocol(format!(
            "the answer is not XML-RPC: {} at byte {}",
            error.what, error.at
        ))
    }
}

/// A tree of more values than this would cost more memory than a guest has: the longest legitimate one lists the files
/// of a torrent.
const MAX_VALUES: usize = 600_000;

/// Reads a whole reply.
pub fn parse_response(xml: &[u8]) -> Result<Response, Error> {
    let mut tree = Tree {
        lexer: Lexer::response(),
        xml,
        values: 0,
    };
    let first = tree.token()?;
    if first == Token::Fault {
        let start = tree.token()?;
        let fault = tree.value(start)?.as_fault();
        return fault
            .map(Err)
            .ok_or_else(|| Error::Protocol("a fault that names none".to_owned()));
    }
    let value = tree.value(first)?;
    match tree.token()? {
        Token::End => Ok(Ok(value)),
        _ => Err(Error::Protocol("more than one value in the answer".to_owned())),
    }
}

struct Tree<'a> {
    lexer: Lexer,
    xml: &'a [u8],
    values: usize,
}

impl Tree<'_> {
    fn token(&mut self) -> Result<Token, Error> {
        match self.lexer.next(self.xml)? {
            Step::Token(token) => Ok(token),
            Step::More => Err(Error::Protocol(
                "the answer ends before it is complete".to_owned(),
            )),
        }
    }

    fn slice(&self, range: std::ops::Range<usize>) -> &[u8] {
        self.xml.get(range).unwrap_or_default()
    }

    /// The value that begins with `start`. The lexer bounds the depth, so recursion is bounded too.
    fn value(&mut self, start: Token) -> Result<Value, Error> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Error::Protocol(
                "more values in the answer than any question has".to_owned(),
            ));
        }
        match start {
            Token::Scalar(kind, range) => Ok(scalar(kind, self.slice(range))),
            Token::ArrayStart => {
                let mut items = Vec::new();
                loop {
                    match self.token()? {
                        Token::ArrayEnd => return Ok(Value::Array(items)),
                        next => items.push(self.value(next)?),
                    }
                }
            }
            Token::StructStart => {
                let mut members = Vec::new();
                loop {
                    match self.token()? {
                        Token::StructEnd => return Ok(Value::Struct(members)),
                        Token::Name(range) => {
                            let name = text(self.slice(range)).into_owned();
                            let start = self.token()?;
                            members.push((name, self.value(start)?));
                        }
                        _ => return Err(Error::Protocol("a struct without names".to_owned())),
                    }
                }
            }
            Token::ArrayEnd | Token::StructEnd | Token::Name(_) | Token::Fault | Token::End => Err(
                Error::Protocol("the answer has no value where one belongs".to_owned()),
            ),
        }
    }
}

fn scalar(kind: Kind, raw: &[u8]) -> Value {
    let content = text(raw);
    match kind {
        Kind::Text => Value::Text(content.into_owned()),
        Kind::Int | Kind::Bool => Value::Int(Value::Text(content.into_owned()).int()),
        Kind::Double => Value::Double(content.trim().parse().unwrap_or(0.0)),
        Kind::Base64 => {
            let compact: String = content.split_ascii_whitespace().collect();
            Value::Bytes(
                base64::engine::general_purpose::STANDARD
                    .decode(compact)
                    .unwrap_or_default(),
            )
        }
        Kind::Nil => Value::Nil,
    }
}
