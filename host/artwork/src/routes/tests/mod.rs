//! Tests of the routes, on both databases.

mod hostile;
mod import;
mod local;
mod looks;
mod served;
mod subtitles;
mod upload;

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use bytes::Bytes;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use qm_confined::Roots;
use qm_db::Db;
use qm_jobs::Pace;
use qm_media_names::place;
use qm_net::{GuardError, GuardKind};
use qm_platform::testing::{self, Claims};
use qm_ports::metadata::{
    Alone, ExternalId, ImageDetails, ImageKind, ImagesOf, Lookup, LookupKind, Metadata, MetadataChain,
    Picture, Rated, TitleKind, Told, Unsettled,
};
use qm_ports::subjects::{
    ChangeReader, MediaSubjects, SubjectChange, SubjectItem, SubjectShow, SubjectsUnread,
};
use qm_test_base::{Answer, Hands, Visitor, frozen};
use serde_json::{Value, json};

use super::routes;
use crate::repo;
use crate::service::{ArtworkArea, ArtworkDeps, Fetch};

/// The libraries of a test: items and shows by their ids.
#[derive(Default)]
struct Subjects {
    items: Mutex<Vec<SubjectItem>>,
    shows: Mutex<Vec<SubjectShow>>,
    changes: Mutex<Vec<SubjectChange>>,
}

#[async_trait]
impl MediaSubjects for Subjects {
    async fn find_item(&self, id: &str) -> Result<Option<SubjectItem>, SubjectsUnread> {
        let items = self.items.lock().unwrap();
        Ok(items.iter().find(|item| item.id == id).cloned())
    }

    async fn find_show(&self, id: &str) -> Result<Option<SubjectShow>, SubjectsUnread> {
        let shows = self.shows.lock().unwrap();
        Ok(shows.iter().find(|show| show.id == id).cloned())
    }

    async fn list_changes(
        &self,
        reader: ChangeReader,
        most: usize,
    ) -> Result<Vec<SubjectChange>, SubjectsUnread> {
        assert_eq!(reader, ChangeReader::Pictures);
        Ok(self.changes.lock().unwrap().iter().take(most).cloned().collect())
    }

    async fn list_changed_items(
        &self,
        change: &SubjectChange,
        after: &str,
        most: usize,
    ) -> Result<Vec<SubjectItem>, SubjectsUnread> {
        let is_concerned = |at: &String| {
            let above = place::parent(at).unwrap_or_default();
            above == change.place || (change.below && place::is_within(at, &change.place))
        };
        let mut items = self.items.lock().unwrap().clone();
        items.retain(|item| &*item.id > after && item.places.iter().any(is_concerned));
        items.sort_by(|a, b| a.id.cmp(&b.id));
        items.truncate(most);
        Ok(items)
    }

    async fn list_changed_shows(&self, change: &SubjectChange) -> Result<Vec<SubjectShow>, SubjectsUnread> {
        let mut shows = self.shows.lock().unwrap().clone();
        shows.retain(|show| change.place == show.place || place::is_within(&change.place, &show.place));
        Ok(shows)
    }

    async fn forget_changes(&self, numbers: &[i64]) -> Result<(), SubjectsUnread> {
        let mut changes = self.changes.lock().unwrap();
        changes.retain(|change| !numbers.contains(&change.number));
        Ok(())
    }
}

/// A provider that answers the same to every question, and a host with pictures.
#[derive(Default)]
struct Outside {
    /// None: there is no key.
    images: Mutex<Option<Alone<Vec<ImageDetails>>>>,
    asked: Mutex<Vec<String>>,
    pictures: Mutex<Vec<(String, Vec<u8>)>>,
    fetched: Mutex<Vec<String>>,
}

#[async_trait]
impl Fetch for Outside {
    async fn fetch(&self, url: &str) -> Result<Bytes, GuardError> {
        self.fetched.lock().unwrap().push(url.to_owned());
        let pictures = self.pictures.lock().unwrap();
        let found = pictures.iter().find(|(at, _)| at == url);
        let missing = GuardError::Status {
            kind: GuardKind::Url,
            status: 404,
        };
        found.map(|(_, bytes)| Bytes::from(bytes.clone())).ok_or(missing)
    }
}

#[async_trait]
impl MetadataChain for Outside {
    async fn chain(&self, _: LookupKind) -> Result<Vec<String>, Unsettled> {
        unreachable!("pictures do not need it")
    }

    async fn details(&self, _: &Lookup) -> Result<Told, Unsettled> {
        unreachable!("pictures do not need it")
    }

    async fn details_of(&self, _: &str, _: &Lookup) -> Result<Alone<Box<Metadata>>, Unsettled> {
        unreachable!("pictures do not need it")
    }

    async fn own_id(
        &self,
        _: &str,
        _: &ExternalId,
        _: &[TitleKind],
    ) -> Result<Alone<(TitleKind, String)>, Unsettled> {
        unreachable!("pictures do not need it")
    }

    async fn images(
        &self,
        provider: &str,
        title: (TitleKind, &str),
        part: ImagesOf,
    ) -> Result<Alone<Vec<ImageDetails>>, Unsettled> {
        let asked = format!("{provider} {title:?} {part:?}");
        self.asked.lock().unwrap().push(asked);
        Ok(self.images.lock().unwrap().clone().unwrap_or(Alone::Nobody))
    }

