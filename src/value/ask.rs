//! A call of a host by a guest that runs on the host's own thread. Nothing is sent: both look at the same record in turn.

use std::cell::Cell;

use super::{Awaited, Outcome, Value};

/// The record is used for one call after another.
#[derive(Default)]
pub struct Ask {
    pub op: u32,
    /// The guest may see the locations of the host's code.
    pub shows_stacks: bool,
    /// The host, and the number of its slot. The guest holds the slot until it has the answer.
    pub host: u64,
    pub slot: u32,
    /// As in the table of operations. All of them are primitives.
    pub args: Vec<Value>,
    /// The asynchronous call on whose behalf the guest asks; 0 for none.
    pub request: i64,
    /// The isolate that asks.
    pub asker: u64,
    state: Cell<State>,
}

#[derive(Default)]
enum State {
    #[default]
    Open,
    /// The guest no longer waits.
    Over,
    Answered(Outcome),
    /// The host has called nothing: it needs a request.
    Refused,
}

impl Ask {
    /// Those of an application begin with four more.
    pub const MAX_ARGS: usize = 10;

    /// Prepares it for another call.
    pub fn reset(&mut self) {
        self.args.clear();
        self.state = Cell::default();
    }

    /// Answers it; `None` if it must be a request.
    pub fn answer(&self, outcome: Option<Outcome>) {
        if !self.is_over() {
            self.state.set(outcome.map_or(State::Refused, State::Answered));
        }
    }

    /// Whether nothing waits for the answer any more.
    pub fn is_over(&self) -> bool {
        let state = self.state.take();
        let is_over = matches!(state, State::Over);
        self.state.set(state);
        is_over
    }

    /// Whether it must be a request.
    pub fn is_refused(&self) -> bool {
        let state = self.state.take();
        let is_refused = matches!(state, State::Refused);
        self.state.set(state);
        is_refused
    }
}

impl Awaited for Ask {
    fn take(&self) -> Option<Outcome> {
        match self.state.replace(State::Over) {
            State::Answered(outcome) => Some(outcome),
            State::Refused => {
                self.state.set(State::Refused);
                Some(Ok(Value::Undefined))
            }
            state => {
                self.state.set(state);
                None
            }
        }
    }

    fn give_up(&self) {
        self.state.set(State::Over);
    }
}
