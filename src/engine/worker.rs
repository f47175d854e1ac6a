//! Tasks that V8 runs on its own threads: compiling, decoding, collecting. The memory that such a task uses counts for the isolate whose
//! thread has posted it. V8's platform does not allow its tasks to be wrapped, so the linker replaces the functions that receive them with
//! the ones here (`build.rs`).
//!
//! V8's platform has a fixed number of threads. One that cannot continue, because V8 has run out of something, stops permanently, and the
//! tasks of all isolates would wait for it. So the tasks are in a queue of this module, which other threads can take them from: those that
//! replace such threads, and helpers. V8's own queue only has one [`NEXT`] for each of them.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::linux;
use super::task_queue::{TaskOwner, TaskQueue, Ticket};
use super::threads;
use crate::native::{self, Guard, NativeQuota, lock};

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::platform::DefaultPlatform::CreateJobImpl`.
    #[link_name = "__real__ZN2v88platform15DefaultPlatform13CreateJobImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_7JobTaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE"]
    fn create_job(platform: Object, priority: u8, task: *mut Task, location: Object) -> Object;
    /// `v8::platform::DefaultPlatform::PostTaskOnWorkerThreadImpl`.
    #[link_name = "__real__ZN2v88platform15DefaultPlatform26PostTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE"]
    fn post_task(platform: Object, priority: u8, task: *mut Task, location: Object);
    /// `v8::platform::DefaultPlatform::PostDelayedTaskOnWorkerThreadImpl`.
    #[link_name = "__real__ZN2v88platform15DefaultPlatform33PostDelayedTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEEdRKNS_14SourceLocationE"]
    fn post_delayed_task(platform: Object, priority: u8, task: *mut Task, delay: f64, location: Object);
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88platform15DefaultPlatform13CreateJobImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_7JobTaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE",
    ".hidden __wrap__ZN2v88platform15DefaultPlatform26PostTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE",
    ".hidden __wrap__ZN2v88platform15DefaultPlatform33PostDelayedTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEEdRKNS_14SourceLocationE"
);

/// `v8::Task` and `v8::JobTask`, which begin with a pointer to their virtual functions.
#[repr(C)]
struct Task {
    functions: *const Functions,
}

/// Their virtual functions. A `v8::Task` does not have the last one, and ignores the argument of `run`.
#[repr(C)]
struct Functions {
    destroy: unsafe extern "C" fn(*mut Task),
    /// Destroys it and frees its memory.
    delete: unsafe extern "C" fn(*mut Task),
    run: unsafe extern "C" fn(*mut Task, Object),
    max_concurrency: unsafe extern "C" fn(*const Task, usize) -> usize,
}

/// A C++ vtable: the functions come after the type information, which is not used.
#[repr(C)]
struct Table {
    _offset: usize,
    _type: usize,
    functions: Functions,
}

static TABLE: Table = Table { _offset: 0, _type: 0, functions: Functions { destroy, delete, run, max_concurrency } };

/// A task, and the quota of the isolate that it runs for.
#[repr(C)]
struct Counted {
    task: Task,
    inner: *mut Task,
    quota: Arc<NativeQuota>,
}

/// Wraps `task` so that its memory counts for the isolate of this thread, if that isolate has a limit.
fn counted(task: *mut Task) -> *mut Task {
    let Some(quota) = native::current().filter(|_| !task.is_null()) else { return task };
    let quota = quota.in_background();
    let counted = Counted { task: Task { functions: &raw const TABLE.functions }, inner: task, quota };
    Box::into_raw(Box::new(counted)).cast()
}

unsafe extern "C" {
    /// The vtable of `v8::internal::wasm::AsyncCompileJob::CompileTask`.
    #[link_name = "_ZTVN2v88internal4wasm15AsyncCompileJob11CompileTaskE"]
    static COMPILE: [usize; 11];
}

/// Index of the first function for `v8::Task` in the vtable of a `CancelableTask`, which has another base class before that.
const FUNCTIONS_OF_CANCELABLE: usize = 8;

/// Whether these are the functions of a task that decodes a module or prepares its code. V8 cancels it when it has not run by the end of the
/// isolate.
fn begins_module(functions: *const Functions) -> bool {
    ptr::eq((&raw const COMPILE).cast::<usize>().wrapping_add(FUNCTIONS_OF_CANCELABLE), functions.cast())
}

unsafe extern "C" fn run(task: *mut Task, delegate: Object) {
    // SAFETY: made by `counted`. Once the task has run, V8 may delete it on another thread, so this function holds its own reference to the
    // quota.
    unsafe {
        let inner = (*task.cast::<Counted>()).inner;
        let quota = Arc::clone(&(*task.cast::<Counted>()).quota);
        // An isolate that ends because it is out of memory gets no more modules. Thousands of these tasks may wait for a thread.
        if quota.is_exceeded() && begins_module((*inner).functions) {
            return;
        }
        native::with_quota_in_background(&quota, || {
            quota.tasks().run(|| ((*(*inner).functions).run)(inner, delegate));
        });
    }
}

unsafe extern "C" fn max_concurrency(task: *const Task, workers: usize) -> usize {
    // SAFETY: made by `counted`, from a job.
    let (most, is_over) = unsafe {
        let Counted { inner, quota, .. } = &*task.cast::<Counted>();
        let mut most = 0;
        quota.tasks().run(|| most = ((*(**inner).functions).max_concurrency)(*inner, workers));
        (most, quota.is_exceeded())
    };
    // An isolate that ends because it is out of memory must not allocate more on several threads.
    if is_over { most.min(1) } else { most }
}

/// C++ calls this destructor, which does not free, only for objects that it has made itself.
unsafe extern "C" fn destroy(task: *mut Task) {
    // SAFETY: forwards the call.
    unsafe { delete(task) };
}

unsafe extern "C" fn delete(task: *mut Task) {
    // SAFETY: made by `counted`, and deleted once.
    unsafe {
        let Counted { inner, quota, .. } = *Box::from_raw(task.cast::<Counted>());
        native::with_quota_in_background(&quota, || {
            // A task left over from an isolate without a thread is leaked: nothing of that isolate is accessed any more.
            quota.tasks().run(|| ((*(*inner).functions).delete)(inner));
        });
    }
}

/// A task that waits for a thread.
struct Waiting(*mut Task);

// SAFETY: V8 posts its tasks to be run on any thread.
unsafe impl Send for Waiting {}

impl Waiting {
    /// The isolate that a task runs for which `counted` has returned.
    fn owner(&self) -> TaskOwner {
        // SAFETY: the task is not deleted before it has run. Only `counted` makes tasks with these functions.
        unsafe {
            if self.0.is_null() || !ptr::eq((*self.0).functions, &raw const TABLE.functions) {
                return 0;
            }
            Arc::as_ptr(&(*self.0.cast::<Counted>()).quota) as TaskOwner
        }
    }
}

static QUEUE: Mutex<TaskQueue<Waiting>> = Mutex::new(TaskQueue::new());
static ADDED: Condvar = Condvar::new();

fn queue() -> Guard<'static, TaskQueue<Waiting>> {
    lock(&QUEUE)
}

/// Runs and deletes a task. Returns what [`TaskQueue::end`] does.
fn perform((Waiting(task), ticket): (Waiting, Ticket)) -> bool {
    // SAFETY: V8 has posted the task, and it was taken from the queue once. A task ignores the argument of `run`.
    unsafe {
        ((*(*task).functions).run)(task, ptr::null_mut());
        ((*(*task).functions).delete)(task);
    }
    queue().end(ticket)
}

/// Runs the task that has waited for longest, unless another thread was faster.
unsafe extern "C" fn run_next(_task: *mut Task, _delegate: Object) {
    let next = queue().take(Instant::now(), linux::current_thread());
    if let Some(next) = next {
        let _ = perform(next);
    }
}

/// How often a helper looks for late tasks, and how often without a result before it ends.
const LOOKS: Duration = Duration::from_millis(50);
const MAX_LOOKS: u32 = 40;

/// Starts a helper, if tasks wait although all of V8's own threads are busy.
fn ask_for_help() {
    let is_missing = queue().take_missing();
    if is_missing {
        replace();
    }
    let is_needed = queue().needs_helper(threads::of_v8() as usize);
    // Without the lock.
    if is_needed && !start(help) {
        queue().leave();
    }
}

/// Runs late tasks. A helper gets a low priority when its task is long, since the threads of hosts may be waiting for a processor.
fn help() {
    let this = linux::current_thread();
    let mut looks = 0;
    loop {
        lower_long();
        let late = queue().take_late(Instant::now(), this);
        if let Some(late) = late {
            watch(this);
            if perform(late) {
                return;
            }
            looks = 0;
            continue;
        }
        looks += 1;
        if looks > MAX_LOOKS {
            let mut queue = queue();
            if queue.is_idle() {
                return queue.leave();
            }
        }
        thread::sleep(LOOKS);
    }
}

/// Helpers end after a task for which they got a low priority. They need the lock for that, so their numbers are valid here.
fn lower_long() {
    let mut queue = queue();
    while let Some(thread) = queue.next_to_lower(Instant::now()) {
        linux::lower_priority(thread);
    }
}

/// `helper` has taken a task, which may be long. Without a free helper that would notice, its priority is low from the beginning.
fn watch(helper: i32) {
    let is_needed = queue().needs_watch();
    if is_needed && !start(help) {
        queue().leave();
    }
    if queue().lower_unwatched(helper) {
        linux::lower_priority(helper);
    }
}

unsafe extern "C" fn no_concurrency(_task: *const Task, _workers: usize) -> usize {
    0
}

/// It is static.
unsafe extern "C" fn keep(_task: *mut Task) {}

static NEXT_TABLE: Table = Table {
    _offset: 0,
    _type: 0,
    functions: Functions { destroy: keep, delete: keep, run: run_next, max_concurrency: no_concurrency },
};

struct Next(Task);

// SAFETY: it has no state.
unsafe impl Sync for Next {}

/// A task that runs the next task of the queue.
static NEXT: Next = Next(Task { functions: &raw const NEXT_TABLE.functions });

/// This thread, which runs tasks of V8, stops permanently.
pub fn replace_current_thread() {
    replace_thread(linux::current_thread());
}

/// A thread that runs tasks of V8 stops permanently. If it is no helper, another one takes its place.
pub fn replace_thread(thread: i32) {
    let must_replace = queue().lose(thread);
    if must_replace {
        replace();
    }
}

/// Starts a thread in the place of one that has stopped permanently. If the system refuses it, the next task tries again.
fn replace() {
    let serve = || loop {
        let next = {
            let mut queue = queue();
            while queue.is_empty() {
                queue = queue.wait(&ADDED);
            }
            queue.take(Instant::now(), linux::current_thread())
        };
        if let Some(next) = next {
            let _ = perform(next);
        }
    };
    if !start(serve) {
        queue().miss();
    }
}

/// Starts a thread like V8's own. False if the system refuses it.
fn start(work: impl FnOnce() + Send + 'static) -> bool {
    thread::Builder::new().name("isolated-v8 V8".to_owned()).stack_size(STACK_SIZE).spawn(work).is_ok()
}

/// As V8's own threads have.
const STACK_SIZE: usize = 8 << 20;

/// `v8::platform::DefaultPlatform::CreateJobImpl`. `std::unique_ptr` is passed and returned like a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88platform15DefaultPlatform13CreateJobImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_7JobTaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE(
    platform: Object,
    priority: u8,
    task: *mut Task,
    location: Object,
) -> Object {
    // SAFETY: forwards the call.
    unsafe { create_job(platform, priority, counted(task), location) }
}

/// `v8::platform::DefaultPlatform::PostTaskOnWorkerThreadImpl`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88platform15DefaultPlatform26PostTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE(
    platform: Object,
    priority: u8,
    task: *mut Task,
    location: Object,
) {
    let task = Waiting(counted(task));
    let owner = task.owner();
    queue().add(task, owner, Instant::now());
    ADDED.notify_one();
    ask_for_help();
    let next = (&raw const NEXT.0).cast_mut();
    // SAFETY: forwards the call with another task, whose functions do not write to it.
    unsafe { post_task(platform, priority, next, location) }
}

/// `v8::platform::DefaultPlatform::PostDelayedTaskOnWorkerThreadImpl`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88platform15DefaultPlatform33PostDelayedTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEEdRKNS_14SourceLocationE(
    platform: Object,
    priority: u8,
    task: *mut Task,
    delay: f64,
    location: Object,
) {
    // SAFETY: forwards the call.
    unsafe { post_delayed_task(platform, priority, counted(task), delay, location) }
}