    async fn rating(&self, _: &str) -> Result<Alone<Rated>, Unsettled> {
        unreachable!("pictures do not need it")
    }
}

fn image(kind: ImageKind, url: &str) -> ImageDetails {
    ImageDetails {
        kind,
        picture: Picture {
            url: url.to_owned(),
            preview: None,
        },
        width: None,
        height: None,
        language: None,
        rating: None,
        votes: None,
    }
}

/// A server's area with one storage root, in which a library lies.
struct Site {
    visitor: Visitor,
    app: Arc<ArtworkArea>,
    subjects: Arc<Subjects>,
    outside: Arc<Outside>,
    db: Db,
    hands: Arc<Hands>,
    /// The storage root.
    root: PathBuf,
    folder: tempfile::TempDir,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("data");
        fs::create_dir_all(root.join("media")).unwrap();
        let (hands, ctx) = frozen();
        let (subjects, outside) = (Arc::new(Subjects::default()), Arc::new(Outside::default()));
        let data_dir = folder.path().join("server");
        fs::create_dir(&data_dir).unwrap();
        let app = ArtworkArea::new(ArtworkDeps {
            ground: testing::ground(db, &ctx, Arc::new(Claims)),
            roots: Roots::open(&[root.to_str().unwrap()]),
            data_dir: &data_dir,
            subjects: subjects.clone(),
            providers: outside.clone(),
            fetch: outside.clone(),
            jobs: qm_jobs::testing::worker(db, Pace::default()).0,
        });
        let mut tx = db.begin_write().await.unwrap();
        let library = root.join("media");
        repo::testing::add_library(&mut tx, library.to_str().unwrap())
            .await
            .unwrap();
        tx.commit().await.unwrap();
        Self {
            visitor: Visitor::new("/api/media", routes().with_state(app.clone()), ctx),
            app,
            subjects,
            outside,
            db: db.clone(),
            hands,
            root,
            folder,
        }
    }

    fn library(&self) -> String {
        self.root.join("media").to_str().unwrap().to_owned()
    }

    /// Adds a film with these files.
    async fn add_film(&self, id: &str, places: &[&str]) {
        let mut tx = self.db.begin_write().await.unwrap();
        repo::testing::add_item(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        self.subjects.items.lock().unwrap().push(SubjectItem {
            id: id.to_owned(),
            library: self.library(),
            media_type: "movie".to_owned(),
            places: places.iter().map(|&place| place.to_owned()).collect(),
            ids: vec![("provider_a".to_owned(), "603".to_owned())],
            ..SubjectItem::default()
        });
    }

    /// Adds a show in this folder.
    async fn add_show(&self, id: &str, place: &str) {
        let mut tx = self.db.begin_write().await.unwrap();
        repo::testing::add_show(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        self.subjects.shows.lock().unwrap().push(SubjectShow {
            id: id.to_owned(),
            library: self.library(),
            place: place.to_owned(),
            provider_a_id: Some("81".to_owned()),
        });
    }

    /// Writes a file below the library's directory.
    fn write(&self, place: &str, bytes: &[u8]) -> PathBuf {
        let path = self.root.join("media").join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.visitor.ask("ADMINISTRATOR", method, path, body).await
    }

    /// The body of an answer, which must have this status.
    async fn ask(&self, status: u16, method: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.send(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.json());
        answer.json()
    }

    async fn upload(&self, path: &str, bytes: &[u8]) -> Value {
        let body = json!({ "type": "poster", "dataBase64": base64(bytes) });
        self.ask(201, "POST", path, Some(body)).await
    }

    /// Audit actions with their objects, the newest first.
    async fn audited(&self) -> Vec<String> {
        let mut tx = self.db.begin_read().await.unwrap();
        let rows = qm_platform::AuditTrail::newest(&mut tx, 20).await.unwrap();
        let text = |text: Option<String>| text.unwrap_or_default();
        let rows = rows.into_iter().map(|row| {
            format!(
                "{} {} {} {}",
                row.action,
                text(row.object_type),
                text(row.object_id),
                row.metadata.unwrap_or_default()
            )
        });
        rows.collect()
    }
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A picture with a pattern, in a format.
fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let pixels = RgbImage::from_fn(width, height, |x, y| {
        Rgb([x as u8, y as u8, (x / 7 + y / 3) as u8])
    });
    encoded(&DynamicImage::ImageRgb8(pixels), format)
}

/// A picture whose left half is transparent.
fn transparent(width: u32, height: u32) -> Vec<u8> {
    let pixels = RgbaImage::from_fn(width, height, |x, y| {
        Rgba([x as u8, y as u8, 9, if x < width / 2 { 0 } else { 255 }])
    });
    encoded(&DynamicImage::ImageRgba8(pixels), ImageFormat::Png)
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Members of the pictures in a list.
fn members<'a>(list: &'a Value, member: &str) -> Vec<&'a Value> {
    list["artwork"]
        .as_array()
        .unwrap()
        .iter()
        .map(|art| &art[member])
        .collect()
}
