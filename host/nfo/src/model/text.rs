//! Text of a note, as Kodi and Jellyfin read it.

use qm_ports::notes::NotedItem;

use super::NoteKind;
use super::keep::Kept;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>";

/// An element of a note: its name, and its text with the tags around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    pub name: &'static str,
    /// Type of an id.
    pub of_type: Option<&'static str>,
    pub text: String,
}

/// Elements about an item, in their order. What is not known is left out.
pub fn list_elements(item: &NotedItem, kind: NoteKind) -> Vec<Element> {
    let facts = &item.facts;
    let mut list = List(Vec::new());
    let own = facts.title.as_deref().filter(|title| !title.trim().is_empty());
    list.add("title", Some(own.unwrap_or(&item.title)));
    list.add("originaltitle", facts.original_title.as_deref());
    list.add("sorttitle", facts.sort_title.as_deref());
    let rating = facts.rating.filter(|rating| rating.is_finite() && *rating > 0.0);
    list.add(
        "rating",
        rating
            .map(|rating| format!("{rating:.3}"))
            .map(shortened)
            .as_deref(),
    );
    list.add("year", number(facts.year.or(item.year)).as_deref());
    list.add("plot", facts.overview.as_deref());
    list.add("runtime", number(facts.runtime).as_deref());
    list.add("mpaa", facts.certification.as_deref());
    let day = if kind == NoteKind::Episode {
        "aired"
    } else {
        "premiered"
    };
    list.add(day, facts.release_date.as_deref());
    list.add_all("tag", &facts.tags);
    if kind == NoteKind::Episode {
        list.add("season", number(item.season).as_deref());
        list.add("episode", number(item.episode).as_deref());
    }
    list.add_all("genre", &facts.genres);
    list.add_all("studio", &facts.studios);
    list.add_all("director", &facts.directors);
    list.add_all("credits", &facts.writers);
    for (provider, id) in &item.ids {
        list.add_id(provider, id);
    }
    for (name, role) in &facts.cast {
        list.add_actor(name, role.as_deref());
    }
    list.0
}

struct List(Vec<Element>);

impl List {
    fn add(&mut self, name: &'static str, text: Option<&str>) {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
            return;
        };
        self.push(name, None, format!("<{name}>{}</{name}>", escaped(text)));
    }

    fn add_all(&mut self, name: &'static str, texts: &[String]) {
        for text in texts {
            self.add(name, Some(text));
        }
    }

    /// Adds the id at a provider, under the name that is known for it.
    fn add_id(&mut self, provider: &str, id: &str) {
        let (kind, is_default) = match provider {
            "titledb" => ("imdb", true),
            "provider_a" => ("tmdb", true),
            "provider_b" => ("tvdb", false),
            _ => return,
        };
        let default = if is_default { " default=\"true\"" } else { "" };
        let id = escaped(id.trim());
        if !id.is_empty() {
            self.push(
                "uniqueid",
                Some(kind),
                format!("<uniqueid type=\"{kind}\"{default}>{id}</uniqueid>"),
            );
        }
    }

    fn add_actor(&mut self, name: &str, role: Option<&str>) {
        let name = escaped(name.trim());
        if name.is_empty() {
            return;
        }
        let role = role.map(str::trim).filter(|role| !role.is_empty());
        let role = role.map(|role| format!("\n    <role>{}</role>", escaped(role)));
        let role = role.unwrap_or_default();
        self.push(
            "actor",
            None,
            format!("<actor>\n    <name>{name}</name>{role}\n  </actor>"),
        );
    }

    fn push(&mut self, name: &'static str, of_type: Option<&'static str>, text: String) {
        self.0.push(Element { name, of_type, text });
    }
}

/// The whole note: the elements, and what is kept of an earlier one.
pub fn compose(kind: NoteKind, elements: &[Element], kept: &Kept) -> String {
    let root = kind.root();
    let mut text = format!("{DECLARATION}\n<{root}{}>\n", kept.attributes);
    let own = elements.iter().map(|element| element.text.as_str());
    let others = kept.elements.iter().filter(|other| !other.is_replaced(elements));
    for element in own.chain(others.map(|other| other.text.as_str())) {
        text.push_str("  ");
        text.push_str(element);
        text.push('\n');
    }
    text.extend(["</", root, ">\n"]);
    if !kept.behind.is_empty() {
        text.push_str(&kept.behind);
        text.push('\n');
    }
    text
}

fn number(number: Option<i64>) -> Option<String> {
    number.map(|number| number.to_string())
}

/// A number without zeros at its end.
fn shortened(number: String) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text with its special characters escaped, and without characters that XML does not have.
fn escaped(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => whole.push_str("&amp;"),
            '<' => whole.push_str("&lt;"),
            '>' => whole.push_str("&gt;"),
            '"' => whole.push_str("&quot;"),
            '\n' | '\t' => whole.push(letter),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {}
            letter => whole.push(letter),
        }
    }
    whole
}
