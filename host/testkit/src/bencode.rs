//! A bencode writer: tests make their own torrents and do not trust the reader under test to do it.

#[derive(Clone, Debug)]
pub enum Value {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    /// Written in the order given; callers sort.
    Dict(Vec<(Vec<u8>, Value)>),
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
        match self {
            Value::Int(n) => format!("i{n}e").into_bytes(),
            Value::Bytes(bytes) => [format!("{}:", bytes.len()).as_bytes(), bytes].concat(),
            Value::List(items) => [
                b"l".to_vec(),
                items.iter().flat_map(Value::encode).collect(),
                b"e".to_vec(),
            ]
            .concat(),
            Value::Dict(entries) => {
                let entries = entries
                    .iter()
                    .flat_map(|(key, value)| [Value::Bytes(key.clone()).encode(), value.encode()].concat());
                [b"d".to_vec(), entries.collect(), b"e".to_vec()].concat()
            }
        }
    }
}
