//! What users ask of torrents, and what the client has no word for.
//!
//! The client answers `success` to a change of a torrent it does not have, so each torrent is looked up first, with the fields
//! that the command needs.

use sdk_engine_0_1::{AddRequest, Command, PluginError, Source};
use serde_json::{Value, json};

use crate::{Client, rpc, shapes};

impl Client {
    pub fn run_one(&self, hash: &str, command: &Command) -> Result<(), PluginError> {
        match command {
            // It has no pause from which a torrent would go on where it was: it says `stopped` of both.
            Command::Start | Command::Resume => self.call("torrent-start", hash),
            Command::Stop | Command::Pause => self.call("torrent-stop", hash),
            Command::ForceStart(true) => self.call("torrent-start-now", hash),
            // That only passed over its queue, once: there is nothing to take back.
            Command::ForceStart(false) => self.one(hash, &["id"]).map(drop),
            Command::Recheck => self.call("torrent-verify", hash),
            Command::Remove(with_data) => self.remove(hash, *with_data),
            Command::Move(to) => self.change(
                "torrent-set-location",
                hash,
                json!({ "location": to, "move": true }),
            ),
            Command::Rename(name) => self.rename(hash, name),
            Command::RenameFile(file) => self.rename_file(hash, file.index, &file.name),
            Command::FilePriority(file) => self.file_priority(hash, file.index, file.priority),
            Command::TorrentPriority(priority @ 1..=3) => {
                self.set(hash, json!({ "bandwidthPriority": i64::from(*priority) - 2 }))
            }
            Command::TorrentPriority(0) => {
                Err(unsupported("This engine has no priority `off`: stop the torrent"))
            }
            Command::TorrentPriority(_) => Err(PluginError::Rejected("a priority is 0, 1, 2 or 3".into())),
            Command::UploadLimit(bytes) => self.set(hash, limit("upload", *bytes)),
            Command::DownloadLimit(bytes) => self.set(hash, limit("download", *bytes)),
            Command::AddTracker(url) => self.add_tracker(hash, url),
            Command::RemoveTracker(url) => self.remove_tracker(hash, url),
            Command::SetLabel(_) => Err(unsupported("This engine has tags, and no label of its own")),
            Command::AddTags(tags) => self.retag(hash, tags, &[]),
            Command::RemoveTags(tags) => self.retag(hash, &[], tags),
            Command::Detach | Command::Attach(_) => Err(unsupported("This engine moves data itself")),
            Command::Other((name, _)) => Err(unsupported(&format!("This engine cannot do `{name}`"))),
        }
    }

    /// Adds a torrent. One that it has already is a success, and stays as it is.
    pub fn hand_over(&self, request: AddRequest) -> Result<(), PluginError> {
        let options = request.options;
        let mut arguments = json!({ "paused": options.start_paused });
        if let Some(path) = options.save_path {
            arguments["download-dir"] = path.into();
        }
        match request.source {
            Source::Magnet(link) => arguments["filename"] = link.into(),
            Source::Metainfo(bytes) => arguments["metainfo"] = rpc::base64(&bytes).into(),
        }
        let answer = self.rpc.call("torrent-add", &arguments)?;
        let Some(hash) = answer["torrent-added"]["hashString"].as_str() else {
            return Ok(());
        };
        // Old clients take none of these together with the torrent. It has no category, but labels: one more of them.
        let mut tags = options.tags;
        tags.extend(options.category.filter(|category| !category.is_empty()));
        if !tags.is_empty() {
            self.retag(hash, &tags, &[])?;
        }
        for (direction, bytes) in [
            ("upload", options.upload_limit),
            ("download", options.download_limit),
        ] {
            if let Some(bytes) = bytes {
                self.set(hash, limit(direction, bytes))?;
            }
        }
        options.rename.map_or(Ok(()), |name| self.rename(hash, &name))
    }

    /// A method that takes nothing but the torrent.
    fn call(&self, method: &str, hash: &str) -> Result<(), PluginError> {
        self.change(method, hash, json!({}))
    }

    /// `torrent-set` with these arguments.
    fn set(&self, hash: &str, arguments: Value) -> Result<(), PluginError> {
        self.change("torrent-set", hash, arguments)
    }

    fn change(&self, method: &str, hash: &str, mut arguments: Value) -> Result<(), PluginError> {
        self.one(hash, &["id"])?;
        arguments["ids"] = json!([hash]);
        self.rpc.call(method, &arguments).map(drop)
    }

