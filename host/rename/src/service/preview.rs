//! Previews of renames, and explanations of names.

use std::path::{Component, Path};

use qm_file_operations::Control;
use qm_media_names::Kind;
use qm_ports::payload::data_path;
use qm_rename_plan::{Content, Explanation, KnownShow, Source, Templates, Wish, explain, plan};
use tokio_util::sync::CancellationToken;

use super::Rename;
use super::sources::{Found, find_files};
use crate::error::RenameError;
use crate::lanes::{PLANS, WALKS};
use crate::model::Planned;
use crate::model::request::Request;
use crate::model::run::KnownFiles;

impl Rename {
    /// Plans a rename; nothing is changed. The files are as the plan saw them.
    pub async fn plan(&self, request: Request) -> Result<(Planned, KnownFiles), RenameError> {
        let mut wish = self
            .new_wish(&request.preset, request.template.as_deref())
            .await?;
        let written = request
            .library
            .as_deref()
            .map(str::trim)
            .filter(|path| !path.is_empty());
        if let Some(path) = written {
            check_library(path)?;
        }
        if request.names.is_empty() && written.is_none() {
            return Err(RenameError::NoLibraryPath);
        }
        let (found, source_name) = self.find_sources(&request, written).await?;
        self.add_library(&mut wish, &found.library, written, request.kind)
            .await?;
        wish.mode = request.mode;
        wish.source_name = request
            .source_name
            .clone()
            .or(source_name)
            .filter(|name| !name.trim().is_empty());
        let cleanup = self.find_cleanup().await?;
        wish.cleanup = cleanup.to_plan();
        let (planned, known) = self.plan_found(wish, found, request.preset).await?;
        let library = planned.library.filter(|_| written.is_some());
        Ok((Planned { library, ..planned }, known))
    }

    /// Plans names for files that were found.
    pub(super) async fn plan_found(
        &self,
        wish: Wish,
        found: Found,
        preset: String,
    ) -> Result<(Planned, KnownFiles), RenameError> {
        let (named, known) = (wish.source_name.clone().unwrap_or(found.name), found.known);
        let mode = wish.mode;
        let planning = PLANS.run(move |_| {
            let made = plan(&wish, &found.sources);
            (made, qm_release::parse(&named), wish.library)
        });
        let (plan, parsed, library) = planning.await?;
        let first = plan.items.iter().find(|item| item.destination.is_some());
        let kind = first.map_or(Content::General, |item| item.kind);
        let planned = Planned {
            mode,
            preset,
            library: Some(library),
            kind,
            parsed,
            plan,
        };
        Ok((planned, known))
    }

    /// Files at a path, for a library.
    pub(super) async fn find_at(&self, path: String, library: String) -> Result<Found, RenameError> {
        let (roots, token) = (self.roots.clone(), CancellationToken::new());
        // The request that goes away ends the walk.
        let _guard = token.clone().drop_guard();
        let walking = WALKS.run(move |_| find_files(&roots, &path, &library, &Control::quiet(token)));
        walking.await?
    }

    /// Explains the name that one file would get.
    pub async fn explain_name(
        &self,
        preset: &str,
        name: String,
        kind: Option<Kind>,
    ) -> Result<Explanation, RenameError> {
        let mut wish = self.new_wish(preset, None).await?;
        wish.kind = kind;
        Ok(PLANS.run(move |_| explain(&wish, &name)).await?)
    }

    /// Wish for a preset, or for a template in place of its own ones.
    pub(super) async fn new_wish(&self, preset: &str, template: Option<&str>) -> Result<Wish, RenameError> {
        let (preset, templates) = self.find_templates(preset).await?;
        let own = template.filter(|text| !text.trim().is_empty());
        let templates = own.map_or(templates, Templates::of_all);
        // Stored templates were read before they were stored.
        Wish::new(preset, &templates).map_err(|fault| RenameError::Template("template", fault))
    }

    /// Files of a request, and the name of their torrent.
    async fn find_sources(
        &self,
        request: &Request,
        library: Option<&str>,
    ) -> Result<(Found, Option<String>), RenameError> {
        if !request.names.is_empty() {
            let sources = request.names.iter().map(|name| Source {
                path: name.clone(),
                name: name.trim_start_matches('/').to_owned(),
                size: None,
            });
            let found = Found {
                library: library.unwrap_or_default().to_owned(),
                sources: sources.collect(),
                known: KnownFiles::new(),
                name: request.names.first().cloned().unwrap_or_default(),
            };
            return Ok((found, None));
        }
        let hash = request
            .hash
            .as_deref()
            .map(str::trim)
            .filter(|hash| !hash.is_empty());
        let path = request
            .path
            .as_deref()
            .map(str::trim)
            .filter(|path| !path.is_empty());
        let (path, name) = match (hash, path) {
            (Some(hash), _) => {
                let (_, path, name) = self.find_torrent(hash, request.engine_id.as_deref())?;
                (path, Some(name))
            }
            (None, Some(path)) => (path.to_owned(), None),
            (None, None) => return Err(RenameError::NothingGiven),
        };
        let library = library.unwrap_or_default().to_owned();
        Ok((self.find_at(path, library).await?, name))
    }

    /// Engine of a torrent, path of its data, and its name.
    pub(super) fn find_torrent(
        &self,
        hash: &str,
        engine_id: Option<&str>,
    ) -> Result<(String, String, String), RenameError> {
        let hash = hash.to_ascii_lowercase();
        let lists = self.torrents.lists();
        let wanted = lists
            .iter()
            .filter(|list| engine_id.is_none_or(|id| id == list.engine_id()));
        let found = wanted.into_iter().find_map(|list| {
            let torrent = list.find(&hash)?.torrent;
            let path = data_path(torrent)?.into_owned();
            Some((list.engine_id().to_owned(), path, torrent.name.clone()))
        });
        found.ok_or(RenameError::NoSuchTorrent)
    }

    /// Adds kind and shows of the library at this directory.
    async fn add_library(
        &self,
        wish: &mut Wish,
        real: &str,
        written: Option<&str>,
        kind: Option<Kind>,
    ) -> Result<(), RenameError> {
        real.clone_into(&mut wish.library);
        wish.kind = kind;
        let Some(written) = written else { return Ok(()) };
        let mut shelf = self.shelves.find_shelf(real).await?;
        if shelf.is_none() && written != real {
            shelf = self.shelves.find_shelf(written).await?;
        }
        let Some(shelf) = shelf else { return Ok(()) };
        wish.kind = kind.or_else(|| Kind::from_word(&shelf.kind));
        if wish.kind.is_none_or(|kind| kind != Kind::Movie) {
            let shows = self.shelves.list_shows(&shelf.id).await?;
            let shows = shows.into_iter().map(|show| KnownShow {
                title: show.title,
                year: show.year,
                folder: show.folder,
            });
            wish.shows = shows.collect();
        }
        Ok(())
    }
}

/// Refuses a directory that is no absolute path.
pub(super) fn check_library(path: &str) -> Result<(), RenameError> {
    let whole = Path::new(path);
    let climbs = whole
        .components()
        .any(|part| matches!(part, Component::ParentDir));
    if !whole.is_absolute() || climbs || path.contains(char::is_control) {
        return Err(RenameError::LibraryPath(path.chars().take(200).collect()));
    }
    Ok(())
}
