//! Property of a configuration by which its server's certificate is trusted: the host's own, in the schema of whatever reaches a
//! URL that somebody configures. Plugins neither declare nor see it, since the TLS is the host's.

use qm_net::{CERTIFICATE, MAX_CERTIFICATE};
use serde_json::{Map, Value, json};

/// Mark of a property that the host put into a schema.
const HOSTS: &str = "x-host";

/// Form of a SHA-256 as programs print it, or the beginning of a certificate in PEM.
const PATTERN: &str = "^\\s*(?:[Ss][Hh][Aa]-?256[:= ]*)?(?:[0-9A-Fa-f]{2}[: -]?){32}\\s*$|^\\s*-----BEGIN CERTIFICATE-----|^\\s*$";

/// The schema with the property, where one of its properties is granted as a URL and the plugin has no property of that name.
pub fn with_certificate(mut schema: Value) -> Value {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let Some(properties) = properties else {
        return schema;
    };
    let is_url = |property: &Value| property.get("x-grant").and_then(Value::as_str) == Some("http-url");
    if properties.values().any(is_url) && !properties.contains_key(CERTIFICATE) {
        properties.insert(
            CERTIFICATE.to_owned(),
            json!({
                "type": "string",
                "title": "Trusted certificate",
                "description": "For https with a certificate that the server's machine does not trust: its SHA-256, as a test shows it, or the certificate of its authority in PEM. No other one is trusted then.",
                "maxLength": MAX_CERTIFICATE,
                "pattern": PATTERN,
                "x-trust": true,
                HOSTS: true,
            }),
        );
    }
    schema
}

/// A configuration as the text that plugins take: without what is the host's.
pub fn text_for_plugin(schema: &Value, config: &Map<String, Value>) -> String {
    let is_hosts = schema
        .pointer(&format!("/properties/{CERTIFICATE}/{HOSTS}"))
        .is_some_and(|mark| mark == true);
    let mut config = config.clone();
    if is_hosts {
        config.remove(CERTIFICATE);
    }
    Value::Object(config).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_property_is_the_hosts_where_a_url_is_configured() {
        let url = json!({"type": "object", "properties": {"url": {"type": "string", "x-grant": "http-url"}}});
        let schema = with_certificate(url);
        let config = json!({"url": "https://nas", "tlsCertificate": "ab"});
        let config = config.as_object().unwrap();
        assert_eq!(schema["properties"][CERTIFICATE]["x-trust"], true);
        assert_eq!(text_for_plugin(&schema, config), r#"{"url":"https://nas"}"#);
        for own in [
            json!({"type": "object", "properties": {"socket": {"x-grant": "unix-path"}}}),
            json!({"type": "object", "properties": {
                "url": {"x-grant": "http-url"}, "tlsCertificate": {"type": "integer"},
            }}),
            json!({"type": "object"}),
        ] {
            let schema = with_certificate(own.clone());
            assert_eq!(schema, own);
            assert!(
                text_for_plugin(&schema, config).contains("tlsCertificate"),
                "{own}"
            );
        }
    }
}
