//! Categories and tags of the client, also those that no torrent has.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::commands::tag_list;
use crate::error::{Error, Subject, excerpt, garbled};
use crate::http::{Answer, Clock, Http};
use crate::link::{Call, LARGE, no_such_call};
use crate::session::Session;
use crate::single::post;
use crate::values::Text;
use engine_model::Category;

const EDIT: &str = "/torrents/editCategory";

#[derive(Default, Deserialize)]
#[serde(default)]
struct CategoryItem {
    #[serde(rename = "savePath")]
    save_path: Text,
    /// A path, `false` when incomplete data lies in the save path, nothing when the client chooses.
    download_path: Value,
}

impl CategoryItem {
    fn named(self, name: String) -> Category {
        let download_path = self.download_path.as_str().filter(|path| !path.is_empty());
        Category {
            name,
            save_path: self.save_path.non_empty(),
            download_path: download_path.map(str::to_owned),
        }
    }
}

impl<H: Http, C: Clock> Session<H, C> {
    pub fn categories(&mut self) -> Result<Vec<Category>, Error> {
        let call = Call::get("/torrents/categories", &[], LARGE);
        let body = self.link.call(&call).map_err(no_such_call)?.read_to_end()?;
        let items: BTreeMap<String, CategoryItem> =
            serde_json::from_slice(&body).map_err(|error| garbled("torrents/categories", &error))?;
        Ok(items.into_iter().map(|(name, item)| item.named(name)).collect())
    }

    pub fn create_category(&mut self, category: &Category) -> Result<(), Error> {
        self.tell_category("/torrents/createCategory", category)
    }

    pub fn edit_category(&mut self, category: &Category) -> Result<(), Error> {
        let known = self
            .categories()?
            .into_iter()
            .find(|known| known.name == category.name);
        match known {
            None => Err(Error::NotFound(Subject::Category)),
            // An old client refuses an edit that changes nothing.
            Some(known) if known == *category => Ok(()),
            Some(_) => self.tell_category(EDIT, category),
        }
    }

    fn tell_category(&mut self, path: &'static str, category: &Category) -> Result<(), Error> {
        let mut fields = vec![
            ("category", category.name.as_str()),
            ("savePath", category.save_path.as_deref().unwrap_or_default()),
        ];
        match category.download_path.as_deref() {
            Some(path) => {
                fields.push(("downloadPathEnabled", "true"));
                fields.push(("downloadPath", path));
            }
            // Without a word of it, later clients leave it as it was.
            None if path == EDIT => fields.push(("downloadPathEnabled", "")),
            None => {}
        }
        post(&mut self.link, path, &fields).map_err(no_such_call)
    }

    pub fn remove_categories(&mut self, names: &[String]) -> Result<(), Error> {
        let kept: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty() && !name.contains('\n'))
            .collect();
        if kept.is_empty() {
            return Ok(());
        }
        let names = kept.join("\n");
        post(
            &mut self.link,
            "/torrents/removeCategories",
            &[("categories", &names)],
        )
        .map_err(no_such_call)
    }

    pub fn tags(&mut self) -> Result<Vec<String>, Error> {
        let call = Call::get("/torrents/tags", &[], LARGE);
        let body = self.link.call(&call).map_err(no_such_call)?.read_to_end()?;
        let tags: Vec<Text> =
            serde_json::from_slice(&body).map_err(|error| garbled("torrents/tags", &error))?;
        Ok(tags
            .into_iter()
            .map(|tag| tag.0)
            .filter(|tag| !tag.is_empty())
            .collect())
    }

    pub fn create_tags(&mut self, tags: &[String]) -> Result<(), Error> {
        self.tell_tags("/torrents/createTags", tags)
    }

    pub fn delete_tags(&mut self, tags: &[String]) -> Result<(), Error> {
        self.tell_tags("/torrents/deleteTags", tags)
    }

    fn tell_tags(&mut self, path: &'static str, tags: &[String]) -> Result<(), Error> {
        let Some(tags) = tag_list(tags)? else {
            return Ok(());
        };
        let mut answer = self.link.exchange(&Call::post(path, &[("tags", &tags)]))?;
        match answer.status() {
            409 => Err(Error::Rejected(excerpt(&mut answer))),
            _ => crate::error::checked(answer).map(|_| ()).map_err(no_such_call),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_tell_their_paths() {
        let items: BTreeMap<String, CategoryItem> = serde_json::from_str(
            r#"{"tv":{"name":"tv","savePath":"/d/tv"},"a/b":{"savePath":"","download_path":"/i"},
                "c":{"savePath":"","download_path":false},"d":{"download_path":null}}"#,
        )
        .expect("an object");
        let read: Vec<Category> = items.into_iter().map(|(name, item)| item.named(name)).collect();
        let expected = |name: &str, save_path: Option<&str>, download_path: Option<&str>| Category {
            name: name.into(),
            save_path: save_path.map(str::to_owned),
            download_path: download_path.map(str::to_owned),
        };
        assert_eq!(
            read,
            [
                expected("a/b", None, Some("/i")),
                expected("c", None, None),
                expected("d", None, None),
                expected("tv", Some("/d/tv"), None),
            ]
        );
    }
}
