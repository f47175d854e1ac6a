//! What a thread is working for, in one place: each fiber has a context of its own, which replaces that of the thread while the fiber runs.
//! Functions that V8 calls very often find everything with one access to thread-local data, which is a call in a shared library.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// A pointer in a context; null for none.
pub struct Pointer(Cell<*const c_void>);

impl Pointer {
    const fn none() -> Self {
        Self(Cell::new(ptr::null()))
    }

    pub fn get(&self) -> *const c_void {
        self.0.get()
    }

    /// Returns the previous one.
    ///
    /// # Safety
    ///
    /// Code that uses it takes it for the type that it knows, and for valid until it is set again, also while
    /// the thread has another context.
    pub unsafe fn replace(&self, pointer: *const c_void) -> *const c_void {
        self.0.replace(pointer)
    }
}

/// What memory of C++ code counts for.
pub(super) struct QuotaInUse {
    /// The quota that the memory of the thread counts for. Only `quota` knows its type.
    pub(super) current: Pointer,
    /// Bytes of small blocks that the thread has allocated for it, less those that it has freed, since it last passed them on.
    pub(super) small: Cell<isize>,
}

/// What V8 does on the thread.
pub struct V8Activity {
    /// It has begun to compile a WebAssembly module on other threads.
    pub compiles_module: Cell<bool>,
    /// The thread is one of V8's own, and compiles a function of JavaScript.
    #[cfg_attr(
        not(all(target_os = "linux", not(any(test, fuzzing)))),
        allow(dead_code, reason = "only functions that the linker redirects use it")
    )]
    pub(super) compiles: Cell<bool>,
    /// The work of the thread that can be abandoned. Only `attempts` knows its type.
    #[cfg_attr(
        not(all(target_os = "linux", not(any(test, fuzzing)))),
        allow(dead_code, reason = "only functions that the linker redirects use it")
    )]
    pub(super) attempt: Pointer,
    /// It terminates the heap of C++ objects of an isolate.
    pub terminates_cpp_heap: Cell<bool>,
    /// The `v8::internal::IsolateSafepoint` at which it has stopped the other threads of its isolate's heap, if it held no lock before; 0 for none.
    #[cfg_attr(
        not(all(target_os = "linux", not(any(test, fuzzing)))),
        allow(dead_code, reason = "only functions that the linker redirects use it")
    )]
    pub safepoint: Cell<usize>,
    /// Where V8 writes the address of the `v8::internal::IsolateSafepoint` at which it is about to stop those threads; null for none.
    #[cfg_attr(
        not(all(target_os = "linux", not(any(test, fuzzing)))),
        allow(dead_code, reason = "only functions that the linker redirects use it")
    )]
    pub(super) stopping: Cell<*const usize>,
}

/// What ICU does on the thread.
pub struct Icu {
    /// The current work can handle a failed allocation of ICU.
    pub expects_refusals: Cell<bool>,
    /// ICU is about to create the cache of numbering systems, or a table of another kind.
    #[cfg_attr(
        not(all(target_os = "linux", not(any(test, fuzzing)))),
        allow(dead_code, reason = "only functions that the linker redirects use it")
    )]
    pub creates_numbering_systems: Cell<bool>,
    /// ICU adds an entry to a cache of dates, and holds its lock.
    #[cfg_attr(
        not(all(target_os = "linux", not(any(test, fuzzing)))),
        allow(dead_code, reason = "only functions that the linker redirects use it")
    )]
    pub adds_date: Cell<bool>,
}

