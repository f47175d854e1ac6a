//! Shared memory that guests have created, as `SharedArrayBuffer`s of the host. Only some hosts can create one for memory that is not their
//! own: Node-API has this as an experimental feature.
//!
//! The host's buffers keep the memory alive: each holds it until the host has released the last of those that share it, on any thread. The
//! lifetimes of environments and isolates do not affect this.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue};
use super::reference::Reference;
use crate::engine::library;
use crate::native::{Guard, lock};
use crate::value::{SharedMemory, Text};

type Finalize = unsafe extern "C" fn(data: *mut c_void, hint: *mut c_void);
type CreateExternal = unsafe extern "C" fn(
    env: sys::napi_env,
    data: *mut c_void,
    length: usize,
    finalize: Option<Finalize>,
    hint: *mut c_void,
    result: *mut sys::napi_value,
) -> sys::napi_status;

/// `node_api_create_external_sharedarraybuffer`, if this host has it.
fn create_external() -> Option<CreateExternal> {
    static FOUND: OnceLock<Option<CreateExternal>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let symbol = library::of_host(c"node_api_create_external_sharedarraybuffer");
        // SAFETY: the symbol with this name is Node-API's function, which has this signature; null becomes `None`.
        unsafe { std::mem::transmute::<*mut c_void, Option<CreateExternal>>(symbol) }
    })
}

/// Memory for which a host environment has a buffer, by its address. Buffers of the same memory travel between environments without our
/// knowledge.
static ADOPTED: Mutex<BTreeMap<usize, Weak<SharedMemory>>> = Mutex::new(BTreeMap::new());

fn adopted() -> Guard<'static, BTreeMap<usize, Weak<SharedMemory>>> {
    lock(&ADOPTED)
}

/// The guest's memory for which the host has a live buffer at this address. `None` for the host's own memory.
pub fn of_guest(address: *mut u8, length: usize) -> Option<Arc<SharedMemory>> {
    // An empty buffer has no memory.
    if length == 0 {
        return None;
    }
    let memory = adopted().get(&address.addr())?.upgrade()?;
    (memory.len() == length).then_some(memory)
}

/// Buffers that an environment has of guests' memory, by its address: memory that arrives again is the same object.
#[derive(Default)]
pub struct Adopted {
    buffers: RefCell<HashMap<usize, Buffer>>,
    external: Arc<Bytes>,
}

/// Bytes of buffers and strings created, minus those gone.
#[derive(Default)]
struct Bytes {
    strings: AtomicI64,
    /// Bytes of both that were not yet reported to the environment's garbage collector, which sees only small objects.
    unreported: AtomicI64,
}

impl Bytes {
    fn add(&self, kind: Kind, bytes: i64) {
        if kind == Kind::String {
            self.strings.fetch_add(bytes, Ordering::Relaxed);
        }
        self.unreported.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What has such memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Buffer,
    String,
}

/// Memory outside the heap of an environment's engine, which belongs to an object there.
pub struct External<T> {
    pub memory: T,
    _count: Count,
}

struct Count {
    kind: Kind,
    bytes: i64,
    external: Arc<Bytes>,
}

impl Drop for Count {
    fn drop(&mut self) {
        self.external.add(self.kind, -self.bytes);
    }
}

impl<T> External<T> {
    /// Ends the count.
    pub fn into_memory(self) -> T {
        self.memory
    }
}

/// The reference of a buffer of the host to memory of a guest. While the buffer lives, the guest's budget is charged for it.
type ExternalShared = External<Arc<SharedMemory>>;

struct Buffer {
    memory: Weak<SharedMemory>,
    /// Weak.
    reference: Reference,
}

impl Adopted {
    /// Counts the memory of `text` as that of a string, until the result is dropped.
    pub fn string(&self, text: Text) -> External<Text> {
        let bytes = text.byte_len();
        self.external(text, Kind::String, bytes)
    }

    fn external<T>(&self, memory: T, kind: Kind, bytes: usize) -> External<T> {
        let bytes = bytes as i64;
        self.external.add(kind, bytes);
        External { memory, _count: Count { kind, bytes, external: Arc::clone(&self.external) } }
    }

    /// Reports to the garbage collector what has changed since the last report.
    pub fn report(&self, js: Js<'_>) {
        js.adjust_external_memory(self.external.unreported.swap(0, Ordering::Relaxed));
    }

    /// Bytes of the strings alone: a host may keep shared buffers for as long as it likes.
    pub fn string_bytes(&self) -> i64 {
        self.external.strings.load(Ordering::Relaxed)
    }

