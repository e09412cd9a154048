//! The data of torrents, moved for the area that drives their clients: what is refused, what arrives, and what is found
//! after a kill.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use qm_db::{Db, db_test};
use qm_kernel::{ClientInfo, ErrorKind, Principal, Requester, TokenVerifier as _};
use qm_ports::carry::{CarryError, DataCheck, DataFile, DataMove, DataMover as _, Whereabouts};

use super::{RoleTokens, Site};

fn principal() -> Principal {
    RoleTokens.verify("ADMINISTRATOR").expect("a role")
}

fn file(path: &str, size: u64) -> DataFile {
    let path = path.to_owned();
    DataFile { path, size }
}

impl Site {
    fn far_root(&self) -> PathBuf {
        self.far.as_ref().expect("it spans two").path().to_owned()
    }

    /// Move of data from a path below the root to an absolute directory.
    fn job(&self, source: &str, directory: &Path) -> DataMove {
        DataMove {
            id: format!("move of {source}"),
            source: self.path_to(source).display().to_string(),
            directory: directory.display().to_string(),
        }
    }

    async fn check(&self, job: &DataMove) -> Result<DataCheck, CarryError> {
        self.files.check(job, &[]).await
    }

    async fn refused(&self, job: &DataMove) -> (ErrorKind, String) {
        let refusal = self.check(job).await.expect_err("it is refused");
        (refusal.kind, refusal.message)
    }

    async fn carry(&self, job: &DataMove) -> Result<(), CarryError> {
        let client = ClientInfo {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            forwarded: "127.0.0.1".into(),
            user_agent: None,
            request_id: String::new(),
        };
        let by = Requester {
            principal: principal(),
            client,
        };
        self.files.carry(job, Some(by.caller())).await
    }

    fn put_album(&self) {
        self.put("in/album/1.flac", vec![1; 70_000]);
        self.put("in/album/art/cover.jpg", "a cover");
        std::fs::create_dir(self.path_to("in/album/empty")).expect("our own directory");
    }
}

/// Entries below a directory, files with their content; none may be a temporary of the server.
fn tree(root: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).expect("it is there").flatten() {
            let path = entry.path();
            let rel = path.strip_prefix(root).expect("below it").display().to_string();
            assert!(!rel.contains(".quartermaster-tmp-"), "{rel} is left");
            if path.is_dir() {
                found.push((rel, None));
                left.push(path);
            } else {
                found.push((rel, Some(std::fs::read(&path).expect("our own file"))));
            }
        }
    }
    found.sort();
    found
}

