//! Images, by the numbers that TheTVDB has for their kinds.

use provider_model::json::{list, number, text};
use provider_model::{Image, ImageKind, Picture};
use serde_json::Value;

use crate::words;

/// Base URL of images that are given as a path; they need no key.
const IMAGES: &str = "https://artworks.thetvdb.com";
/// The most of a kind.
const MOST: usize = 100;

/// The URL of an image: absolute, or a path of [`IMAGES`].
fn url(value: &Value, name: &str) -> Option<String> {
    let said = text(value, name)?;
    let plain = |text: &str| {
        !text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\' | '@'))
    };
    if said.len() > 500 || !plain(&said) {
        return None;
    }
    if said.starts_with("https://") {
        return Some(said);
    }
    let path = said.trim_start_matches('/');
    (!path.is_empty() && !said.contains("://") && !said.starts_with("//") && !said.contains(".."))
        .then(|| format!("{IMAGES}/{path}"))
}

/// The image whose URL stands in a member.
pub fn picture(value: &Value, name: &str) -> Option<Picture> {
    Some(Picture {
        url: url(value, name)?,
        preview: url(value, "thumbnail"),
    })
}

/// Image kind of an artwork type number of TheTVDB; icons, actors' and seasons' images are left out.
fn kind(number: u32) -> Option<ImageKind> {
    match number {
        2 | 14 => Some(ImageKind::Poster),
        3 | 15 => Some(ImageKind::Backdrop),
        1 | 16 => Some(ImageKind::Banner),
        22..=25 => Some(ImageKind::Logo),
        _ => None,
    }
}

/// The images of a title: in the language that was asked for, then without text or in another one, each by its score.
pub fn images(document: &Value, language: Option<&str>) -> Vec<Image> {
    let wanted = language
        .and_then(words::language)
        .and_then(|word| words::tag(&word));
    let data = document.get("data").unwrap_or(&Value::Null);
    let all = list(data, "artworks").iter();
    let mut scored: Vec<(u32, Image)> = all
        .filter_map(|value| Some((number(value, "score").unwrap_or(0), image(value)?)))
        .collect();
    let order = |kind| match kind {
        ImageKind::Poster => 0,
        ImageKind::Backdrop => 1,
        ImageKind::Logo => 2,
        ImageKind::Banner => 3,
    };
    scored.sort_by_key(|(score, image)| (order(image.kind), image.language != wanted, u32::MAX - score));
    let mut kept = Vec::new();
    for (_, image) in scored {
        if kept
            .iter()
            .filter(|other: &&Image| other.kind == image.kind)
            .count()
            < MOST
        {
            kept.push(image);
        }
    }
    kept
}

fn image(value: &Value) -> Option<Image> {
    Some(Image {
        kind: kind(number(value, "type")?)?,
        picture: picture(value, "image")?,
        width: number(value, "width"),
        height: number(value, "height"),
        language: text(value, "language").and_then(|word| words::tag(&word)),
        rating: None,
        votes: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls_are_absolute_and_plain() {
        let of = |said: Value| url(&json!({ "image": said }), "image");
        let full = "https://artworks.thetvdb.com/banners/posters/1.jpg";
        assert_eq!(of(json!(full)).as_deref(), Some(full));
        assert_eq!(of(json!("/banners/posters/1.jpg")).as_deref(), Some(full));
        assert_eq!(of(json!("banners/posters/1.jpg")).as_deref(), Some(full));
        for bad in [
            json!(null),
            json!(""),
            json!("/"),
            json!("//evil.test/x"),
            json!("javascript://x"),
            json!("http://h/x.jpg"),
            json!("https://h/x?key=1"),
            json!("https://u@h/x"),
            json!("/../x"),
            json!("/a b"),
        ] {
            assert_eq!(of(bad.clone()), None, "{bad}");
        }
    }

    #[test]
    fn the_language_that_was_asked_for_comes_first() {
        let document = json!({ "data": { "artworks": [
            { "type": 3, "image": "/b.jpg", "score": 9 },
            { "type": 2, "image": "/en.jpg", "language": "eng", "score": 5, "width": 680, "height": 1000, "thumbnail": "/en_t.jpg" },
            { "type": 2, "image": "/better.jpg", "language": "eng", "score": 100_012 },
            { "type": 2, "image": "/de.jpg", "language": "deu", "score": 1 },
            { "type": 7, "image": "/season.jpg" },
            { "type": 23, "image": "/logo.png" },
            { "type": 1, "image": "/banner.jpg" },
            { "type": 2 }, "odd",
        ] } });
        let told = |language| -> Vec<String> {
            images(&document, language)
                .into_iter()
                .map(|image| image.picture.url.rsplit('/').next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            told(Some("de-AT")),
            [
                "de.jpg",
                "better.jpg",
                "en.jpg",
                "b.jpg",
                "logo.png",
                "banner.jpg"
            ]
        );
        assert_eq!(told(Some("en"))[..3], ["better.jpg", "en.jpg", "de.jpg"]);
        let second = &images(&document, Some("en"))[1];
        assert_eq!(
            (second.width, second.language.as_deref()),
            (Some(680), Some("en"))
        );
        assert_eq!(
            second.picture.preview.as_deref(),
            Some("https://artworks.thetvdb.com/en_t.jpg")
        );
        assert!(images(&json!({ "data": [] }), None).is_empty());
    }
}