/// Declares the parts of a context, and what a context without any has.
macro_rules! context {
    ($($(#[$note:meta])* $visibility:vis $name:ident: $type:ty = $none:expr;)*) => {
        pub struct ThreadContext {
            $($(#[$note])* $visibility $name: $type,)*
        }

        impl ThreadContext {
            /// Nothing.
            pub const fn new() -> Self {
                Self { $($name: $none,)* }
            }
        }
    };
}

context! {
    pub(super) quota: QuotaInUse = QuotaInUse { current: Pointer::none(), small: Cell::new(0) };
    /// The number of locks that the thread holds, plus one if it is one of V8's own threads.
    pub(super) held: Cell<u32> = Cell::new(0);
    /// The thread was refused memory.
    pub(super) refused: Cell<bool> = Cell::new(false);
    /// V8 allocates a segment of a zone, which its parser and compilers use on one thread.
    #[cfg_attr(not(all(target_os = "linux", not(any(test, fuzzing)))), allow(dead_code, reason = "only functions that the linker redirects use it"))]
    pub(super) segment: Cell<bool> = Cell::new(false);
    /// V8 makes a waiter of `Atomics.waitAsync`.
    #[cfg_attr(not(all(target_os = "linux", not(any(test, fuzzing)))), allow(dead_code, reason = "only functions that the linker redirects use it"))]
    pub(super) makes_waiter: Cell<bool> = Cell::new(false);
    /// The number of V8's tasks that the thread is running.
    pub(super) entered: Cell<usize> = Cell::new(0);
    /// Where the reserve of the stack begins; `usize::MAX` for none.
    pub(super) reserve: Cell<usize> = Cell::new(usize::MAX);
    /// The largest block that Rust code may allocate.
    pub ceiling: Cell<usize> = Cell::new(usize::MAX);
    /// Such a block was refused.
    pub capped: Cell<bool> = Cell::new(false);
    pub engine: V8Activity = V8Activity {
        compiles_module: Cell::new(false),
        compiles: Cell::new(false),
        attempt: Pointer::none(),
        terminates_cpp_heap: Cell::new(false),
        safepoint: Cell::new(0),
        stopping: Cell::new(ptr::null()),
    };
    pub icu: Icu = Icu {
        expects_refusals: Cell::new(false),
        creates_numbering_systems: Cell::new(false),
        adds_date: Cell::new(false),
    };
    /// The budgets for pages. Only `engine::page_allocator` uses it.
    pub pages: Pointer = Pointer::none();
    /// The number by which V8 knows a guest on a fiber; 0 for that of the thread.
    pub v8_thread: Cell<i32> = Cell::new(0);
    /// The isolate. Only `isolate::thread::current` knows its type.
    pub isolate: Pointer = Pointer::none();
    /// The fiber with this context. Only `isolate::thread::suspension` knows its type.
    pub fiber: Pointer = Pointer::none();
}

impl ThreadContext {
    /// For a guest that begins on a stack whose reserve begins at `reserve`, and that V8 knows as `v8_thread`. Everything else is what the
    /// previous one has restored, unless it was left.
    ///
    /// # Safety
    ///
    /// As for [`Pointer::replace`].
    pub unsafe fn begin(&self, reserve: usize, v8_thread: i32, isolate: *const c_void) {
        self.reserve.set(reserve);
        self.v8_thread.set(v8_thread);
        // SAFETY: guaranteed by the caller.
        unsafe { self.isolate.replace(isolate) };
        self.makes_waiter.set(false);
        self.engine.compiles_module.set(false);
        self.engine.terminates_cpp_heap.set(false);
        self.engine.safepoint.set(0);
        self.engine.stopping.set(ptr::null());
    }

    /// The number of tasks of V8 in which a guest was left.
    pub fn entered(&self) -> usize {
        self.entered.get()
    }

    /// What the other threads of the isolate's heap wait for during its collection; 0 for none.
    pub fn safepoint(&self) -> usize {
        // SAFETY: it points to an object whose constructor has not returned (`safepoints`), or was left with its guest: then the object stays.
        let stopping = unsafe { self.engine.stopping.get().as_ref() };
        stopping.map_or_else(|| self.engine.safepoint.get(), |safepoint| *safepoint)
    }
}

pub(super) struct Thread {
    /// The context of the fiber that runs; null for that of the thread.
    pub(super) current: Cell<*const ThreadContext>,
    own: ThreadContext,
    /// The fiber that runs now; null on the thread's own stack. Only `fiber` uses it.
    pub(super) fiber: Cell<*const c_void>,
    /// The suspended stack of the thread.
    pub(super) stack: Cell<usize>,
}

thread_local! {
    // Without a destructor, so that it can be used as long as the thread runs.
    static THREAD: Thread = const {
        Thread {
            current: Cell::new(ptr::null()),
            own: ThreadContext::new(),
            fiber: Cell::new(ptr::null()),
            stack: Cell::new(0),
        }
    };
}

/// A number that no other thread has at the same time.
pub fn thread() -> usize {
    of_thread(|thread| ptr::from_ref(thread) as usize)
}

/// Uses what the thread keeps.
#[inline]
pub(super) fn of_thread<T>(use_it: impl FnOnce(&Thread) -> T) -> T {
    THREAD.with(use_it)
}

/// Uses what this thread works for.
#[inline]
pub fn with<T>(use_it: impl FnOnce(&ThreadContext) -> T) -> T {
    of_thread(|thread| {
        // SAFETY: it belongs to the fiber that runs. `Fiber::resume`, which has set it and borrows the fiber, resets it when the fiber is suspended.
        use_it(unsafe { thread.current.get().as_ref() }.unwrap_or(&thread.own))
    })
}