    /// A buffer of `memory`. `None` if the host cannot create one.
    pub fn buffer<'a>(&self, js: Js<'a>, memory: &Arc<SharedMemory>) -> JsResult<Option<JsValue<'a>>> {
        // Memory that another environment has pinned ends with that environment. An empty buffer shares nothing.
        if memory.origin.is_some() || memory.len() == 0 {
            return Ok(None);
        }
        if let Some(buffer) = self.known(js, memory)? {
            return Ok(Some(buffer));
        }
        let Some(buffer) = self.make(js, memory) else { return Ok(None) };
        let mut everywhere = adopted();
        if everywhere.len().is_power_of_two() {
            everywhere.retain(|_, memory| memory.strong_count() > 0);
        }
        everywhere.insert(memory.pointer().addr(), Arc::downgrade(memory));
        drop(everywhere);
        self.remember(js, memory, buffer)?;
        Ok(Some(buffer))
    }

    /// Remembers a buffer of `memory` that leaves the environment: it may have come from another one.
    pub fn remember_departed(&self, js: Js<'_>, memory: &Arc<SharedMemory>, buffer: JsValue<'_>) -> JsResult<()> {
        if self.known(js, memory)?.is_none() {
            self.remember(js, memory, buffer)?;
        }
        Ok(())
    }

    fn known<'a>(&self, js: Js<'a>, memory: &Arc<SharedMemory>) -> JsResult<Option<JsValue<'a>>> {
        let buffers = self.buffers.borrow();
        let Some(buffer) = buffers.get(&memory.pointer().addr()) else { return Ok(None) };
        if !ptr::eq(buffer.memory.as_ptr(), Arc::as_ptr(memory)) {
            // Other memory had this address before.
            return Ok(None);
        }
        let value = js.dereference(&buffer.reference)?;
        Ok((!value.is_none()).then_some(value))
    }

    fn remember(&self, js: Js<'_>, memory: &Arc<SharedMemory>, buffer: JsValue<'_>) -> JsResult<()> {
        let reference = js.weak_reference(buffer)?;
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len().is_power_of_two() {
            for (_, gone) in buffers.extract_if(|_, buffer| buffer.memory.strong_count() == 0) {
                js.delete_reference(gone.reference);
            }
        }
        let old = buffers.insert(memory.pointer().addr(), Buffer { memory: Arc::downgrade(memory), reference });
        if let Some(old) = old {
            js.delete_reference(old.reference);
        }
        Ok(())
    }

    fn make<'a>(&self, js: Js<'a>, memory: &Arc<SharedMemory>) -> Option<JsValue<'a>> {
        let create = create_external()?;
        let owner =
            Box::into_raw(Box::new(self.external(Arc::clone(memory), Kind::Buffer, memory.len()))).cast::<c_void>();
        let mut buffer = ptr::null_mut();
        // SAFETY: the memory is valid for its length while the lease lives, which `release` ends. `js` proves that a callback of this
        // environment runs.
        let status =
            unsafe { create(js.env(), memory.pointer().cast(), memory.len(), Some(release), owner, &raw mut buffer) };
        if status != sys::Status::napi_ok {
            // SAFETY: a host that refuses has taken nothing and does not call `release`.
            drop(unsafe { Box::from_raw(owner.cast::<ExternalShared>()) });
            return None;
        }
        self.report(js);
        // SAFETY: returned by the host just now.
        Some(unsafe { js.returned(buffer) })
    }
}

/// The host calls this once, on any thread, when none of its buffers has the memory any more.
unsafe extern "C" fn release(_data: *mut c_void, owner: *mut c_void) {
    // SAFETY: `owner` is the box that `make` gave away.
    drop(unsafe { Box::from_raw(owner.cast::<ExternalShared>()) });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{Adopted, Kind};
    use crate::value::Text;

    #[test]
    fn buffers_do_not_count_as_strings() {
        let adopted = Adopted::default();
        let reported = || adopted.external.unreported.load(Ordering::Relaxed);
        let buffer = adopted.external((), Kind::Buffer, 1 << 30);
        assert_eq!((adopted.string_bytes(), reported()), (0, 1 << 30));
        let string = adopted.string(Text::Latin1(vec![0; 10]));
        assert_eq!((adopted.string_bytes(), reported()), (10, (1 << 30) + 10));
        drop(buffer);
        assert_eq!((adopted.string_bytes(), reported()), (10, 10));
        drop(string.into_memory());
        assert_eq!((adopted.string_bytes(), reported()), (0, 0));
    }
}
