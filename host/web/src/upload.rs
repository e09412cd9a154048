//! Multipart bodies: one file in the part `file`, and text fields validated like any other body.
//! Bounds: 20 MiB for the file, 1 MiB a field, 100 parts.

use std::borrow::Cow;

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use bytes::{Bytes, BytesMut};
use http::header;
use qm_kernel::ErrorKind;

use crate::body::{Body, MAX_BODY, from_pairs};
use crate::error::ApiError;
use crate::fields::FromBody;

const MAX_FILE: usize = 20 * 1024 * 1024;
const MAX_FIELD: usize = 1024 * 1024;
const MAX_PARTS: usize = 100;
const FILE_PART: &str = "file";

/// A validated multipart body. A body that is not multipart is read like [`Body`], without a file.
#[derive(Clone, Debug)]
pub struct Upload<T> {
    pub fields: T,
    pub file: Option<UploadedFile>,
}

#[derive(Clone, Debug)]
pub struct UploadedFile {
    /// As the caller named it; never a path to be used as one.
    pub name: String,
    pub bytes: Bytes,
}

impl<T: FromBody, S: Send + Sync> FromRequest<S> for Upload<T> {
    type Rejection = ApiError;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let is_multipart = kind.is_some_and(|text| {
            text.trim_start()
                .to_ascii_lowercase()
                .starts_with("multipart/form-data")
        });
        if !is_multipart {
            let Body(fields) = Body::from_request(request, state).await?;
            return Ok(Upload { fields, file: None });
        }
        DefaultBodyLimit::max(MAX_BODY).apply(&mut request);
        let multipart = Multipart::from_request(request, state)
            .await
            .map_err(|rejection| ApiError::new(ErrorKind::BadRequest, rejection.body_text()))?;
        let (texts, file) = read_parts(multipart).await?;
        let pairs: Vec<_> = texts
            .into_iter()
            .map(|(name, text)| (Cow::Owned(name), Cow::Owned(text)))
            .collect();
        Ok(Upload {
            fields: from_pairs(&pairs)?,
            file,
        })
    }
}

async fn read_parts(
    mut multipart: Multipart,
) -> Result<(Vec<(String, String)>, Option<UploadedFile>), ApiError> {
    let mut texts = Vec::new();
    let mut file = None;
    let mut parts = 0;
    while let Some(field) = multipart.next_field().await.map_err(malformed)? {
        parts += 1;
        if parts > MAX_PARTS {
            return Err(ApiError::new(ErrorKind::BadRequest, "Too many parts"));
        }
        let name = field.name().unwrap_or_default().to_owned();
        match field.file_name().map(str::to_owned) {
            Some(file_name) if name == FILE_PART && file.is_none() => {
                let too_large = || ApiError::new(ErrorKind::PayloadTooLarge, "File too large");
                let bytes = read_part(field, MAX_FILE, too_large).await?;
                file = Some(UploadedFile {
                    name: file_name,
                    bytes,
                });
            }
            Some(_) => return Err(ApiError::new(ErrorKind::BadRequest, "Unexpected field")),
            None => {
                let too_long = || ApiError::new(ErrorKind::BadRequest, "Field value too long");
                let bytes = read_part(field, MAX_FIELD, too_long).await?;
                texts.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }
    Ok((texts, file))
}

async fn read_part(
    mut field: Field<'_>,
    limit: usize,
    too_large: impl Fn() -> ApiError,
) -> Result<Bytes, ApiError> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = field.chunk().await.map_err(malformed)? {
        if whole.len() + chunk.len() > limit {
            return Err(too_large());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

fn malformed(error: MultipartError) -> ApiError {
    if error.status() == http::StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::body_too_large();
    }
    ApiError::new(ErrorKind::BadRequest, error.body_text())
}
