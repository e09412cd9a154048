//! Files and folders that another area moves and puts away: only those that were looked at.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use qm_db::{Db, db_test};
use qm_kernel::{ClientInfo, Requester, TokenVerifier as _};
use qm_ports::trash::{FileState, FileTrash, Sight, TrashError};

use super::{RoleTokens, Site};

fn requester() -> Requester {
    Requester {
        principal: RoleTokens.verify("ADMINISTRATOR").expect("a role"),
        client: ClientInfo {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            forwarded: "127.0.0.1".into(),
            user_agent: None,
            request_id: String::new(),
        },
    }
}

impl Site {
    fn mover(&self) -> &dyn FileTrash {
        &*self.files
    }

    fn text_of(&self, path: &str) -> String {
        self.path_to(path).display().to_string()
    }

    async fn state_of(&self, path: &str) -> FileState {
        let looked = self.mover().look(vec![self.text_of(path)]).await.expect("a look");
        match looked[0].sight {
            Sight::File { state, .. } => state,
            ref other => panic!("no file at {path}: {other:?}"),
        }
    }

    async fn moves(&self, from: &str, state: FileState, to: &str) -> Result<(), TrashError> {
        let by = requester();
        let (from, to) = (self.text_of(from), self.text_of(to));
        self.mover().move_file(&from, state, &to, by.caller()).await
    }
}

fn identity(path: &Path) -> (u64, u64) {
    let meta = std::fs::metadata(path).expect("our own folder");
    (meta.dev(), meta.ino())
}

db_test! {
    async fn a_file_moves_to_another_name_and_to_another_file_system(db: Db) {
        let site = Site::spanning(&db).await;
        site.put("a/one.srt", "text");
        let state = site.state_of("a/one.srt").await;
        assert_eq!(site.moves("a/one.srt", state, "new/deep/two.srt").await, Ok(()));
        assert_eq!((site.read("new/deep/two.srt").as_deref(), site.read("a/one.srt")), (Some("text"), None));
        let told = site.heard.take_payloads();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, "file.moved");
        assert!(site.audited().await.contains(&"file.moved success".to_owned()));
        let state = site.state_of("new/deep/two.srt").await;
        assert_eq!(site.moves("new/deep/two.srt", state, "far/three.srt").await, Ok(()));
        assert_eq!((site.read("far/three.srt").as_deref(), site.read("new/deep/two.srt")), (Some("text"), None));
    }

    async fn a_name_that_is_no_text_is_kept_by_its_bytes(db: Db) {
        let site = Site::new(&db).await;
        let odd = OsStr::from_bytes(b"caf\xe9.mkv");
        site.put("a/x", "");
        std::fs::write(site.path_to("a").join(odd), "film").expect("our own file");
        let state = site.state_of("a/caf\u{fffd}.mkv").await;
        assert_eq!(site.moves("a/caf\u{fffd}.mkv", state, "b/caf\u{fffd}.mkv").await, Ok(()));
        assert!(site.path_to("b").join(odd).is_file());
    }

    async fn a_file_that_changed_or_whose_place_is_taken_stays(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.mkv", "old");
        site.put("b.mkv", "there");
        let state = site.state_of("a.mkv").await;
        assert_eq!(site.moves("a.mkv", state, "b.mkv").await, Err(TrashError::Taken));
        assert_eq!(site.moves("gone.mkv", state, "c.mkv").await, Err(TrashError::Missing));
        let other = FileState { size: 4, ..state };
        assert_eq!(site.moves("a.mkv", other, "c.mkv").await, Err(TrashError::Changed));
        let outside = site.outside("c.mkv").display().to_string();
        let by = requester();
        let out = site.mover().move_file(&site.text_of("a.mkv"), state, &outside, by.caller()).await;
        assert!(matches!(out, Err(TrashError::Failed { .. })), "{out:?}");
        assert_eq!((site.read("a.mkv").as_deref(), site.read("b.mkv").as_deref()), (Some("old"), Some("there")));
        assert!(!site.path_to("c.mkv").exists() && !site.outside("c.mkv").exists());
        assert!(site.heard.take_payloads().is_empty());
    }

    async fn a_folder_goes_into_the_trash_if_it_is_the_same(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/tvshow.nfo", "<tvshow/>");
        let (path, by) = (site.text_of("show"), requester());
        let (device, inode) = identity(&site.path_to("show"));
        let other = site.mover().put_folder(&path, (device, inode + 1), by.caller()).await;
        assert_eq!(other, Err(TrashError::Changed));
        let file = site.text_of("show/tvshow.nfo");
        let no_folder = site.mover().put_folder(&file, (device, inode), by.caller()).await;
        assert_eq!(no_folder, Err(TrashError::Changed));
        let record = site.mover().put_folder(&path, (device, inode), by.caller()).await.expect("it goes");
        assert!(!site.path_to("show").exists());
        assert_eq!(site.trash().await[0]["id"], record.as_str());
        assert_eq!(site.mover().put_folder(&path, (device, inode), by.caller()).await, Err(TrashError::Missing));
    }
}
