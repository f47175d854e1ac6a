//! The call or event for which the surface runs at the moment, and its limits.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::async_contexts::AsyncContexts;
use super::environment_handle::EnvironmentHandle;
use super::streams::Retained;
use crate::isolate::caller_thread::DirectCaller;
use crate::isolate::{Limits, Remote};
use crate::value::{Chain, DirectCall, Fault, Reply};

/// The event that is being handled, for what results from it.
#[derive(Clone, Copy, Default)]
pub struct Current {
    /// The isolate that the event comes from; 0 for none.
    pub origin: u64,
    /// The async call whose outcome the event is; 0 for none.
    pub call: i64,
}

/// What a carrier is written for.
#[derive(Clone, Copy, Default)]
pub struct Purpose {
    /// The event loop delivers it.
    pub is_delivered: bool,
    /// It is an argument of a guest's call.
    pub is_argument: bool,
}

/// A loop of the surface serves calls of guests on this thread.
pub struct DirectServing {
    /// The guest whose calls these are.
    pub requester: DirectCaller,
    /// The call that it serves now, if it does.
    pub direct: RefCell<Option<Rc<DirectCall>>>,
    /// Describes that call to the surface, see `DIRECT_CALL` in its `protocol.js`.
    pub head: Cell<f64>,
    /// How many calls it may serve before it returns, this one included.
    pub left: Cell<u32>,
    /// What the context has between two calls.
    pub limits: Limits,
    pub request: i64,
}

impl CallContext {
    /// The asynchronous call on whose behalf the chain of this thread is; 0 for none.
    pub fn request(&self) -> i64 {
        self.chain.borrow().as_ref().map_or(0, Chain::request)
    }

    /// The chain of this thread is on behalf of the call `request` from now on. Returns that of before.
    pub fn act_for(&self, request: i64) -> i64 {
        let mut chain = self.chain.borrow_mut();
        let before = chain.as_ref().map_or(0, Chain::request);
        if before != request {
            *chain = chain.take().map(|chain| chain.in_async_context(request));
        }
        before
    }
}

#[derive(Default)]
pub struct CallContext {
    pub current: Cell<Current>,
    /// That of the carrier that is being written.
    pub purpose: Cell<Purpose>,
    /// The isolate that has requested the value that is being read.
    pub requester: RefCell<Option<Arc<Remote>>>,
    /// Limits of the call whose outcome was last given to the surface, or that waits while the surface serves a request.
    pub limits: Cell<Limits>,
    /// The host has stopped the JavaScript that a guest called while a sync call waits, for example because of a time limit of `node:vm`. The
    /// host forgets this as soon as that JavaScript has ended.
    pub interrupted: Cell<bool>,
    /// Requests whose JavaScript the host has stopped, and their outcomes. The call that waits ends first: the guest must not ask again.
    pub interrupted_requests: RefCell<Vec<(i64, Fault)>>,
    /// Limits of the sync call that waits. Its deadline applies to all sync calls that are made meanwhile, and all of them to what is read.
    pub waiting: Cell<Limits>,
    /// Those of pending calls.
    pub async_contexts: AsyncContexts,
    /// The chain of the sync call that this thread is in.
    pub chain: RefCell<Option<Chain>>,
    /// A chain and a reply for the next sync call.
    pub spare_chain: Cell<Option<Chain>>,
    pub spare_reply: Cell<Option<Arc<Reply<EnvironmentHandle>>>>,
    /// Calls of guests that the surface serves now.
    pub direct_serving: RefCell<Option<Rc<DirectServing>>>,
    /// Set if the surface reads, in several turns, the value that it was just given: the number of that reading.
    pub pausing: Cell<Option<u64>>,
    /// Objects that the value just given to the surface refers to by number.
    pub retained: RefCell<Vec<Retained>>,
}
