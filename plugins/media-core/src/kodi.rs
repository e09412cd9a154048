//! Kodi: JSON-RPC over HTTP, with a user name and a password where its owner set one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::access::Access;
use crate::answer::{Net, Request};
use crate::json::text;
use crate::model::{Abilities, About, Extent, Fault, Product};

const NAME: &str = "Kodi";

/// Kodi.
pub struct Kodi;

fn call(access: &Access, net: &dyn Net, method: &str, params: Value) -> Result<Value, Fault> {
    let mut body = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    if !params.is_null() {
        body["params"] = params;
    }
    let mut request = Request::post(access.url("/jsonrpc")).json(body);
    if access.username.is_some() || access.password.is_some() {
        let of = |field: &Option<String>| field.clone().unwrap_or_default();
        let pair = format!("{}:{}", of(&access.username), of(&access.password));
        request = request.header("Authorization", format!("Basic {}", STANDARD.encode(pair)));
    }
    let answer = net.ask(request)?.good(NAME)?.json(NAME)?;
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let why = text(error, "message").unwrap_or_else(|| "an error without a text".to_owned());
        return Err(Fault::Unparsable(format!("Kodi answered to {method}: {why}")));
    }
    Ok(answer.get("result").cloned().unwrap_or_default())
}

impl Product for Kodi {
    fn id(&self) -> &'static str {
        "kodi"
    }

    fn label(&self) -> &'static str {
        NAME
    }

    fn platform(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            recently_added: true,
            refresh: true,
            refresh_path: true,
            ..Abilities::default()
        }
    }

    fn schema(&self) -> &'static str {
        r#"{
  "type": "object",
  "properties": {
    "baseUrl": {"type": "string", "title": "URL", "format": "uri", "x-grant": "http-url", "description": "E.g. http://kodi:8080"},
    "username": {"type": "string", "title": "User name"},
    "password": {"type": "string", "title": "Password", "writeOnly": true},
    "timeoutMs": {"type": "integer"}
  }
}"#
    }

    fn check(&self, _: &Access) -> Result<(), Fault> {
        Ok(())
    }

    fn test(&self, access: &Access, net: &dyn Net) -> Result<About, Fault> {
        match call(access, net, "JSONRPC.Ping", Value::Null)?.as_str() {
            Some("pong") => Ok(About::default()),
            _ => Err(Fault::Unparsable(
                "Kodi was expected to answer \"pong\", and answered something else".to_owned(),
            )),
        }
    }

    fn refresh(&self, access: &Access, extent: &Extent, net: &dyn Net) -> Result<(), Fault> {
        let params = match &extent.path {
            Some(path) => json!({ "directory": path, "showdialogs": false }),
            None => Value::Null,
        };
        call(access, net, "VideoLibrary.Scan", params).map(|_| ())
    }
}
