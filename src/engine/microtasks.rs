//! Microtasks of an isolate in which execution was terminated. When a termination reaches V8's microtask loop, V8 drops all microtasks that are
//! left. Each microtask belongs to the async call for which its code runs, so calls that have nothing to do with the terminated one would
//! never be answered. On Linux the linker redirects two functions of the loop to this module (`build.rs`): it reports what the terminated
//! microtask belongs to, and keeps the microtasks of others.

use std::cell::Cell;
use std::sync::OnceLock;

/// Whether code of this owner was terminated before in an isolate. Runs no code of the guest.
pub type IsStopped = fn(&v8::Isolate, i64) -> bool;

static IS_STOPPED: OnceLock<IsStopped> = OnceLock::new();

/// Microtasks are dropped if `is_stopped` is true for their owner: two owners that continue each other would keep the isolate busy forever.
pub fn drop_microtasks_if(is_stopped: IsStopped) {
    // Fails only if it was set before.
    let _ = IS_STOPPED.set(is_stopped);
}

/// What was terminated.
#[derive(Clone, Copy, Debug)]
pub struct TerminatedMicrotask {
    /// What it belongs to, as a number: a host's async call, or an evaluation of a module; 0 for neither.
    pub owner: i64,
    /// Whether microtasks of other owners are left in the queue.
    pub left: bool,
}

thread_local! {
    /// The last one of this thread that was not taken, and the address of its isolate.
    static TERMINATED: Cell<Option<(usize, TerminatedMicrotask)>> = const { Cell::new(None) };
}

/// The microtask of this isolate that was terminated on this thread since the last call; `None` if there was none.
pub fn take_terminated_microtask(isolate: &v8::Isolate) -> Option<TerminatedMicrotask> {
    // SAFETY: the address is only compared.
    let address = unsafe { isolate.as_raw_isolate_ptr() };
    TERMINATED.take().filter(|(of, _)| *of == address_of(&address)).map(|(_, terminated)| terminated)
}

