//! A bencode writer for tests: they make their own torrents and do not trust the reader under test to do it.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    /// Written in the order of its keys, as the format wants it.
    Dict(BTreeMap<Vec<u8>, Value>),
}

impl Value {
    pub fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    pub fn dict<const N: usize>(entries: [(&str, Value); N]) -> Value {
        Value::Dict(
            entries
                .into_iter()
                .map(|(key, value)| (key.as_bytes().to_vec(), value))
                .collect(),
        )
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let string = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.extend_from_slice(format!("{}:", bytes.len()).as_bytes());
            out.extend_from_slice(bytes);
        };
        match self {
            Value::Int(n) => out.extend_from_slice(format!("i{n}e").as_bytes()),
            Value::Bytes(bytes) => string(out, bytes),
            Value::List(items) => {
                out.push(b'l');
                for item in items {
                    item.write(out);
                }
                out.push(b'e');
            }
            Value::Dict(entries) => {
                out.push(b'd');
                for (key, value) in entries {
                    string(out, key);
                    value.write(out);
                }
                out.push(b'e');
            }
        }
    }
}
