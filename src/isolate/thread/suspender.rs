//! A thread that suspends guests that do not stop, and makes threads of hosts leave them, where the pool has no thread for that. If the system starts no more
//! threads, the pool keeps work until one of its threads is free, and guests decide when that is.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::engine;
use crate::isolate::clock;
use crate::native::lock;

type Work = Box<dyn FnOnce() + Send>;

struct Queue {
    work: VecDeque<Work>,
    is_started: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { work: VecDeque::new(), is_started: false });
static ADDED: Condvar = Condvar::new();

const STACK_SIZE: usize = 256 << 10;

/// How long work may wait for a thread of the pool.
const PATIENCE: Duration = Duration::from_millis(20);

/// Starts the thread, unless it runs. False if the system starts none: no guest may run then.
pub fn start() -> bool {
    let mut queue = lock(&QUEUE);
    if !queue.is_started {
        let builder = thread::Builder::new().name("isolated-v8 suspender".to_owned()).stack_size(STACK_SIZE);
        queue.is_started = builder.spawn(serve).is_ok();
    }
    queue.is_started
}

/// Runs `work` on a thread of the pool. If none takes it soon, this thread does it: one after the other, as each may take a second or two.
pub fn run(work: impl FnOnce() + Send + 'static) {
    let waiting: Arc<Mutex<Option<Work>>> = Arc::new(Mutex::new(Some(Box::new(work))));
    let taken = Arc::clone(&waiting);
    let take = move || {
        let work = lock(&taken).take();
        if let Some(work) = work {
            work();
        }
    };
    if !engine::run_on_pool(take.clone()) {
        return add(Box::new(take));
    }
    clock::after(PATIENCE, move || {
        let is_waiting = lock(&waiting).is_some();
        if is_waiting {
            add(Box::new(take));
        }
    });
}

fn add(work: Work) {
    lock(&QUEUE).work.push_back(work);
    ADDED.notify_one();
}

fn serve() {
    let mut queue = lock(&QUEUE);
    loop {
        if let Some(work) = queue.work.pop_front() {
            drop(queue);
            // A panic is a bug of ours. It must not end this thread.
            let _ = catch_unwind(AssertUnwindSafe(work));
            queue = lock(&QUEUE);
        } else {
            queue = queue.wait(&ADDED);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::{add, run, start};

    #[test]
    fn work_is_done_once_by_the_pool_or_by_the_thread() {
        let (send, receive) = mpsc::channel();
        assert!(start() && start());
        let (own, pool) = (send.clone(), send);
        add(Box::new(|| panic!("on purpose")));
        add(Box::new(move || {
            let _ = own.send(std::thread::current().name().map(str::to_owned));
        }));
        let name = receive.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(name.as_deref(), Some("isolated-v8 suspender"));
        run(move || {
            let _ = pool.send(None);
        });
        assert_eq!(receive.recv_timeout(Duration::from_secs(20)), Ok(None));
        // Neither of them has it any more.
        assert!(
            receive
                .recv_timeout(Duration::from_secs(20))
                .is_err_and(|error| error == mpsc::RecvTimeoutError::Disconnected)
        );
    }
}
