//! Images: paths of TMDB as URLs that anybody may fetch.

use serde_json::Value;

use crate::parts::rating;
use provider_model::json::{list, number, text};
use provider_model::{Image, ImageKind, Picture};

/// Base URL of images; it needs no key.
const IMAGES: &str = "https://image.tmdb.org/t/p";
/// The most of a kind.
const MOST: usize = 100;

/// Widths of previews, as TMDB names them.
#[derive(Clone, Copy)]
pub enum Shape {
    Poster,
    Backdrop,
    Still,
    Profile,
    Logo,
}

impl Shape {
    fn width(self) -> &'static str {
        match self {
            Shape::Poster => "w342",
            Shape::Backdrop => "w780",
            Shape::Still => "w300",
            Shape::Profile => "w185",
            Shape::Logo => "w500",
        }
    }
}

/// The image whose path stands in a member.
pub fn picture(value: &Value, name: &str, shape: Shape) -> Option<Picture> {
    let path = text(value, name)?;
    let file = path.strip_prefix('/')?;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if file.is_empty() || file.len() > 100 || !file.bytes().all(sound) || file.starts_with('.') {
        return None;
    }
    Some(Picture {
        url: format!("{IMAGES}/original/{file}"),
        preview: Some(format!("{IMAGES}/{}/{file}", shape.width())),
    })
}

/// The images of a title: in the language that was asked for, then without text or in another one, each by its votes.
pub fn images(document: &Value, language: Option<&str>) -> Vec<Image> {
    let wanted = language.map(|language| {
        let main = language.split(['-', '_']).next().unwrap_or(language);
        main.to_ascii_lowercase()
    });
    let mut all = Vec::new();
    for (name, kind, shape) in [
        ("posters", ImageKind::Poster, Shape::Poster),
        ("backdrops", ImageKind::Backdrop, Shape::Backdrop),
        ("logos", ImageKind::Logo, Shape::Logo),
    ] {
        let mut of_kind: Vec<Image> = list(document, name)
            .iter()
            .filter_map(|value| image(value, kind, shape))
            .collect();
        // The order of TMDB is that of its votes.
        of_kind.sort_by_key(|image| image.language != wanted);
        of_kind.truncate(MOST);
        all.append(&mut of_kind);
    }
    all
}

fn image(value: &Value, kind: ImageKind, shape: Shape) -> Option<Image> {
    let (rating, votes) = rating(value);
    Some(Image {
        kind,
        picture: picture(value, "file_path", shape)?,
        width: number(value, "width"),
        height: number(value, "height"),
        language: text(value, "iso_639_1"),
        rating,
        votes,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_paths_of_images_become_urls() {
        let of = |path: Value| picture(&json!({ "p": path }), "p", Shape::Poster);
        assert_eq!(
            of(json!("/tide.jpg")),
            Some(Picture {
                url: "https://image.tmdb.org/t/p/original/tide.jpg".to_owned(),
                preview: Some("https://image.tmdb.org/t/p/w342/tide.jpg".to_owned()),
            })
        );
        for bad in [
            json!(null),
            json!(1),
            json!(""),
            json!("/"),
            json!("tide.jpg"),
            json!("/a/b.jpg"),
            json!("/../x.jpg"),
            json!("//evil.test/x.jpg"),
            json!("/a?b"),
            json!("/a b.jpg"),
        ] {
            assert_eq!(of(bad.clone()), None, "{bad}");
        }
    }

    #[test]
    fn the_language_that_was_asked_for_comes_first() {
        let document = json!({
            "posters": [
                { "file_path": "/en.jpg", "iso_639_1": "en", "width": 2000, "height": 3000, "vote_average": 5.4, "vote_count": 12 },
                { "file_path": "/none.jpg", "iso_639_1": null },
                { "file_path": "/de.jpg", "iso_639_1": "de" },
                { "iso_639_1": "de" },
                "odd",
            ],
            "backdrops": [{ "file_path": "/b.jpg" }],
            "logos": {},
        });
        let told = |language: Option<&str>| -> Vec<String> {
            let all = images(&document, language).into_iter();
            all.map(|image| image.picture.url.rsplit('/').next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(told(Some("de-AT")), ["de.jpg", "en.jpg", "none.jpg", "b.jpg"]);
        assert_eq!(told(None), ["none.jpg", "en.jpg", "de.jpg", "b.jpg"]);
        let first = &images(&document, Some("en"))[0];
        assert_eq!(
            (first.width, first.height, first.rating, first.votes),
            (Some(2000), Some(3000), Some(5.4), Some(12))
        );
    }
}
