//! What a thread is working for, in one place: a thread of a host exchanges all of it when it begins to run a guest on a fiber, and when
//! it returns to its own stack. Functions that V8 calls very often find everything with one access to thread-local data.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// What memory of C++ code counts for.
pub(super) struct Drawn {
    /// The quota that the thread draws on; null for none. Only `quota` knows its type.
    pub(super) quota: Cell<*const c_void>,
    /// Bytes of small blocks that the thread has allocated for it, less those that it has freed, since it last passed them on.
    pub(super) small: Cell<isize>,
}

/// What V8 does on the thread.
pub struct Engine {
    /// It has begun to compile a WebAssembly module on other threads.
    pub compiles: Cell<bool>,
    /// It ends an isolate's heap of C++ objects.
    pub ends_heap: Cell<bool>,
}

pub struct Context {
    pub(super) drawn: Drawn,
    /// The number of locks that the thread holds, plus one if it is one of V8's own threads.
    pub(super) held: Cell<u32>,
    /// The thread was refused memory.
    pub(super) refused: Cell<bool>,
    /// V8 allocates a segment of a zone, which its parser and compilers use on one thread.
    pub(super) segment: Cell<bool>,
    /// The number of V8's tasks that the thread is running.
    pub(super) entered: Cell<usize>,
    /// Where the reserve of the stack begins; `usize::MAX` for none.
    pub(super) reserve: Cell<usize>,
    /// The largest block that Rust code may allocate.
    pub ceiling: Cell<usize>,
    /// Such a block was refused.
    pub capped: Cell<bool>,
    pub engine: Engine,
    /// The current work can handle a failed allocation of ICU.
    pub expects_refusals: Cell<bool>,
    /// ICU is about to create the cache of numbering systems, or a table of another kind.
    pub creates_numbering_systems: Cell<bool>,
    /// ICU adds an entry to a cache of dates, and holds its lock.
    pub adds_date: Cell<bool>,
    /// The budgets for pages; null for none. Only `engine::pages` uses it.
    pub pages: Cell<*const c_void>,
    /// The number by which V8 knows a guest on a fiber; 0 for that of the thread.
    pub v8_thread: Cell<i32>,
    /// The isolate; null for none. Only `isolate::current` uses it.
    pub isolate: Cell<*const c_void>,
}

impl Context {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            drawn: Drawn { quota: Cell::new(ptr::null()), small: Cell::new(0) },
            held: Cell::new(0),
            refused: Cell::new(false),
            segment: Cell::new(false),
            entered: Cell::new(0),
            reserve: Cell::new(usize::MAX),
            ceiling: Cell::new(usize::MAX),
            capped: Cell::new(false),
            engine: Engine { compiles: Cell::new(false), ends_heap: Cell::new(false) },
            expects_refusals: Cell::new(false),
            creates_numbering_systems: Cell::new(false),
            adds_date: Cell::new(false),
            pages: Cell::new(ptr::null()),
            v8_thread: Cell::new(0),
            isolate: Cell::new(ptr::null()),
        }
    }

    /// Exchanges this for what the thread works for now.
    pub fn exchange(&self) {
        with(|current| {
            self.drawn.quota.swap(&current.drawn.quota);
            self.drawn.small.swap(&current.drawn.small);
            self.held.swap(&current.held);
            self.refused.swap(&current.refused);
            self.segment.swap(&current.segment);
            self.entered.swap(&current.entered);
            self.reserve.swap(&current.reserve);
            self.ceiling.swap(&current.ceiling);
            self.capped.swap(&current.capped);
            self.engine.compiles.swap(&current.engine.compiles);
            self.engine.ends_heap.swap(&current.engine.ends_heap);
            self.expects_refusals.swap(&current.expects_refusals);
            self.creates_numbering_systems.swap(&current.creates_numbering_systems);
            self.adds_date.swap(&current.adds_date);
            self.pages.swap(&current.pages);
            self.v8_thread.swap(&current.v8_thread);
            self.isolate.swap(&current.isolate);
        });
    }

    /// For a guest that begins on a stack whose reserve begins at `reserve`, and that V8 knows as `v8_thread`. Everything else is what the
    /// previous one has restored, unless it was left.
    pub fn begin(&self, reserve: usize, v8_thread: i32, isolate: *const c_void) {
        self.reserve.set(reserve);
        self.v8_thread.set(v8_thread);
        self.isolate.set(isolate);
        self.engine.compiles.set(false);
        self.engine.ends_heap.set(false);
    }

    /// The number of tasks of V8 in which a guest was left.
    pub fn entered(&self) -> usize {
        self.entered.get()
    }
}

thread_local! {
    // Without a destructor, so that it can be used as long as the thread runs.
    static CONTEXT: Context = const { Context::new() };
}

/// A number that no other thread has at the same time.
pub fn thread() -> usize {
    with(|context| ptr::from_ref(context) as usize)
}

/// Uses what this thread works for.
#[inline]
pub fn with<T>(use_it: impl FnOnce(&Context) -> T) -> T {
    CONTEXT.with(use_it)
}
