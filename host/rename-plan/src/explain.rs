//! Explanation of one name: what each part of it was taken for, what each token of the template became, and the result.

use qm_media_names::naming::member::Beside;
use qm_media_names::naming::tag;
use qm_release::Decision;

use crate::file;
use crate::plan::Wish;
use crate::read::{self, Above, Origin, Place, Reading};
use crate::render::{Refusal, render};
use crate::token::Token;

/// Token of a template, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub token: Token,
    /// `None`: the name does not say it, and nothing stands there.
    pub value: Option<String>,
    pub from: Option<Origin>,
    /// True if the template has it.
    pub is_used: bool,
}

/// Explanation of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub reading: Reading,
    /// Template that was chosen.
    pub template: String,
    /// Path below the library's directory.
    pub destination: Result<String, Refusal>,
    /// Tokens of the template in their order, then others that have a value.
    pub tokens: Vec<Explained>,
    /// Parts of the name of the file, in their order.
    pub parts: Vec<Decision>,
}

/// Explains the name of one file, with the folders above it.
pub fn explain(wish: &Wish, path: &str) -> Explanation {
    let (_, name) = file::place(path);
    let beside = Beside::read_names(file::place(path).0, std::iter::once(name));
    let reading = read::read(path, wish.kind, &beside, Place::Elsewhere, &mut Above::default());
    let template = wish.template(reading.content);
    let (stem, ext) = file::split(name);
    let ext = ext.to_lowercase();
    let destination = render(template, &reading, wish.preset, None, &ext).map(|rendered| rendered.path(&ext));
    let used = template.tokens();
    let others = reading
        .values
        .keys()
        .copied()
        .filter(|token| !used.contains(token));
    let tokens = used
        .iter()
        .copied()
        .chain(others)
        .map(|token| explain_token(token, &reading, &ext, used.contains(&token)))
        .collect();
    Explanation {
        template: template.text().to_owned(),
        destination,
        tokens,
        parts: qm_release::explain(&tag::split(stem).0),
        reading,
    }
}

fn explain_token(token: Token, reading: &Reading, ext: &str, is_used: bool) -> Explained {
    if token == Token::Ext {
        return Explained {
            token,
            value: Some(ext.to_owned()),
            from: Some(Origin {
                place: "name",
                token: Some(ext.to_owned()),
                rule: "the ending of the file",
            }),
            is_used,
        };
    }
    let value = reading.values.get(&token);
    Explained {
        token,
        value: value.map(|value| value.text.clone()),
        from: value.map(|value| value.from.clone()),
        is_used,
    }
}
