//! XML-RPC as a test speaks it to rTorrent, over SCGI: written apart from the plugin, so that the two can disagree.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where rTorrent listens for SCGI.
#[derive(Clone, Debug)]
pub enum ScgiAddress {
    Tcp(u16),
    Unix(std::path::PathBuf),
}

/// A parameter of a call.
pub enum Param<'a> {
    Text(&'a str),
    Int(i64),
    Bytes(&'a [u8]),
}

/// Calls `method`; `Err` is a fault's text or what went wrong on the way.
pub async fn call(address: &ScgiAddress, method: &str, params: &[Param<'_>]) -> Result<Value, String> {
    let body = encode(method, params);
    let headers = format!(
        "CONTENT_LENGTH\0{}\0SCGI\x001\0REQUEST_METHOD\0POST\0",
        body.len()
    );
    let request = format!("{}:{headers},{body}", headers.len());
    let reply = match address {
        ScgiAddress::Tcp(port) => match tokio::net::TcpStream::connect(("127.0.0.1", *port)).await {
            Ok(stream) => exchange(stream, &request).await,
            Err(error) => Err(error),
        },
        ScgiAddress::Unix(path) => match tokio::net::UnixStream::connect(path).await {
            Ok(stream) => exchange(stream, &request).await,
            Err(error) => Err(error),
        },
    };
    let reply = reply.map_err(|error| error.to_string())?;
    let xml = reply
        .find("<?xml")
        .map(|at| &reply[at..])
        .ok_or_else(|| format!("no XML in: {reply}"))?;
    decode(xml)
}

async fn exchange<S>(mut stream: S, request: &str) -> std::io::Result<String>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    stream.write_all(request.as_bytes()).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

fn encode(method: &str, params: &[Param<'_>]) -> String {
    use base64::Engine as _;
    let params: String = params
        .iter()
        .map(|param| match param {
            Param::Text(text) => format!(
                "<string>{}</string>",
                text.replace('&', "&amp;").replace('<', "&lt;")
            ),
            Param::Int(n) => format!("<i8>{n}</i8>"),
            Param::Bytes(bytes) => format!(
                "<base64>{}</base64>",
                base64::engine::general_purpose::STANDARD.encode(bytes)
            ),
        })
        .map(|value| format!("<param><value>{value}</value></param>"))
        .collect();
    format!(
        "<?xml version=\"1.0\"?><methodCall><methodName>{method}</methodName><params>{params}</params></methodCall>"
    )
}

fn decode(xml: &str) -> Result<Value, String> {
    let start = xml.find("<value>").ok_or_else(|| format!("no value in: {xml}"))?;
    let mut reader = Reader { rest: &xml[start..] };
    let value = reader.value().ok_or_else(|| format!("unreadable: {xml}"))?;
    if xml.contains("<fault>") {
        return Err(value["faultString"].as_str().unwrap_or("fault").to_owned());
    }
    Ok(value)
}

/// Reads what xmlrpc-c writes: no attributes, no comments, no CDATA.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn eat(&mut self, tag: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(tag)?;
        Some(())
    }

    fn text_until(&mut self, tag: &str) -> Option<&'a str> {
        let end = self.rest.find(tag)?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + tag.len()..];
        Some(text)
    }

    fn value(&mut self) -> Option<Value> {
        self.eat("<value>")?;
        let typed = self.rest.trim_start().strip_prefix('<')?;
        let tag = &typed[..typed.find('>')?];
        let value = match tag {
            "array" => self.array()?,
            "struct" => self.record()?,
            "string/" => {
                self.eat("<string/>")?;
                Value::from("")
            }
            tag => {
                self.eat(&format!("<{tag}>"))?;
                let text = self.text_until(&format!("</{tag}>"))?;
                match tag {
                    "i4" | "i8" | "int" | "boolean" => Value::from(text.parse::<i64>().ok()?),
                    "double" => Value::from(text.parse::<f64>().ok()?),
                    _ => Value::from(
                        text.replace("&lt;", "<")
                            .replace("&gt;", ">")
                            .replace("&amp;", "&"),
                    ),
                }
            }
        };
        self.eat("</value>")?;
        Some(value)
    }

    fn array(&mut self) -> Option<Value> {
        self.eat("<array>")?;
        self.eat("<data>")?;
        let mut items = Vec::new();
        while self.rest.trim_start().starts_with("<value>") {
            items.push(self.value()?);
        }
        self.eat("</data>")?;
        self.eat("</array>")?;
        Some(Value::from(items))
    }

    fn record(&mut self) -> Option<Value> {
        self.eat("<struct>")?;
        let mut fields = serde_json::Map::new();
        while self.rest.trim_start().starts_with("<member>") {
            self.eat("<member>")?;
            self.eat("<name>")?;
            let name = self.text_until("</name>")?.to_owned();
            fields.insert(name, self.value()?);
            self.eat("</member>")?;
        }
        self.eat("</struct>")?;
        Some(Value::from(fields))
    }
}
