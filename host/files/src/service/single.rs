//! Changes within one directory: a new folder, a new name.

use serde_json::{Value, json};

use super::Files;
use super::operations::{Outcome, Subject};
use super::tell::Fact;
use crate::dto::answers::OpResult;
use crate::dto::requests::{CreateFolder, Rename};
use crate::error::FilesError;
use qm_confined::{Component, Intent, RelPath};
use qm_file_operations::{self as ops, Lane};
use qm_kernel::Requester;

impl Files {
    pub async fn create_folder(
        &self,
        caller: &Requester,
        body: CreateFolder,
    ) -> Result<OpResult, FilesError> {
        let (parent, name) = (body.path.rel()?, Component::folder(&body.name)?);
        let wanted = parent.join(&name).text();
        let subject = Subject {
            operation: "create_folder",
            source: None,
            destination: Some(wanted.clone()),
        };
        let operation = self.operations.begin(caller, subject).await?;
        let made = self
            .on_disk(Lane::Quick, move |base| {
                let parent = base.resolve(&parent, Intent::Read)?;
                Ok(ops::create_dir(&parent, &name).map_err(FilesError::from))
            })
            .await;
        let made = match made {
            Ok(Ok(rel)) => {
                let fact = Fact::file("file.created_folder", rel.text(), moved_to(None, &rel.text()));
                self.audit_alone(caller, fact, None).await;
                Ok(rel)
            }
            Ok(Err(error)) => {
                let fact = Fact::failed("file.created_folder", &wanted, Some(&wanted), &error);
                self.audit_alone(caller, fact, None).await;
                Err(error)
            }
            Err(error) => Err(error),
        };
        operation.end(&Outcome::from_result(&made, |_| Outcome::default()));
        Ok(done("create_folder", &made?))
    }

    pub async fn rename(&self, caller: &Requester, body: Rename) -> Result<OpResult, FilesError> {
        let (rel, name) = (body.path.rel()?, Component::file(&body.new_name)?);
        let source = rel.text();
        let destination = rel.parent().unwrap_or_default().join(&name).text();
        let subject = Subject {
            operation: "rename",
            source: Some(source.clone()),
            destination: Some(destination.clone()),
        };
        let operation = self.operations.begin(caller, subject).await?;
        let renamed = self
            .on_disk(Lane::Quick, move |base| {
                let item = base.resolve(&rel, Intent::Change)?;
                Ok(ops::rename(&item, &name, body.overwrite).map_err(FilesError::from))
            })
            .await;
        let renamed = match renamed {
            Ok(Ok(renamed)) => {
                if renamed.from != renamed.to {
                    let event = self.moved(Some(caller), &renamed.from, &renamed.to);
                    let metadata = moved_to(Some(&source), &destination);
                    let fact = Fact::file("file.renamed", source, metadata);
                    self.audit_alone(caller, fact, Some(event)).await;
                }
                Ok(renamed.rel)
            }
            Ok(Err(error)) => {
                let fact = Fact::failed("file.renamed", &source, Some(&destination), &error);
                self.audit_alone(caller, fact, None).await;
                Err(error)
            }
            Err(error) => Err(error),
        };
        operation.end(&Outcome::from_result(&renamed, |_| Outcome::default()));
        Ok(done("rename", &renamed?))
    }
}

impl Outcome {
    /// Outcome of a result: from `describe` for a success, else from the error's text and code.
    pub fn from_result<T>(result: &Result<T, FilesError>, describe: impl FnOnce(&T) -> Outcome) -> Outcome {
        match result {
            Ok(value) => describe(value),
            Err(error) => Outcome {
                failure: Some(error.public()),
                code: Some(error.code()),
                ..Outcome::default()
            },
        }
    }
}

fn moved_to(source: Option<&str>, destination: &str) -> Value {
    json!({ "source": source, "destination": destination })
}

fn done(operation: &'static str, rel: &RelPath) -> OpResult {
    OpResult {
        operation,
        ok: true,
        path: Some(rel.text()),
        path_raw: rel.raw(),
        ..OpResult::default()
    }
}
