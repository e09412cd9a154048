//! Reading and changing the settings of the mail server, and sending mail.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use qm_db::{Db, DbError};
use qm_kernel::{Caller, Ctx, Permission, Principal, as_error};
use qm_net::{CERTIFICATE, Dialer, Mail as Outgoing, MailFault, MailServer, Net, Trust};
use qm_platform::origins::complaint;
use qm_platform::settings::{MAIL, PRODUCT_NAME};
use qm_platform::{Acting, Audit, AuditEntry, Cipher, Ground, Settings, judge_alone};
use qm_ports::mail::{Letter, MailError, Mailer};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::dto::{MailServerPatch, MailServerView};
use crate::error::MailAreaError;
use crate::model::Server;

/// Concurrent mails.
const AT_ONCE: usize = 4;
/// Longest wait of a mail for its turn.
const WAIT: Duration = Duration::from_secs(30);

const NEEDED: &[Permission] = &[Permission::MediaServerAnalyticsManageSettings];

/// Dependencies of the area, supplied by the server.
pub struct MailDeps {
    pub ground: Ground,
    pub net: Net,
}

/// The mail service.
pub struct Mail {
    db: Db,
    ctx: Ctx,
    settings: Settings,
    cipher: Cipher,
    audit: Audit,
    acting: Arc<dyn Acting>,
    dialer: Dialer,
    turns: Semaphore,
}

impl Mail {
    pub fn new(deps: MailDeps) -> Arc<Self> {
        Arc::new(Self {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            settings: deps.ground.settings,
            cipher: deps.ground.cipher,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            dialer: deps.net.dialer().clone(),
            turns: Semaphore::new(AT_ONCE),
        })
    }

    /// Stored settings, and the product name.
    async fn stored(&self) -> Result<(Server, String), DbError> {
        let mut tx = self.db.begin_read().await?;
        let mut server = Server::from_stored(&self.settings.get(&mut tx, &MAIL).await?);
        // A password that cannot be decrypted counts as none.
        server.sealed = server
            .sealed
            .filter(|sealed| self.cipher.decrypt(sealed).is_some());
        Ok((server, self.settings.get(&mut tx, &PRODUCT_NAME).await?))
    }

    pub async fn server(&self) -> Result<MailServerView, MailAreaError> {
        let (server, product) = self.stored().await?;
        Ok(MailServerView::new(server, product))
    }

    pub async fn change(
        &self,
        caller: Caller<'_>,
        patch: MailServerPatch,
    ) -> Result<MailServerView, MailAreaError> {
        let change = patch.change(|password| self.cipher.encrypt(password));
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, NEEDED).await?;
        let mut stored = self.settings.get(&mut tx, &MAIL).await?;
        let changed = change.apply(&mut stored);
        if !changed.is_empty() {
            self.settings.put(&mut tx, &MAIL, &stored).await?;
            // Names only: one value is a secret.
            let entry = AuditEntry {
                object_type: Some("setting"),
                object_id: Some(MAIL.key.to_owned()),
                metadata: Some(json!({ "keys": [MAIL.key], "members": changed })),
                ..actor.entry("settings.update", caller.client)
            };
            self.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        self.server().await
    }

    /// Sends a test mail.
    pub async fn try_out(&self, caller: &Principal, recipient: String) -> Result<(), MailAreaError> {
        judge_alone(&*self.acting, &self.db, caller, NEEDED).await?;
        let product: String = {
            let mut tx = self.db.begin_read().await?;
            self.settings.get(&mut tx, &PRODUCT_NAME).await?
        };
        let line: String = product
            .chars()
            .filter(|letter| !letter.is_control())
            .take(60)
            .collect();
        let letter = Letter {
            id: self.ctx.id(),
            to: recipient,
            subject: format!("{line} test message"),
            text: format!("This is a test message of {line}: its mail server works.\n"),
            html: None,
        };
        self.send(&letter).await.map_err(MailAreaError::Mail)
    }

    /// The server, and the mail with its sender.
    async fn addressed(&self, letter: &Letter) -> Result<(MailServer, Outgoing), MailError> {
        let (server, product) = self.stored().await.map_err(|error| {
            tracing::warn!(
                error = as_error(&error),
                "the mail server's settings cannot be read"
            );
            MailError::Unreachable("its settings cannot be read".to_owned())
        })?;
        if !server.is_ready() {
            return Err(MailError::NotConfigured);
        }
        let password = server
            .sealed
            .as_deref()
            .and_then(|sealed| self.cipher.decrypt(sealed));
        let login = match (server.auth, password) {
            (false, _) => None,
            (true, Some(password)) => Some((server.user, password)),
            (true, None) => {
                let wanted = complaint(&server.wanted);
                let why = wanted.unwrap_or_else(|| "its password is not set".to_owned());
                return Err(MailError::Auth(why));
            }
        };
        let from_name = if server.from_name.is_empty() {
            product.chars().filter(|letter| !letter.is_control()).collect()
        } else {
            server.from_name
        };
        let now = u64::try_from(self.ctx.now().ms()).unwrap_or(0);
        let outgoing = Outgoing {
            from_name,
            from: server.from_address,
            to: letter.to.clone(),
            subject: letter.subject.clone(),
            text: letter.text.clone(),
            html: letter.html.clone(),
            id: letter.id.clone(),
            date: SystemTime::UNIX_EPOCH + Duration::from_millis(now),
        };
        let trust = match server.certificate.as_str() {
            "" => None,
            text => Some(Trust::parse(CERTIFICATE, text).map_err(MailError::Unreachable)?),
        };
        let server = MailServer {
            trust,
            host: server.host,
            port: server.port,
            implicit_tls: server.secure,
            login,
        };
        Ok((server, outgoing))
    }
}

#[async_trait]
impl Mailer for Mail {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        letter.check()?;
        let turn = tokio::time::timeout(WAIT, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| MailError::Busy)?.map_err(|_| MailError::Busy)?;
        let (server, outgoing) = self.addressed(letter).await?;
        self.dialer
            .mail(&server, &outgoing)
            .await
            .map_err(|fault| match fault {
                MailFault::Invalid(what) => MailError::Invalid(what),
                MailFault::Unreachable(why) => MailError::Unreachable(why),
                MailFault::Timeout => MailError::Timeout,
                MailFault::Later(words) => MailError::Later(words),
                MailFault::Refused(words) => MailError::Refused(words),
                MailFault::Auth(words) => MailError::Auth(words),
            })
    }
}