db_test! {
    async fn data_moves_within_a_file_system_and_to_another(db: Db) {
        let site = Site::spanning(&db).await;
        site.put_album();
        let album = tree(&site.path_to("in/album"));
        assert_eq!(album.len(), 4);
        let whole = [file("album/1.flac", 70_000), file("/album/art/cover.jpg", 7)];
        for (source, directory) in [("in/album", site.path_to("new/deep")), ("new/deep/album", site.far_root().join("far/away"))] {
            let job = site.job(source, &directory);
            assert_eq!(site.files.check(&job, &whole).await, Ok(DataCheck::Ready));
            assert!(!directory.exists(), "a look makes nothing");
            assert_eq!(site.files.whereabouts(&job).await, Ok(Whereabouts::Source));
            assert_eq!(site.carry(&job).await, Ok(()));
            assert_eq!(tree(&directory.join("album")), album);
            assert!(!site.path_to(source).exists());
            assert_eq!(site.files.whereabouts(&job).await, Ok(Whereabouts::Destination));
            assert_eq!(site.files.check(&job, &whole).await, Ok(DataCheck::Moved));
            let told = site.heard.take_payloads();
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(told[0].0, "file.moved");
        }
        assert_eq!(tree(&site.path_to("in")), []);
    }

    async fn one_file_is_its_own_item(db: Db) {
        let site = Site::spanning(&db).await;
        site.put("in/film.mkv", "a film");
        let job = site.job("in/film.mkv", &site.far_root());
        // Whatever the client calls it inside the torrent.
        assert_eq!(site.files.check(&job, &[file("Film (2020).mkv", 6)]).await, Ok(DataCheck::Ready));
        let other = site.files.check(&job, &[file("film.mkv", 7)]).await.expect_err("it has another size");
        assert_eq!(other.kind, ErrorKind::Conflict);
        assert_eq!(site.carry(&job).await, Ok(()));
        assert_eq!(tree(&site.far_root()), [("film.mkv".to_owned(), Some(b"a film".to_vec()))]);
        assert_eq!(tree(&site.path_to("in")), []);
    }

    async fn what_is_there_is_never_replaced(db: Db) {
        let site = Site::spanning(&db).await;
        site.put_album();
        for directory in [site.path_to("taken"), site.far_root()] {
            std::fs::create_dir_all(directory.join("album")).expect("our own directory");
            let job = site.job("in/album", &directory);
            let exists = (ErrorKind::Conflict, "Destination already exists".to_owned());
            assert_eq!(site.refused(&job).await, exists);
            let carried = site.carry(&job).await.expect_err("somebody made it since the look");
            assert_eq!((carried.kind, carried.message), exists);
            assert_eq!(tree(&directory), [("album".to_owned(), None)]);
            assert_eq!(tree(&site.path_to("in/album")).len(), 4);
        }
        let into = site.job("in/album", &site.path_to("in/album/art"));
        assert_eq!(site.refused(&into).await.0, ErrorKind::BadRequest);
    }

    async fn what_does_not_fit_is_not_begun(db: Db) {
        let site = Site::spanning(&db).await;
        site.put("in/huge.bin", "");
        let huge = std::fs::File::options().write(true).open(site.path_to("in/huge.bin")).expect("our own file");
        // All of it a hole: it takes no room here, and would take it there.
        huge.set_len(8 << 40).expect("a file of any length");
        let (kind, said) = site.refused(&site.job("in/huge.bin", &site.far_root().join("new"))).await;
        assert!(said.contains("space"), "{said}");
        assert_eq!(kind, ErrorKind::BadRequest);
        assert_eq!(site.check(&site.job("in/huge.bin", &site.path_to("new"))).await, Ok(DataCheck::Ready), "a rename");
        assert_eq!(tree(&site.far_root()), []);
    }

    async fn only_what_lies_in_the_roots_is_moved_and_only_to_there(db: Db) {
        let site = Site::new(&db).await;
        site.put_album();
        let job = DataMove {
            source: site.outside("secret.txt").display().to_string(),
            ..site.job("in/album", &site.path_to("new"))
        };
        let (kind, said) = site.refused(&job).await;
        assert_eq!(kind, ErrorKind::Forbidden);
        assert!(said.contains("outside the allowed storage roots"), "{said}");
        let carried = site.carry(&job).await.expect_err("whether or not anybody looked before");
        assert_eq!(carried.kind, ErrorKind::Forbidden);
        let job = site.job("in/album", &site.outside("new"));
        assert_eq!(site.refused(&job).await.0, ErrorKind::Forbidden);
        assert_eq!(site.carry(&job).await.expect_err("nor to there").kind, ErrorKind::Forbidden);
        // A link that leads out is no way out.
        std::os::unix::fs::symlink(site.outside(""), site.path_to("exit")).expect("our own link");
        let job = site.job("in/album", &site.path_to("exit"));
        assert_eq!(site.refused(&job).await.0, ErrorKind::Forbidden);
        assert_eq!(site.carry(&job).await.expect_err("nor through it").kind, ErrorKind::Forbidden);
        assert!(site.outside("secret.txt").exists() && !site.outside("album").exists());
        assert_eq!(tree(&site.path_to("in/album")).len(), 4);
    }

    async fn data_that_is_not_the_torrents_is_told_of(db: Db) {
        let site = Site::new(&db).await;
        site.put_album();
        let job = site.job("in/album", &site.path_to("new"));
        let whole = [file("1.flac", 70_000), file("2.flac", 5), file("art/cover.jpg", 8)];
        let refused = site.files.check(&job, &whole).await.expect_err("two of three");
        assert_eq!(refused.kind, ErrorKind::Conflict);
        assert!(refused.message.contains("2 of its files are missing or have another size, e.g. /2.flac"), "{}", refused.message);
        assert_eq!(site.check(&site.job("in/nothing", &site.path_to("new"))).await, Ok(DataCheck::Absent));
        assert_eq!(site.check(&site.job("nowhere/nothing", &site.path_to("new"))).await, Ok(DataCheck::Absent));
        let nothing = site.job("in/nothing", &site.path_to("new"));
        assert_eq!(site.files.whereabouts(&nothing).await, Ok(Whereabouts::Neither));
        assert_eq!(site.carry(&nothing).await.expect_err("there is nothing").kind, ErrorKind::NotFound);
        assert!(!site.path_to("new").exists());
    }

    /// A client tells names as text.
    async fn names_that_are_not_utf_8_are_found(db: Db) {
        let site = Site::spanning(&db).await;
        let (odd, alike) = (OsStr::from_bytes(b"caf\xe9"), OsStr::from_bytes(b"caf\xe8"));
        std::fs::create_dir_all(site.path_to("in").join(odd)).expect("our own directory");
        std::fs::write(site.path_to("in").join(odd).join(OsStr::from_bytes(b"\xff.mkv")), "a film").expect("our own file");
        let job = site.job("in/caf\u{fffd}", &site.far_root().join("new"));
        let whole = [file("caf\u{fffd}/\u{fffd}.mkv", 6)];
        assert_eq!(site.files.check(&job, &whole).await, Ok(DataCheck::Ready));
        assert_eq!(site.carry(&job).await, Ok(()));
        assert!(!site.path_to("in").join(odd).exists());
        let film = site.far_root().join("new").join(odd).join(OsStr::from_bytes(b"\xff.mkv"));
        assert_eq!(std::fs::read(film).expect("it was moved under its own bytes"), b"a film");
        assert_eq!(site.files.whereabouts(&job).await, Ok(Whereabouts::Destination));
        // Which of the two is not known: neither is touched.
        for name in [odd, alike] {
            std::fs::create_dir_all(site.path_to("in").join(name)).expect("our own directory");
        }
        let job = site.job("in/caf\u{fffd}", &site.path_to("other"));
        assert_eq!(site.check(&job).await, Ok(DataCheck::Absent));
        assert_eq!(site.carry(&job).await.expect_err("either could be meant").kind, ErrorKind::NotFound);
        assert_eq!(tree(&site.path_to("in")).len(), 2);
    }

    async fn after_a_kill_between_the_copy_and_the_removal_one_whole_copy_is_left(db: Db) {
        let site = Site::spanning(&db).await;
        site.put_album();
        let album = tree(&site.path_to("in/album"));
        let job = site.job("in/album", &site.far_root());
        // As they lie when the copy is in its place: it has been compared and synced.
        let copied = || {
            std::fs::create_dir_all(site.far_root().join("album/art")).expect("our own directory");
            std::fs::create_dir_all(site.far_root().join("album/empty")).expect("our own directory");
            for name in ["album/1.flac", "album/art/cover.jpg"] {
                std::fs::copy(site.path_to("in").join(name), site.far_root().join(name)).expect("our own file");
            }
        };
        copied();
        assert_eq!(site.files.whereabouts(&job).await, Ok(Whereabouts::Both));
        let site = site.restarted();
        assert_eq!(site.files.remove_original(&job).await, Ok(true));
        assert_eq!(tree(&site.far_root().join("album")), album);
        assert!(!site.path_to("in/album").exists());
        assert_eq!(site.files.whereabouts(&job).await, Ok(Whereabouts::Destination));
    }

    async fn an_original_that_differs_from_its_copy_stays(db: Db) {
        let site = Site::spanning(&db).await;
        site.put_album();
        let job = site.job("in/album", &site.far_root());
        std::fs::create_dir_all(site.far_root().join("album/art")).expect("our own directory");
        let copy = |name: &str, content: &[u8]| {
            std::fs::write(site.far_root().join("album").join(name), content).expect("our own file");
        };
        let before = tree(&site.path_to("in/album"));
        // One file is not there; then it is, of the same size and with other bytes.
        copy("art/cover.jpg", b"a cover");
        assert_eq!(site.files.remove_original(&job).await, Ok(false));
        copy("1.flac", &vec![2; 70_000]);
        assert_eq!(site.files.remove_original(&job).await, Ok(false));
        assert_eq!(tree(&site.path_to("in/album")), before);
        assert_eq!(tree(&site.far_root().join("album")).len(), 3);
    }
}
