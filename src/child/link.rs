//! The connection to the parent, as a guest in a child sees it: the host whose functions it calls.

use std::any::Any;
use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, OnceLock};

use super::frame::{End, Limits, Message};
use crate::isolate::next_owner_id;
use crate::native::lock;
use crate::ops::op;
use crate::protocol::LEVELS;
use crate::sandbox::ExecutionResult;
use crate::value::{
    Callable, CallbackMode, Chain, Code, Completion, ErrorClass, Fault, Host, Outcome, Owner, Request, Slot, Text,
    Value,
};

/// The slot of the function that receives log lines; every other slot is a tool's index.
const LOG: u32 = u32::MAX;

pub struct Link {
    id: u64,
    /// A writer waits until the parent has read the bytes. This slows down a guest that sends faster than the parent reads.
    out: Mutex<UnixStream>,
    calls: Mutex<PendingCalls>,
    /// What the parent accepts.
    limits: OnceLock<Limits>,
}

#[derive(Default)]
struct PendingCalls {
    last: u32,
    pending: HashMap<u32, Arc<dyn Completion>>,
}

impl Link {
    pub fn new(out: UnixStream) -> Arc<Self> {
        Arc::new(Self { id: next_owner_id(), out: Mutex::new(out), calls: Mutex::default(), limits: OnceLock::new() })
    }

    /// Sets the limits of the one execution.
    pub fn limit(&self, limits: Limits) {
        // There is one execution, so this is set once.
        let _ = self.limits.set(limits);
    }

    fn limits(&self) -> &Limits {
        self.limits.get().unwrap_or(&Limits::IDLE)
    }

    pub fn send(&self, message: &Message) {
        let frame = message.encode();
        let mut out = lock(&self.out);
        // If the parent is gone it needs nothing, and this process ends with it.
        let _ = out.write_all(&frame);
    }

    /// The function that receives log lines.
    pub fn listener(self: &Arc<Self>) -> Arc<Callable> {
        self.function(LOG, CallbackMode::Ignored)
    }

    pub fn tool(self: &Arc<Self>, index: u32) -> Arc<Callable> {
        self.function(index, CallbackMode::Awaited)
    }

    fn function(self: &Arc<Self>, index: u32, mode: CallbackMode) -> Arc<Callable> {
        let slot = Slot::new(Arc::clone(self) as Arc<dyn Owner>, index);
        Arc::new(Callable { slot, name: Text::from(""), length: 1, mode })
    }

    /// The parent sends the outcome of a call.
    pub fn answered(&self, call: u32, outcome: Outcome) {
        let completion = lock(&self.calls).pending.remove(&call);
        if let Some(completion) = completion {
            completion.complete(outcome);
        }
    }
}

impl Owner for Link {
    fn id(&self) -> u64 {
        self.id
    }

    fn release(&self, _slot: u32) {}

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn as_host(self: Arc<Self>) -> Option<Arc<dyn Host>> {
        Some(self)
    }
}

impl Host for Link {
    fn register(&self, _isolate: &Arc<dyn Owner>) {}

    fn notify(&self) {}

    fn request(&self, Request { op, slot, args, completion, .. }: Request) {
        let mut args = args.into_iter();
        match (op & !op::SHOWS_STACKS, slot.index(), args.next(), args.next()) {
            (op::CALL, LOG, Some(Value::String(level)), Some(Value::String(text))) => {
                let level = level.to_string();
                let level = LEVELS.iter().position(|known| *known == level).and_then(|index| u8::try_from(index).ok());
                self.send(&Message::Log(level.unwrap_or(0), text));
                completion.complete(Ok(Value::Undefined));
            }
            (op::CALL_AWAITED, tool, Some(Value::String(params)), None) => {
                let most = self.limits().params;
                if params.byte_len() > most {
                    let message = format!("Tool parameters take {} bytes, more than {most}", params.byte_len());
                    return completion.complete(Err(Fault::coded(ErrorClass::RangeError, &message, Code::Limit)));
                }
                let mut calls = lock(&self.calls);
                calls.last += 1;
                let call = calls.last;
                calls.pending.insert(call, completion);
                // Under the lock, so that the parent gets calls in the order of their numbers.
                self.send(&Message::Call(call, tool, params));
            }
            _ => completion.complete(Err(crate::ops::malformed())),
        }
    }

    /// A guest that calls too often waits in [`Link::send`].
    fn admit(
        &self,
        _requester: u64,
        _chain: &Chain,
        _over_budget: bool,
        _answer: &Arc<dyn Completion>,
    ) -> Result<bool, Fault> {
        Ok(true)
    }

    fn begin(&self) {}

    fn end(&self) {}
}

/// Tells the parent how the execution has ended.
pub struct Last(pub Arc<Link>);

impl Completion for Last {
    fn complete(&self, outcome: Outcome) {
        let end = outcome.ok().and_then(end_of).unwrap_or_else(|| End {
            ok: false,
            value: Value::String(Text::from("The execution could not begin")),
            code: None,
            name: None,
            stack: None,
            details: None,
            figures: [0.0; 2],
        });
        self.0.send(&Message::End(Box::new(end.fitted(self.0.limits()))));
    }
}

/// Converts a session's result. The lines of its log were sent before.
fn end_of(result: Value) -> Option<End> {
    let ExecutionResult { ok, value, code, name, stack, details, heap_peak, lost, .. } = ExecutionResult::read(result)?;
    Some(End { ok, value, code, name, stack, details, figures: [heap_peak, lost] })
}
