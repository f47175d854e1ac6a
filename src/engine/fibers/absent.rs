//! For platforms without fibers: V8 runs only on the stacks of threads.

#[derive(Clone, Copy)]
pub struct Entered;

pub fn new_thread() -> i32 {
    0
}

impl Entered {
    pub fn now() -> Option<Self> {
        None
    }

    /// # Safety
    /// There is none.
    pub unsafe fn resume(self) {}

    pub fn suspend() {}

    pub fn is_same(self, _other: Self) -> bool {
        true
    }

    pub fn is_of(self, _isolate: *const std::ffi::c_void) -> bool {
        false
    }
}

pub fn works_on_heap(_task: &v8::Task) -> bool {
    false
}

pub fn limit_stack(_isolate: &v8::Isolate) {}

#[derive(Clone, Copy)]
pub struct Allowed;

impl Allowed {
    pub fn now() -> Self {
        Self
    }

    pub fn restore(self) {}
}
