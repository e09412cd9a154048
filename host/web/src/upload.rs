//! Multipart bodies: one file in the part `file`, and text fields that are validated like any other body.
//! Bounds: 20 MiB for the file, 1 MiB per field, 100 parts, and in total the route's limit of a body.

use std::borrow::Cow;

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use bytes::{Bytes, BytesMut};
use http::header;
use http_body::Body as _;
use qm_kernel::ErrorKind;

use crate::body::{BodyBounds, cut_short, from_pairs, io_cause, parse, read_all};
use crate::error::ApiError;
use crate::fields::FromBody;

pub(crate) const MAX_FILE: usize = 20 * 1024 * 1024;
const MAX_FIELD: usize = 1024 * 1024;
const MAX_PARTS: usize = 100;
pub(crate) const FILE_PART: &str = "file";
const TAKEN: &str = "multipart/form-data";

/// A validated multipart body. A body that is not multipart is read like [`Body`](crate::Body), without a file.
#[derive(Clone, Debug)]
pub struct Upload<T> {
    pub fields: T,
    pub file: Option<UploadedFile>,
}

#[derive(Clone, Debug)]
pub struct UploadedFile {
    /// File name from the caller; never to be used as a path.
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
            let (parts, body) = request.into_parts();
            let bytes = read_all(body, BodyBounds::from_extensions(&parts.extensions)).await?;
            let fields = parse(&parts.headers, &bytes, TAKEN)?;
            return Ok(Upload { fields, file: None });
        }
        let bounds = BodyBounds::from_extensions(request.extensions());
        if request.body().size_hint().lower() > bounds.drain.max(bounds.limit) as u64 {
            return Err(ApiError::body_too_large());
        }
        // The limit of kept bytes is checked below; this one limits the reading of a refused body.
        DefaultBodyLimit::max(bounds.drain.max(bounds.limit)).apply(&mut request);
        let mut multipart = Multipart::from_request(request, state)
            .await
            .map_err(|rejection| broken(rejection.body_text()))?;
        let mut parts = Parts {
            limit: bounds.limit,
            ..Parts::default()
        };
        if let Err(error) = parts.read(&mut multipart).await {
            // Read to the end: a caller that is still sending would not see the answer.
            while let Ok(Some(_)) = multipart.next_field().await {}
            return Err(error);
        }
        let pairs: Vec<_> = parts
            .texts
            .into_iter()
            .map(|(name, text)| (Cow::Owned(name), Cow::Owned(text)))
            .collect();
        Ok(Upload {
            fields: from_pairs(&pairs)?,
            file: parts.file,
        })
    }
}

#[derive(Default)]
struct Parts {
    texts: Vec<(String, String)>,
    file: Option<UploadedFile>,
    count: usize,
    /// Size of all parts together, in bytes.
    bytes: usize,
    /// Limit of that size.
    limit: usize,
}

impl Parts {
    async fn read(&mut self, multipart: &mut Multipart) -> Result<(), ApiError> {
        while let Some(field) = multipart.next_field().await.map_err(malformed)? {
            self.count += 1;
            if self.count > MAX_PARTS {
                return Err(broken("Too many parts"));
            }
            let name = field.name().unwrap_or_default().to_owned();
            match field.file_name().map(str::to_owned) {
                Some(file_name) if name == FILE_PART && self.file.is_none() => {
                    let too_large = || {
                        ApiError::new(ErrorKind::PayloadTooLarge, "File too large")
                            .with_code("payload_too_large.file")
                    };
                    let bytes = self.read_part(field, MAX_FILE, too_large).await?;
                    self.file = Some(UploadedFile {
                        name: file_name,
                        bytes,
                    });
                }
                Some(_) => return Err(broken("Unexpected field")),
                None => {
                    let too_long = || broken("Field value too long");
                    let bytes = self.read_part(field, MAX_FIELD, too_long).await?;
                    self.texts
                        .push((name, String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
        }
        Ok(())
    }

    async fn read_part(
        &mut self,
        mut field: Field<'_>,
        limit: usize,
        too_large: impl Fn() -> ApiError,
    ) -> Result<Bytes, ApiError> {
        let mut whole = BytesMut::new();
        while let Some(chunk) = field.chunk().await.map_err(malformed)? {
            self.bytes += chunk.len();
            if whole.len() + chunk.len() > limit {
                return Err(too_large());
            }
            if self.bytes > self.limit {
                return Err(ApiError::body_too_large());
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }
}

fn malformed(error: MultipartError) -> ApiError {
    if error.status() == http::StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::body_too_large();
    }
    if io_cause(&error).is_some() {
        return cut_short(error);
    }
    broken(error.body_text())
}

fn broken(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorKind::BadRequest, message).with_code("bad_request.multipart")
}
