//! Every area that keeps encrypted values, for the change of keys and for the health of the system.

use std::sync::Arc;

use qm_db::Db;
use qm_identity::TotpSeeds;
use qm_platform::{Audit, Cipher, Sealed, SecretSettings};
use qm_torrents::EngineSecrets;

/// All encrypted values of the service.
pub fn sealed(db: &Db, cipher: &Cipher, audit: &Audit) -> Sealed {
    Sealed::new(
        db.clone(),
        cipher.clone(),
        audit.clone(),
        vec![
            Arc::new(SecretSettings::catalogued()),
            Arc::new(TotpSeeds),
            Arc::new(EngineSecrets),
        ],
    )
}