    fn remove(&self, hash: &str, with_data: bool) -> Result<(), PluginError> {
        self.change("torrent-remove", hash, json!({ "delete-local-data": with_data }))?;
        match self.one(hash, &["id"]) {
            Err(PluginError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(PluginError::Timeout(
                "the client took the removal but lists the torrent still".into(),
            )),
        }
    }

    /// Its name is the name of its file or folder, which is renamed too.
    fn rename(&self, hash: &str, name: &str) -> Result<(), PluginError> {
        let torrent = self.one(hash, &["name"])?;
        self.rename_path(hash, &shapes::text(&torrent["name"]), name)
    }

    fn rename_file(&self, hash: &str, index: u32, name: &str) -> Result<(), PluginError> {
        let torrent = self.one(hash, &["files"])?;
        let path = torrent["files"][index as usize]["name"].as_str();
        let path = path.ok_or_else(|| PluginError::NotFound("file".into()))?;
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        match name.rsplit_once('/') {
            None => self.rename_path(hash, path, name),
            Some((to, name)) if Some(to) == folder => self.rename_path(hash, path, name),
            Some(_) => Err(unsupported("This engine moves no file into another folder")),
        }
    }

    /// Renames one segment of the torrent's tree.
    fn rename_path(&self, hash: &str, path: &str, name: &str) -> Result<(), PluginError> {
        if name.trim().is_empty() || name.contains('/') || matches!(name, "." | "..") {
            return Err(PluginError::Rejected("this is not a name of a file".into()));
        }
        if path.rsplit('/').next() == Some(name) {
            return Ok(()); // the client would say that it is there already
        }
        let arguments = json!({ "ids": [hash], "path": path, "name": name });
        self.rpc.call("torrent-rename-path", &arguments).map(drop)
    }

    fn file_priority(&self, hash: &str, index: u32, priority: u8) -> Result<(), PluginError> {
        let torrent = self.one(hash, &["fileStats"])?;
        if torrent["fileStats"].get(index as usize).is_none() {
            return Err(PluginError::NotFound("file".into()));
        }
        let file = json!([index]);
        self.set(
            hash,
            match priority {
                0 => json!({ "files-unwanted": file }),
                1 => json!({ "files-wanted": file, "priority-normal": file }),
                2 => json!({ "files-wanted": file, "priority-high": file }),
                _ => return Err(PluginError::Rejected("a file's priority is 0, 1 or 2".into())),
            },
        )
    }

    /// The number the client has for a tracker of the torrent.
    fn tracker_id(&self, hash: &str, url: &str) -> Result<Option<i64>, PluginError> {
        let torrent = self.one(hash, &["trackers"])?;
        let mut trackers = torrent["trackers"].as_array().into_iter().flatten();
        let found = trackers.find(|tracker| tracker["announce"] == url);
        Ok(found.and_then(|tracker| tracker["id"].as_i64()))
    }

    fn add_tracker(&self, hash: &str, url: &str) -> Result<(), PluginError> {
        if self.tracker_id(hash, url)?.is_some() {
            return Ok(());
        }
        self.set(hash, json!({ "trackerAdd": [url] }))?;
        // It says `success` of an address that it does not take.
        match self.tracker_id(hash, url)? {
            Some(_) => Ok(()),
            None => Err(PluginError::Rejected(
                "the client does not take this tracker".into(),
            )),
        }
    }

    fn remove_tracker(&self, hash: &str, url: &str) -> Result<(), PluginError> {
        let id = self.tracker_id(hash, url)?;
        let id = id.ok_or_else(|| PluginError::NotFound("tracker".into()))?;
        self.set(hash, json!({ "trackerRemove": [id] }))
    }

    /// It takes all labels at once, so they are read first; nobody else changes them meanwhile but in the client itself.
    fn retag(&self, hash: &str, add: &[String], remove: &[String]) -> Result<(), PluginError> {
        if add.iter().any(|tag| tag.contains(',')) {
            return Err(PluginError::Rejected(
                "a label of this client holds no comma".into(),
            ));
        }
        let before = shapes::labels(&self.one(hash, &["labels"])?);
        let mut labels = before.clone();
        labels.retain(|label| !remove.contains(label));
        for tag in add.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()) {
            if !labels.iter().any(|label| label == tag) {
                labels.push(tag.to_owned());
            }
        }
        if labels == before {
            return Ok(());
        }
        self.set(hash, json!({ "labels": labels }))
    }
}

/// A limit of a torrent, bytes per second; 0 is none.
fn limit(direction: &str, bytes: u64) -> Value {
    let (limit, limited) = (format!("{direction}Limit"), format!("{direction}Limited"));
    if bytes == 0 {
        json!({ limited: false })
    } else {
        json!({ limited: true, limit: shapes::kilobytes(bytes) })
    }
}

fn unsupported(why: &str) -> PluginError {
    PluginError::Unsupported(why.into())
}
