//! A picture with its caption, as a form with a file in it. No bindings, so it is tested natively.

/// Bytes of a picture.
const MAX: usize = 8 << 20;
/// Stands between the parts. A picture that holds it is not sent.
const BOUNDARY: &str = "quartermaster-7f3a91c2e5d84b06";

/// The media type of the form.
pub fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// Extension and media type of a picture, by its first bytes; the type that it claims to be does not count.
fn kind(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some(("png", "image/png")),
        [0xFF, 0xD8, 0xFF, ..] => Some(("jpg", "image/jpeg")),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(("webp", "image/webp")),
        _ => None,
    }
}

/// The form; none when the picture is none that Telegram takes.
pub fn form(fields: &[(&str, &str)], picture: &[u8]) -> Option<Vec<u8>> {
    let (ending, media_type) = kind(picture)?;
    let boundary = BOUNDARY.as_bytes();
    if picture.len() > MAX || picture.windows(boundary.len()).any(|part| part == boundary) {
        return None;
    }
    let mut body = Vec::with_capacity(picture.len() + 4096);
    for (name, value) in fields {
        let part =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"poster.{ending}\"\r\n\
         Content-Type: {media_type}\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(picture);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_known_by_their_bytes() {
        for (bytes, ending) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], "poster.png"),
            (b"\xFF\xD8\xFF\xE0....", "poster.jpg"),
            (b"RIFF....WEBPVP8 ", "poster.webp"),
        ] {
            let form = form(&[("chat_id", "-5"), ("caption", "ä & b")], bytes).unwrap_or_default();
            let text = String::from_utf8_lossy(&form);
            assert!(text.contains(&format!("filename=\"{ending}\"")), "{text}");
            assert!(text.contains("name=\"chat_id\"\r\n\r\n-5\r\n") && text.contains("ä & b"));
            assert!(text.ends_with(&format!("--{BOUNDARY}--\r\n")));
            assert!(form.windows(bytes.len()).any(|part| part == bytes));
        }
        let mut large = b"\xFF\xD8\xFF".to_vec();
        large.resize(MAX + 1, 0);
        let breaks_out = [b"\xFF\xD8\xFF\r\n--", BOUNDARY.as_bytes()].concat();
        for bad in [&b""[..], b"GIF89a", b"<svg>", &large, &breaks_out] {
            assert_eq!(form(&[], bad), None);
        }
    }
}
