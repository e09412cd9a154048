//! Sets of headers.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use wasmtime::component::Resource;
use wasmtime::{Result, bail};

use super::types::{self, HeaderError};
use crate::memory::{Account, Charge, HANDLE, OutOfMemory};
use crate::state::{HEADER, State};

/// Headers in one set.
const MAX: usize = 256;
/// Bytes of names and values in one set.
const MAX_BYTES: usize = 64 << 10;

/// Names that belong to the connection, which no guest has.
const FORBIDDEN: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::HOST,
    HeaderName::from_static("http2-settings"),
];

/// One set of headers, in the order they were given.
pub struct Fields {
    list: Vec<(HeaderName, Vec<u8>)>,
    bytes: usize,
    fixed: bool,
    charge: Charge,
}

impl Fields {
    fn empty(account: &Arc<Account>) -> Result<Self, OutOfMemory> {
        Ok(Self {
            list: Vec::new(),
            bytes: 0,
            fixed: false,
            charge: account.charge(HANDLE)?,
        })
    }

    /// The headers of an answer. What is over the bounds is left out: a guest has no use for it.
    pub(super) fn read(headers: &HeaderMap, account: &Arc<Account>) -> Result<Self> {
        let mut all = Self::empty(account)?;
        for (name, value) in headers {
            let fits = all.list.len() < MAX && all.bytes + name.as_str().len() + value.len() <= MAX_BYTES;
            if fits && !FORBIDDEN.contains(name) {
                all.push(name.clone(), value.as_bytes().to_vec())?;
            }
        }
        all.fixed = true;
        Ok(all)
    }

    /// A set of its own with the same headers.
    pub(super) fn copy(&self, fixed: bool) -> Result<Self, OutOfMemory> {
        let size = HANDLE + self.bytes + self.list.len() * HEADER;
        Ok(Self {
            charge: self.charge.account().charge(size)?,
            list: self.list.clone(),
            bytes: self.bytes,
            fixed,
        })
    }

    pub(super) fn fix(&mut self) {
        self.fixed = true;
    }

    pub(super) fn into_list(self) -> Vec<(String, Vec<u8>)> {
        let plain = |(name, value): (HeaderName, Vec<u8>)| (name.as_str().to_owned(), value);
        self.list.into_iter().map(plain).collect()
    }

    /// The length the guest says its body has; none when it says none or no number.
    pub(super) fn content_length(&self) -> Option<u64> {
        let (_, value) = self
            .list
            .iter()
            .find(|(name, _)| name == header::CONTENT_LENGTH)?;
        std::str::from_utf8(value).ok()?.parse().ok()
    }

    fn push(&mut self, name: HeaderName, value: Vec<u8>) -> Result<()> {
        let more = name.as_str().len() + value.len();
        if self.list.len() >= MAX || self.bytes + more > MAX_BYTES {
            bail!(
                "a set of headers holds at most {MAX} of them and {} KiB",
                MAX_BYTES >> 10
            );
        }
        self.charge.grow(more + HEADER)?;
        self.bytes += more;
        self.list.push((name, value));
        Ok(())
    }

    fn remove(&mut self, name: &HeaderName) -> Result<()> {
        self.list.retain(|(known, _)| known != name);
        let size = |(name, value): &(HeaderName, Vec<u8>)| name.as_str().len() + value.len();
        self.bytes = self.list.iter().map(size).sum();
        self.charge
            .resize(HANDLE + self.bytes + self.list.len() * HEADER)?;
        Ok(())
    }

    fn name(&self, text: &str) -> Result<HeaderName, HeaderError> {
        if self.fixed {
            return Err(HeaderError::Immutable);
        }
        let name = HeaderName::from_bytes(text.as_bytes()).map_err(|_| HeaderError::InvalidSyntax)?;
        if FORBIDDEN.contains(&name) {
            return Err(HeaderError::Forbidden);
        }
        Ok(name)
    }

    fn append(&mut self, name: &str, value: Vec<u8>) -> Result<Result<(), HeaderError>> {
        let name = match self.name(name) {
            Ok(name) => name,
            Err(error) => return Ok(Err(error)),
        };
        // Two lengths would leave open where the body ends.
        let second_length =
            name == header::CONTENT_LENGTH && self.list.iter().any(|(known, _)| *known == name);
        if second_length || HeaderValue::from_bytes(&value).is_err() {
            return Ok(Err(HeaderError::InvalidSyntax));
        }
        self.push(name, value).map(Ok)
    }
}

impl types::HostFields for State {
    fn new(&mut self) -> Result<Resource<Fields>> {
        let fields = Fields::empty(&self.account)?;
        Ok(self.table.push(fields)?)
    }

    fn from_list(
        &mut self,
        entries: Vec<(String, Vec<u8>)>,
    ) -> Result<Result<Resource<Fields>, HeaderError>> {
        let mut fields = Fields::empty(&self.account)?;
        for (name, value) in entries {
            if let Err(error) = fields.append(&name, value)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(self.table.push(fields)?))
    }

    fn get(&mut self, this: Resource<Fields>, name: String) -> Result<Vec<Vec<u8>>> {
        let fields = self.table.get(&this)?;
        let same = fields
            .list
            .iter()
            .filter(|(known, _)| known.as_str().eq_ignore_ascii_case(&name));
        Ok(same.map(|(_, value)| value.clone()).collect())
    }

    fn has(&mut self, this: Resource<Fields>, name: String) -> Result<bool> {
        let fields = self.table.get(&this)?;
        let same = |(known, _): &(HeaderName, Vec<u8>)| known.as_str().eq_ignore_ascii_case(&name);
        Ok(fields.list.iter().any(same))
    }

    fn set(
        &mut self,
        this: Resource<Fields>,
        name: String,
        values: Vec<Vec<u8>>,
    ) -> Result<Result<(), HeaderError>> {
        let fields = self.table.get_mut(&this)?;
        let parsed = match fields.name(&name) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(error)),
        };
        fields.remove(&parsed)?;
        for value in values {
            if let Err(error) = fields.append(&name, value)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn delete(&mut self, this: Resource<Fields>, name: String) -> Result<Result<(), HeaderError>> {
        let fields = self.table.get_mut(&this)?;
        match fields.name(&name) {
            Ok(name) => fields.remove(&name).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn append(
        &mut self,
        this: Resource<Fields>,
        name: String,
        value: Vec<u8>,
    ) -> Result<Result<(), HeaderError>> {
        self.table.get_mut(&this)?.append(&name, value)
    }

    fn entries(&mut self, this: Resource<Fields>) -> Result<Vec<(String, Vec<u8>)>> {
        let fields = self.table.get(&this)?;
        let entry = |(name, value): &(HeaderName, Vec<u8>)| (name.as_str().to_owned(), value.clone());
        Ok(fields.list.iter().map(entry).collect())
    }

    fn clone(&mut self, this: Resource<Fields>) -> Result<Resource<Fields>> {
        let copy = self.table.get(&this)?.copy(false)?;
        Ok(self.table.push(copy)?)
    }

    fn drop(&mut self, this: Resource<Fields>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