fn address_of(isolate: &v8::UnsafeRawIsolatePtr) -> usize {
    // SAFETY: `UnsafeRawIsolatePtr` is a pointer. It is not followed here.
    unsafe { std::mem::transmute_copy::<v8::UnsafeRawIsolatePtr, usize>(isolate) }
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::mem;
    use std::ptr;

    use super::{IS_STOPPED, TERMINATED, TerminatedMicrotask, address_of};

    unsafe extern "C" {
        /// `v8::internal::Execution::TryRunMicrotasks`. Returns null if execution was terminated.
        #[link_name = "__real__ZN2v88internal9Execution16TryRunMicrotasksEPNS0_7IsolateEPNS0_14MicrotaskQueueE"]
        fn try_run(isolate: v8::UnsafeRawIsolatePtr, queue: *mut Queue) -> *const c_void;
        /// `v8::internal::Isolate::OnTerminationDuringRunMicrotasks`.
        #[link_name = "__real__ZN2v88internal7Isolate32OnTerminationDuringRunMicrotasksEv"]
        fn on_termination(isolate: v8::UnsafeRawIsolatePtr);
        /// `v8::Isolate::GetContinuationPreservedEmbedderData`, for which the crate `v8` requires a context. Returns a local handle.
        #[link_name = "v8__Context__GetContinuationPreservedEmbedderData"]
        fn current_data(isolate: v8::UnsafeRawIsolatePtr) -> *const Task;
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal9Execution16TryRunMicrotasksEPNS0_7IsolateEPNS0_14MicrotaskQueueE",
        ".hidden __wrap__ZN2v88internal7Isolate32OnTerminationDuringRunMicrotasksEv"
    );

    /// A `v8::internal::MicrotaskQueue`.
    #[repr(C)]
    struct Queue {
        vtable: *const c_void,
        ring: Ring,
    }

    /// The microtask `index` is at `(start + index) % capacity` of the buffer. V8 allocates the buffer with `new[]`. The garbage collector
    /// visits it as part of the queue.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Ring {
        size: isize,
        capacity: isize,
        start: isize,
        buffer: *mut Task,
    }

    impl Ring {
        const EMPTY: Self = Self { size: 0, capacity: 0, start: 0, buffer: ptr::null_mut() };

        fn is_valid(&self) -> bool {
            let within = 0..self.capacity;
            !self.buffer.is_null() && within.contains(&self.start) && (0..=self.capacity).contains(&self.size)
        }

        /// The address of a microtask.
        ///
        /// # Safety
        /// The ring is valid, and `index` is less than its size.
        unsafe fn at(&self, index: isize) -> *mut Task {
            // SAFETY: within the buffer.
            unsafe { self.buffer.offset((self.start + index) % self.capacity) }
        }

        /// Removes the microtasks that `keep` does not accept.
        ///
        /// # Safety
        /// The ring is valid, and nothing collects garbage meanwhile.
        unsafe fn retain(&mut self, keep: impl Fn(Task) -> bool) {
            let mut kept = 0;
            for index in 0..self.size {
                // SAFETY: `kept` is at most `index`, which is less than the size.
                unsafe {
                    let task = self.at(index).read();
                    if keep(task) {
                        self.at(kept).write(task);
                        kept += 1;
                    }
                }
            }
            self.size = kept;
        }
    }

    /// A tagged pointer to a `v8::internal::Microtask`. Its first field after the map is V8's `continuation_preserved_embedder_data`.
    type Task = *const u8;

    const TAG: usize = 1;
    const WORD: usize = size_of::<usize>();
    /// `Microtask::continuation_preserved_embedder_data_`.
    const DATA: usize = WORD - TAG;
    /// `JSObject::elements`, after the map and the properties.
    const ELEMENTS: usize = 2 * WORD - TAG;
    /// The first element of a `FixedArray`, after the map and the length.
    const FIRST: usize = 2 * WORD - TAG;

    /// The number of an owner: a number, or the first element of an array, as `isolate::async_context` sets it.
    ///
    /// # Safety
    /// `place` has a tagged pointer or a small integer, and nothing collects garbage meanwhile.
    unsafe fn owner_at(place: *const Task) -> i64 {
        // SAFETY: a local handle is the address of such a place. Each of these calls only reads the object. The context is not accessible to guests, so
        // that an array has the two elements with which it was made. V8's own way to read them refuses while execution is terminated.
        unsafe {
            let mut data = mem::transmute::<*const Task, v8::Local<'_, v8::Value>>(place);
            if data.is_array() {
                let elements = (*place).add(ELEMENTS).cast::<Task>().read();
                data = mem::transmute::<*const Task, v8::Local<'_, v8::Value>>(elements.add(FIRST).cast());
            }
            v8::Local::<v8::Number>::try_from(data).map_or(0, |owner| owner.value() as i64)
        }
    }

    thread_local! {
        /// The queue of an isolate, by its address, and what it had when V8 was about to empty it.
        static KEPT: Cell<Option<(usize, *mut Queue, Ring)>> = const { Cell::new(None) };
    }

    /// `v8::internal::Execution::TryRunMicrotasks`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9Execution16TryRunMicrotasksEPNS0_7IsolateEPNS0_14MicrotaskQueueE(
        isolate: v8::UnsafeRawIsolatePtr,
        queue: *mut Queue,
    ) -> *const c_void {
        // SAFETY: forwards the call.
        let result = unsafe { try_run(isolate, queue) };
        if result.is_null() {
            // SAFETY: V8 has the queue, and is on its isolate's thread.
            unsafe { terminated(isolate, queue) };
        }
        result
    }

    /// # Safety
    /// `queue` belongs to `isolate`, which has been entered on this thread.
    unsafe fn terminated(isolate: v8::UnsafeRawIsolatePtr, queue: *mut Queue) {
        let address = address_of(&isolate);
        // SAFETY: V8 passes the isolate that is entered on this thread, for the time of this call.
        let of_queue = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
        // The condition under which V8 empties the queue.
        if !of_queue.is_execution_terminating() {
            return;
        }
        // SAFETY: as the caller guarantees. V8 has a handle scope here. It restores the data of the code before the microtasks only after this.
        let owner = unsafe { owner_at(current_data(isolate)) };
        let is_stopped = |other| IS_STOPPED.get().is_some_and(|is_stopped| is_stopped(&of_queue, other));
        // SAFETY: nothing else uses the queue, and reading a microtask's data allocates nothing. V8 frees the buffer that the queue has when this
        // returns, so it must have none if this one is kept.
        let left = unsafe {
            let ring = &mut (*queue).ring;
            if ring.is_valid() {
                ring.retain(|task| {
                    let other = owner_at(task.add(DATA).cast());
                    other != owner && !is_stopped(other)
                });
            }
            let left = ring.is_valid() && ring.size > 0;
            if left {
                KEPT.set(Some((address, queue, mem::replace(ring, Ring::EMPTY))));
            }
            left
        };
        TERMINATED.set(Some((address, TerminatedMicrotask { owner, left })));
    }

    /// `v8::internal::Isolate::OnTerminationDuringRunMicrotasks`, which V8 calls as soon as it has emptied the queue. It collects no garbage
    /// between the two.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal7Isolate32OnTerminationDuringRunMicrotasksEv(
        isolate: v8::UnsafeRawIsolatePtr,
    ) {
        // SAFETY: V8 has just emptied this queue, on this thread. Forwards the call.
        unsafe {
            if let Some((_, queue, ring)) = KEPT.take().filter(|(of, ..)| *of == address_of(&isolate)) {
                (*queue).ring = ring;
            }
            on_termination(isolate);
        }
    }
}
