//! The world as this crate sees it: one blocking HTTP exchange at a time, and a clock.

/// Network errors; the cases of the plugin contract's `net-error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetError {
    Denied(String),
    Timeout,
    Refused,
    Closed,
    TooLarge,
    Other(String),
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    /// Absolute.
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Bounds silence, in milliseconds.
    pub idle_ms: u32,
    /// Bytes the answer's body may have.
    pub max_body: u64,
}

pub trait Http {
    type Answer: Answer;
    /// Sends and returns once the head of the answer is there. A 3xx is an answer.
    fn send(&self, request: Request) -> Result<Self::Answer, NetError>;
}

/// An answer whose body has yet to be read.
pub trait Answer {
    fn status(&self) -> u16;
    /// Every value of a header, whatever the case of its name.
    fn header_values(&self, name: &str) -> Vec<String>;
    /// At most `max` bytes; empty at the end.
    fn read(&mut self, max: u32) -> Result<Vec<u8>, NetError>;
    fn read_to_end(&mut self) -> Result<Vec<u8>, NetError>;
}

pub trait Clock {
    /// Milliseconds that never go back.
    fn monotonic_ms(&self) -> u64;
    fn sleep_ms(&self, ms: u32);
}

#[cfg(test)]
pub(crate) mod canned {
    use super::*;

    /// An answer out of the air.
    pub struct Canned {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        /// Bytes a read gives at most, to see that nothing depends on where chunks end.
        pub step: usize,
    }

    impl Canned {
        pub fn new(status: u16, body: &str) -> Self {
            Canned {
                status,
                headers: Vec::new(),
                body: body.into(),
                step: usize::MAX,
            }
        }

        pub fn with_header(mut self, name: &str, value: &str) -> Self {
            self.headers.push((name.into(), value.into()));
            self
        }
    }

    impl Answer for Canned {
        fn status(&self) -> u16 {
            self.status
        }
        fn header_values(&self, name: &str) -> Vec<String> {
            let named = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.clone()).collect()
        }
        fn read(&mut self, max: u32) -> Result<Vec<u8>, NetError> {
            let n = self.body.len().min(max as usize).min(self.step);
            Ok(self.body.drain(..n).collect())
        }
        fn read_to_end(&mut self) -> Result<Vec<u8>, NetError> {
            Ok(std::mem::take(&mut self.body))
        }
    }
}
