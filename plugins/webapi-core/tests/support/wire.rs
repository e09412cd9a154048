//! Target of a session's requests: a real client (and a record), a record, or a script.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use webapi_core::{Http, NetError, Request};

use super::exchange::Exchange;
use super::http::{Whole, send};

pub type Script = Box<dyn Fn(&Request) -> Result<Whole, NetError>>;

pub enum Wire {
    Real {
        record: Rc<RefCell<Vec<Exchange>>>,
    },
    /// Each request must be the next one of the record.
    Recorded {
        left: RefCell<VecDeque<Exchange>>,
        base_url: String,
    },
    Scripted(Script),
}

impl Wire {
    pub fn real() -> (Wire, Rc<RefCell<Vec<Exchange>>>) {
        let record = Rc::new(RefCell::new(Vec::new()));
        (
            Wire::Real {
                record: record.clone(),
            },
            record,
        )
    }

    pub fn recorded(exchanges: Vec<Exchange>, base_url: &str) -> Wire {
        Wire::Recorded {
            left: RefCell::new(exchanges.into()),
            base_url: base_url.into(),
        }
    }

    pub fn scripted(script: impl Fn(&Request) -> Result<Whole, NetError> + 'static) -> Wire {
        Wire::Scripted(Box::new(script))
    }

    pub fn is_real(&self) -> bool {
        matches!(self, Wire::Real { .. })
    }
}

impl Http for Wire {
    type Answer = Whole;

    fn send(&self, request: Request) -> Result<Whole, NetError> {
        match self {
            Wire::Real { record } => {
                let answer = send(&request)?;
                record.borrow_mut().push(Exchange::record(&request, &answer));
                Ok(answer)
            }
            Wire::Recorded { left, base_url } => {
                let expected = left.borrow_mut().pop_front();
                let expected =
                    expected.unwrap_or_else(|| panic!("not recorded: {} {}", request.method, request.url));
                Ok(expected.replay(&request, base_url))
            }
            Wire::Scripted(script) => script(&request),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Wire::Recorded { left, .. } = self
            && !std::thread::panicking()
        {
            let left = left.borrow();
            assert!(
                left.is_empty(),
                "recorded, but not asked: {:?}",
                left.front().map(Exchange::label)
            );
        }
    }
}
