//! Template databases with the present schema and no rows, which tests copy.

use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::OnceCell;

use super::{Place, Scratch, with_database};
use crate::migrate;
use crate::open::Backend;

/// Serialises processes that create the template of one server.
const LOCK: &str = "SELECT pg_advisory_lock(7381462020)";
const IS_READY: &str = "SELECT datistemplate FROM pg_database WHERE datname = $1";

/// Path of an SQLite file.
pub(super) async fn file() -> &'static str {
    static FILE: OnceCell<String> = OnceCell::const_new();
    FILE.get_or_init(|| async {
        let kept = std::env::temp_dir().join(format!("{}.db", name(Backend::Sqlite)));
        if !kept.exists() {
            let scratch = Scratch::new(Backend::Sqlite).await.expect("SQLite is everywhere");
            scratch.open().await.close().await;
            let Place::File(folder) = &scratch.place else {
                unreachable!("a database of SQLite is a file");
            };
            // Renamed when complete, whichever process creates it at the same time.
            let own = kept.with_extension(std::process::id().to_string());
            std::fs::copy(folder.join("test.db"), &own)
                .and_then(|_| std::fs::rename(&own, &kept))
                .expect("the temporary directory is writable");
        }
        kept.display().to_string()
    })
    .await
}

/// It stays for later processes, so its name contains the schema's fingerprint.
fn name(backend: Backend) -> String {
    format!("qm_template_{}", &migrate::fingerprint(backend)[..16])
}

/// Name of a database on the server.
pub(super) async fn database(server: &str) -> &'static str {
    static NAME: OnceCell<String> = OnceCell::const_new();
    NAME.get_or_init(|| async {
        let name = name(Backend::Postgres);
        make(server, &name)
            .await
            .unwrap_or_else(|error| panic!("the template `{name}` of the tests' databases: {error}"));
        name
    })
    .await
}

async fn make(server: &str, name: &str) -> Result<(), sqlx::Error> {
    let options: sqlx::postgres::PgConnectOptions = server.parse()?;
    let mut connection = options.connect().await?;
    connection.execute(LOCK).await?;
    let ready: Option<bool> = sqlx::query_scalar(IS_READY)
        .bind(name)
        .fetch_optional(&mut connection)
        .await?;
    if ready != Some(true) {
        // An earlier creator may have been killed.
        let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        connection.execute(&*drop).await?;
        let create = format!("CREATE DATABASE {name} TEMPLATE template0");
        connection.execute(&*create).await?;
        let scratch = Scratch {
            url: with_database(server, name),
            place: Place::Server(server.to_owned(), name.to_owned()),
        };
        scratch.open().await.close().await;
        let finish = format!("ALTER DATABASE {name} IS_TEMPLATE true");
        connection.execute(&*finish).await?;
    }
    // The lock goes with the connection.
    connection.close().await
}
