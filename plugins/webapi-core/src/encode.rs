//! Bodies and queries as the Web API takes them: urlencoded forms, and multipart for uploads.

use std::fmt::Write;

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub(crate) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}"); // writing to a String cannot fail
        }
    }
    out
}

/// `a=b&c=d`, for a query or a form. A blank is `%20`, which the client takes in both.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(&percent(name));
        out.push('=');
        out.push_str(&percent(value));
    }
    out
}

/// A multipart form and the boundary its parts are kept apart by.
pub(crate) struct Multipart {
    boundary: String,
    body: Vec<u8>,
}

impl Multipart {
    /// New form. `content`: data of its parts; the boundary is chosen so that it does not occur in them.
    pub(crate) fn new(content: &[&[u8]]) -> Self {
        let mut boundary = String::from("quartermaster-0");
        let mut n = 0u32;
        while content
            .iter()
            .any(|part| memchr::memmem::find(part, boundary.as_bytes()).is_some())
        {
            n += 1;
            boundary = format!("quartermaster-{n}");
        }
        Multipart {
            boundary,
            body: Vec::new(),
        }
    }

    pub(crate) fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    pub(crate) fn field(&mut self, name: &str, value: &str) {
        self.part(&format!("form-data; name=\"{name}\""), None, value.as_bytes());
    }

    pub(crate) fn file(&mut self, name: &str, filename: &str, content_type: &str, bytes: &[u8]) {
        let disposition = format!("form-data; name=\"{name}\"; filename=\"{filename}\"");
        self.part(&disposition, Some(content_type), bytes);
    }

    fn part(&mut self, disposition: &str, content_type: Option<&str>, bytes: &[u8]) {
        let mut head = format!("--{}\r\nContent-Disposition: {disposition}\r\n", self.boundary);
        if let Some(content_type) = content_type {
            let _ = write!(head, "Content-Type: {content_type}\r\n"); // writing to a String cannot fail
        }
        head.push_str("\r\n");
        self.body.reserve(head.len() + bytes.len() + 64);
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.body
            .extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_escape_what_means_something() {
        assert_eq!(
            form(&[("hashes", "a|b"), ("name", "x y&z=ü%+")]),
            "hashes=a%7Cb&name=x%20y%26z%3D%C3%BC%25%2B"
        );
        assert_eq!(form(&[]), "");
    }

    #[test]
    fn a_boundary_never_occurs_in_what_it_separates() {
        let content = b"--quartermaster-0\r\nquartermaster-1";
        let mut body = Multipart::new(&[content]);
        assert_eq!(
            body.content_type(),
            "multipart/form-data; boundary=quartermaster-2"
        );
        body.field("savepath", "/data");
        body.file("torrents", "file.torrent", "application/x-bittorrent", b"d1:ae");
        let text = String::from_utf8(body.finish()).expect("all of it is text here");
        assert_eq!(
            text,
            "--quartermaster-2\r\nContent-Disposition: form-data; name=\"savepath\"\r\n\r\n/data\r\n\
             --quartermaster-2\r\nContent-Disposition: form-data; name=\"torrents\"; filename=\"file.torrent\"\r\n\
             Content-Type: application/x-bittorrent\r\n\r\nd1:ae\r\n--quartermaster-2--\r\n"
        );
    }
}
