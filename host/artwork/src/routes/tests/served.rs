//! Pictures as they are sent.

use http::header;
use image::GenericImageView as _;
use qm_db::db_test;

use super::*;

impl Site {
    async fn id_of_poster(&self) -> String {
        let list = self.ask(200, "GET", "/items/film/artwork", None).await;
        list["selected"]["poster"].as_str().unwrap().to_owned()
    }

    async fn image(&self, id: &str, query: &str) -> Answer {
        let answer = self
            .send("GET", &format!("/artwork/{id}/image{query}"), None)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        let length = answer.headers[header::CONTENT_LENGTH].to_str().unwrap();
        assert_eq!(length, answer.bytes.len().to_string());
        assert_eq!(answer.headers[header::CACHE_CONTROL], "private, max-age=86400");
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        answer
    }
}

fn size_of(answer: &Answer) -> (u32, u32) {
    image::load_from_memory(&answer.bytes).unwrap().dimensions()
}

db_test! {
    async fn a_picture_comes_in_its_size_or_a_smaller_one(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let original = picture(600, 900, ImageFormat::Jpeg);
        let file = site.write("Tide/poster.jpg", &original);
        let id = site.id_of_poster().await;
        let whole = site.image(&id, "").await;
        assert_eq!((&whole.bytes, size_of(&whole)), (&original, (600, 900)));
        assert_eq!(whole.headers[header::CONTENT_TYPE], "image/jpeg");
        for (query, size) in [
            ("?width=160", (160, 240)),
            ("?width=400", (400, 600)),
            ("?thumb=1", (400, 600)),
            ("?width=780", (600, 900)),
            ("?width=1280", (600, 900)),
            ("?thumb=", (600, 900)),
        ] {
            assert_eq!(size_of(&site.image(&id, query).await), size, "{query}");
        }
        for wrong in ["?width=0", "?width=161", "?width=99999", "?width=-1", "?width=x"] {
            assert_eq!(site.send("GET", &format!("/artwork/{id}/image{wrong}"), None).await.status, 400, "{wrong}");
        }
        // What a client has already is not sent again, and a new file is another one.
        let small = site.image(&id, "?width=160").await;
        let tag = small.headers[header::ETAG].clone();
        assert_ne!(tag, whole.headers[header::ETAG]);
        let path = format!("/artwork/{id}/image?width=160");
        let again = site.visitor.ask_again("USER", &path, &tag).await;
        assert_eq!((again.status, again.bytes.len()), (304, 0));
        assert_eq!(again.headers[header::ETAG], tag);
        fs::write(&file, picture(300, 300, ImageFormat::Png)).unwrap();
        let anew = site.visitor.ask_again("USER", &path, &tag).await;
        assert_eq!((anew.status, size_of(&anew)), (200, (160, 160)));
        assert_eq!(site.image(&id, "").await.headers[header::CONTENT_TYPE], "image/png", "the content says what it is");

        fs::remove_file(&file).unwrap();
        let gone = site.send("GET", &format!("/artwork/{id}/image"), None).await.refusal();
        assert_eq!((gone.0, &*gone.1), (404, "not_found.image_file"));
        let nobody = site.send("GET", "/artwork/nobody/image", None).await.refusal();
        assert_eq!((nobody.0, &*nobody.1), (404, "not_found.artwork"));
    }

    async fn transparent_and_turned_pictures_are_shown_as_they_are_meant(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        site.write("Tide/poster.png", &transparent(800, 400));
        let id = site.id_of_poster().await;
        let small = site.image(&id, "?width=400").await;
        assert_eq!((small.headers[header::CONTENT_TYPE].to_str().unwrap(), size_of(&small)), ("image/webp", (400, 200)));
        let pixels = image::load_from_memory(&small.bytes).unwrap().to_rgba8();
        assert_eq!((pixels.get_pixel(10, 10).0[3], pixels.get_pixel(390, 10).0[3]), (0, 255));

        // A photograph that lies on its side, with the place where it was taken.
        let flat = picture(900, 600, ImageFormat::Jpeg);
        let entry = b"Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        let camera = [&entry[..], b"52.5N 13.4E"].concat();
        let length = (camera.len() as u16 + 2).to_be_bytes();
        let turned = [&flat[..2], b"\xff\xe1", &length, &camera, &flat[2..]].concat();
        site.write("Tide/poster.png", &turned);
        let whole = site.image(&id, "").await;
        assert!(!whole.bytes.windows(5).any(|part| part == b"52.5N"), "the place is not sent");
        assert!(whole.bytes.windows(4).any(|part| part == b"Exif"), "the orientation is");
        assert_eq!(size_of(&site.image(&id, "?width=400").await), (400, 600));
    }

    async fn a_large_picture_is_sent_in_pieces_and_one_beside_it_in_time(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let mut seed = 1_u32;
        let pixels = RgbImage::from_fn(900, 900, |_, _| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Rgb([(seed >> 8) as u8, (seed >> 16) as u8, (seed >> 24) as u8])
        });
        let noise = encoded(&DynamicImage::ImageRgb8(pixels), ImageFormat::Png);
        assert!(noise.len() > 2 << 20, "{}", noise.len());
        site.write("Tide/poster.png", &noise);
        let id = site.id_of_poster().await;
        assert_eq!(site.image(&id, "").await.bytes, noise);
        let all = futures_util::future::join_all((0..16).map(|_| site.image(&id, "?width=320"))).await;
        assert!(all.iter().all(|answer| answer.bytes == all[0].bytes));
        // A cache that cannot be written takes nothing away.
        fs::remove_dir_all(site.folder.path().join("server")).unwrap();
        fs::write(site.folder.path().join("server"), "x").unwrap();
        assert_eq!(site.image(&id, "").await.bytes, noise);
    }
}
