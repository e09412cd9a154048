//! Secrets that are taken, generated, kept and refused.

use super::*;

const STRONG_A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const STRONG_B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn supplied(jwt_access: Option<&str>, encryption: Option<&str>) -> SuppliedSecrets {
    SuppliedSecrets {
        jwt_access: jwt_access.map(Secret::new),
        encryption: encryption.map(Secret::new),
        encryption_previous: Vec::new(),
    }
}

#[test]
fn production_lists_every_problem() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let table: &[(Option<&str>, Option<&str>, &[&str])] = &[
        (
            None,
            None,
            &["JWT_ACCESS_SECRET is not set", "ENCRYPTION_KEY is not set"],
        ),
        (Some(STRONG_A), None, &["ENCRYPTION_KEY is not set"]),
        (
            Some(STRONG_A),
            Some(STRONG_A),
            &["JWT_ACCESS_SECRET and ENCRYPTION_KEY are equal"],
        ),
        (
            Some(STRONG_A),
            Some(&STRONG_B[1..]),
            &["ENCRYPTION_KEY is shorter than 32 characters"],
        ),
        (
            Some("dev-access-secret-change-me"),
            Some(STRONG_B),
            &[
                "JWT_ACCESS_SECRET is a known default",
                "JWT_ACCESS_SECRET is shorter than 32 characters",
            ],
        ),
        (
            Some("dev-a-development-secret-that-is-long-enough"),
            Some("please-CHANGE-ME-to-something-of-your-own"),
            &[
                "JWT_ACCESS_SECRET is a known default",
                "ENCRYPTION_KEY is a known default",
            ],
        ),
        (
            Some("s3cret"),
            Some("s3cret"),
            &[
                "JWT_ACCESS_SECRET is shorter than 32 characters",
                "ENCRYPTION_KEY is shorter than 32 characters",
                "JWT_ACCESS_SECRET and ENCRYPTION_KEY are equal",
            ],
        ),
    ];
    for (jwt, encryption, expected) in table {
        let error =
            resolve(&supplied(*jwt, *encryption), true, folder.path(), &Ctx::system()).expect_err("refused");
        let SecretsError::Weak(found) = &error else {
            panic!("{error}")
        };
        assert_eq!(found, expected);
        let line = error.to_string();
        assert!(
            expected.iter().all(|problem| line.contains(problem)) && !line.contains('\n'),
            "{line}"
        );
        for secret in [jwt, encryption].into_iter().flatten() {
            assert!(!line.contains(secret), "{line}");
        }
    }
    assert!(
        resolve(
            &supplied(Some(STRONG_A), Some(STRONG_B)),
            true,
            folder.path(),
            &Ctx::system()
        )
        .is_ok()
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("readable").count(),
        0,
        "nothing is written"
    );
}

#[test]
fn outside_production_weak_ones_are_used_with_a_warning() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let resolved = resolve(
        &supplied(Some("s3cret"), Some("s3cret")),
        false,
        folder.path(),
        &Ctx::system(),
    )
    .expect("taken");
    assert_eq!(resolved.secrets.jwt_access.expose(), "s3cret");
    assert_eq!(resolved.warnings.len(), 3);
    assert!(resolved.unsaved.is_none());
}

#[test]
fn what_is_unset_is_generated_once_and_kept() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let first = resolve(&supplied(None, None), false, folder.path(), &Ctx::system()).expect("generated");
    assert!(first.warnings.is_empty());
    assert_ne!(first.secrets.jwt_access, first.secrets.encryption);
    assert_eq!(first.secrets.jwt_access.expose().len(), 64);
    let path = folder.path().join(FILE);
    assert!(!path.exists(), "resolving writes nothing");

    first.unsaved.expect("to be saved").save().expect("saved");
    assert_eq!(
        std::fs::metadata(&path).expect("there").permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("readable").count(),
        1,
        "no temporary file is left"
    );

    let second = resolve(&supplied(None, None), false, folder.path(), &Ctx::system()).expect("read");
    assert!(second.unsaved.is_none());
    assert_eq!(second.secrets.jwt_access, first.secrets.jwt_access);
    assert_eq!(second.secrets.encryption, first.secrets.encryption);
}

#[test]
fn a_supplied_one_is_neither_stored_nor_replaces_the_kept_one() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let first = resolve(
        &supplied(Some(STRONG_A), None),
        false,
        folder.path(),
        &Ctx::system(),
    )
    .expect("generated");
    first.unsaved.expect("to be saved").save().expect("saved");
    let text = std::fs::read_to_string(folder.path().join(FILE)).expect("readable");
    assert!(
        !text.contains(STRONG_A) && !text.contains("jwtAccessSecret"),
        "{text}"
    );

    let second = resolve(&supplied(None, None), false, folder.path(), &Ctx::system()).expect("generated");
    assert_eq!(second.secrets.encryption, first.secrets.encryption);
    second
        .unsaved
        .expect("the other one is new")
        .save()
        .expect("saved");
    let third = resolve(&supplied(None, None), false, folder.path(), &Ctx::system()).expect("read");
    assert_eq!(third.secrets.encryption, first.secrets.encryption);
    assert_eq!(third.secrets.jwt_access, second.secrets.jwt_access);
}

#[test]
fn a_file_that_cannot_be_read_is_never_replaced() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join(FILE);
    for content in [
        "",
        "{",
        "[]",
        r#"{"jwtAccessSecret":"x"}"#,
        r#"{"other":1}"#,
        r#"{"encryptionKey":5}"#,
    ] {
        std::fs::write(&path, content).expect("writable");
        let error = resolve(&supplied(None, None), false, folder.path(), &Ctx::system()).expect_err(content);
        assert!(matches!(error, SecretsError::Unreadable { .. }), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_file_open_to_others_is_warned_of() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join(FILE);
    std::fs::write(&path, "{}").expect("writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("changed");
    let resolved = resolve(&supplied(None, None), false, folder.path(), &Ctx::system()).expect("read");
    assert_eq!(resolved.warnings.len(), 1);
}
