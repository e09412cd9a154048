//! Reader of an indexer's capabilities.

use qm_loose_xml::{Element, Node};

use crate::feed::other_root;
use crate::model::{Caps, Category, Fault, Limits, Server};
use crate::xml::walk;

/// Categories that are kept.
const MAX_CATEGORIES: usize = 1000;

/// Reads a `<caps>` document. Sections may be missing.
pub fn caps(text: &str) -> Result<Caps, Fault> {
    let mut walk = walk(text);
    let mut caps = Caps::default();
    // Names of the elements that are open.
    let mut path: Vec<String> = Vec::new();
    let mut any = false;
    while let Some(node) = walk.next_node() {
        match node {
            Node::Open(element) if path.is_empty() && !any => {
                any = true;
                if element.name != "caps" {
                    return Err(other_root(&element, &mut walk, "<caps>"));
                }
                path.push(element.name);
            }
            Node::Open(element) => {
                let parents: Vec<&str> = path.iter().map(String::as_str).collect();
                note(&mut caps, &parents, &element);
                path.push(element.name);
            }
            Node::Close => {
                path.pop();
            }
            Node::Text(_) => {}
        }
    }
    if !any {
        return Err(Fault::Unparsable(
            "answered something that is no XML where <caps> was expected".to_owned(),
        ));
    }
    caps.warnings = walk.warnings();
    Ok(caps)
}

fn note(caps: &mut Caps, parents: &[&str], element: &Element) {
    let number = |name: &str| element.attribute(name).and_then(|value| value.parse().ok());
    match (parents, element.name.as_str()) {
        (["caps"], "server") => {
            let title = element.attribute("title").map(str::to_owned);
            caps.server = Some(Server { title });
        }
        (["caps"], "limits") => {
            caps.limits = Some(Limits {
                default: number("default"),
                max: number("max"),
            });
        }
        (["caps", "searching"], "tv-search") => {
            caps.tv_search = is_available(element);
            let params = element.attribute("supportedparams").unwrap_or_default();
            caps.supported_params = params
                .split(',')
                .map(str::trim)
                .filter(|param| !param.is_empty())
                .map(str::to_owned)
                .collect();
        }
        (["caps", "searching"], "movie-search") => caps.movie_search = is_available(element),
        (["caps", "categories"], "category") if caps.categories.len() < MAX_CATEGORIES => {
            if let Some(id) = number("id") {
                let name = element.attribute("name").unwrap_or_default().to_owned();
                caps.categories.push(Category { id, name });
            }
        }
        _ => {}
    }
}

fn is_available(element: &Element) -> bool {
    element
        .attribute("available")
        .is_some_and(|value| value.eq_ignore_ascii_case("yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_document() {
        let caps = caps(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<caps>
  <server version="1.0" title="Orchard Index" strapline="x"/>
  <limits default="50" max="100"/>
  <searching>
    <search available="yes" supportedParams="q"/>
    <tv-search available="YES" supportedParams=" q, season ,,ep "/>
    <movie-search available="no" supportedParams="q,imdbid"/>
  </searching>
  <categories>
    <category id="5000" name="TV"><subcat id="5030" name="SD"/><subcat id="5040" name="HD"/></category>
    <category id="x" name="None"/>
    <category id="2000" name="Movies &amp; more"/>
  </categories>
</caps>"#,
        )
        .unwrap();
        assert_eq!(
            caps,
            Caps {
                server: Some(Server {
                    title: Some("Orchard Index".to_owned())
                }),
                tv_search: true,
                movie_search: false,
                supported_params: vec!["q".to_owned(), "season".to_owned(), "ep".to_owned()],
                categories: vec![
                    Category {
                        id: 5000,
                        name: "TV".to_owned()
                    },
                    Category {
                        id: 2000,
                        name: "Movies & more".to_owned()
                    },
                ],
                limits: Some(Limits {
                    default: Some(50),
                    max: Some(100)
                }),
                warnings: Vec::new(),
            }
        );
    }

    #[test]
    fn missing_sections_are_none() {
        assert_eq!(caps("<caps/>"), Ok(Caps::default()));
        let odd = caps("<caps><limits max='many' default='20'/><server/></caps>").unwrap();
        assert_eq!(
            odd.limits,
            Some(Limits {
                default: Some(20),
                max: None
            })
        );
        assert_eq!(odd.server, Some(Server { title: None }));
    }

    #[test]
    fn other_documents_are_errors() {
        assert_eq!(
            caps(r#"<error code="100" description="Incorrect user credentials"/>"#),
            Err(Fault::Auth("100: Incorrect user credentials".to_owned()))
        );
        assert_eq!(
            caps(r#"<?xml version="1.0"?><error code="203" description="Function not available"/>"#),
            Err(Fault::Api {
                code: "203".to_owned(),
                description: "Function not available".to_owned()
            })
        );
        let feed = caps("<rss version='2.0'><channel/></rss>");
        assert!(
            matches!(&feed, Err(Fault::Unparsable(why)) if why.contains("<rss>") && why.contains("<caps>")),
            "{feed:?}"
        );
        for text in ["{}", "", "hello"] {
            assert!(matches!(caps(text), Err(Fault::Unparsable(_))), "{text}");
        }
    }

    #[test]
    fn a_document_that_ends_in_the_middle_is_read_so_far() {
        let caps = caps("<caps><searching><tv-search available='yes' supportedParams='q'/><movie").unwrap();
        assert!(caps.tv_search);
        assert_eq!(caps.warnings.len(), 1, "{:?}", caps.warnings);
    }
}
