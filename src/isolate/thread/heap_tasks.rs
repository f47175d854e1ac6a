//! V8's tasks that work on the heap, in isolates that sync calls enter. A thread that ran them at once would have the isolate when the next
//! call comes. So they wait until no call has come for a moment. In the meantime, V8 does the same work when the guest allocates.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::isolate::clock;
use crate::isolate::job::Job;
use crate::isolate::remote::Remote;
use crate::isolate::remote::mailbox::Queues;

/// How long no call must have come: longer than it takes between calls in a loop, and less than a turn of an event loop that waits for
/// something. With a longer pause, a host whose loop makes calls again and again keeps the functions that its guest has dropped.
const PAUSE: Duration = Duration::from_millis(2);

/// Queues a task.
pub fn post(remote: &Remote, task: Job) {
    let Some(mut queues) = remote.queue(task) else { return };
    if remote.lifecycle.is_idle() {
        watch(remote, &mut queues);
    } else if !remote.execution.caller.is_entered() {
        // Its thread runs it.
        remote.signal(queues);
    }
}

/// The isolate is idle: if there are tasks, they run at the next pause between its calls.
pub fn watch(remote: &Remote, queues: &mut Queues) {
    if !queues.has_heap_tasks() || queues.watches_heap_tasks {
        return;
    }
    queues.watches_heap_tasks = true;
    let calls = remote.execution.caller.count.load(Ordering::SeqCst);
    let me = remote.me.clone();
    clock::after(PAUSE, move || {
        if let Some(remote) = me.upgrade() {
            run_after_pause(&remote, calls);
        }
    });
}

/// Borrows a thread for the tasks, if no call has come since there were `calls`.
fn run_after_pause(remote: &Remote, calls: u32) {
    let mut queues = remote.mailbox.lock();
    queues.watches_heap_tasks = false;
    // A thread that has the isolate looks at them when it returns it.
    if !queues.has_heap_tasks() || !remote.lifecycle.is_idle() {
        return;
    }
    if remote.execution.caller.count.load(Ordering::SeqCst) != calls {
        return watch(remote, &mut queues);
    }
    remote.signal(queues);
}
