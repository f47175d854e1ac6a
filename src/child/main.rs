//! What a child does from its start to its end: it starts the engine, receives one execution and sends its outcome. Then the parent ends it.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use isolated_v8_launcher::{Report, Settings as Terms};

use super::confinement;
use super::frame::{Limits, Message, Order, Task};
use super::link::{Last, Link};
use super::probe;
use super::splitter::Splitter;
use super::time::now;
use crate::engine::{self, Engine, Snapshot, SnapshotSource, Unavailable};
use crate::guest;
use crate::isolate::{self, Remote, Settings, clock};
use crate::native::lock;
use crate::sandbox::{
    self, BUILTINS, IsolateTemplate, LogStyle, Logging, Modules, Names, RealmTemplate, Spec, Supply, Tool, UserCode,
};
use crate::value::{Completion, Host, NoCompletion, Outcome, Text, Value};

/// Exit codes; see `launcher/src/main.rs` for the others.
const MISUSED: i32 = 64;
const PANICKED: i32 = 70;
pub(super) const NO_THREAD: i32 = 71;
pub(super) const NO_MEMORY: i32 = 72;
pub(super) const NO_LIMITS: i32 = 73;

/// The addon's file, until the engine has read its snapshot.
static FILE: Mutex<Option<File>> = Mutex::new(None);

const STACK_SIZE: usize = 1 << 20;

/// The memory limit and the timeout of the isolate that runs each step once before the execution (`warm_up`).
const LIGHT: usize = 16 << 20;
const DELAY: Duration = Duration::from_secs(1);

/// The function that the launcher calls (`isolated_v8_launcher::ENTRY`), once per process. Returns the process's exit code.
///
/// # Safety
/// Each address must be valid for reads of the number of bytes given by the length after it. `file` must be -1 or a descriptor that nothing else
/// uses.
#[unsafe(no_mangle)]
unsafe extern "C" fn isolated_v8_child(
    terms: *const u8,
    terms_length: usize,
    report: *const u8,
    report_length: usize,
    file: i32,
) -> i32 {
    // SAFETY: guaranteed by the caller.
    let (terms, report) =
        unsafe { (std::slice::from_raw_parts(terms, terms_length), std::slice::from_raw_parts(report, report_length)) };
    // SAFETY: guaranteed by the caller.
    *lock(&FILE) = (file >= 0).then(|| unsafe { File::from_raw_fd(file) });
    let terms = std::str::from_utf8(terms).ok().and_then(Terms::decode);
    let report = std::str::from_utf8(report).ok().and_then(Report::decode);
    let (Some(terms), Some(mut report)) = (terms, report) else { return MISUSED };
    confinement::before_engine(&terms, &mut report);
    engine::is_new_process();
    // SAFETY: descriptor 0 is the socket that the parent made for this process, and nothing else here owns it.
    let socket = unsafe { UnixStream::from_raw_fd(0) };
    // The C library may be wrong about this thread (`launcher/src/confine/namespaces.rs`), so this thread only waits.
    let thread = thread::Builder::new().stack_size(STACK_SIZE).spawn(move || live(socket, &terms, report));
    thread.map_or(NO_THREAD, |thread| thread.join().unwrap_or(PANICKED))
}

fn live(socket: UnixStream, terms: &Terms, mut report: Report) -> i32 {
    let Ok(out) = socket.try_clone() else { return MISUSED };
    let link = Link::new(out);
    let host: Arc<dyn Host> = Arc::clone(&link) as Arc<dyn Host>;
    // No handle of the API ever gets here (`codec`), so no realm needs the surface.
    let bare: fn() -> Result<&'static Engine, Unavailable> =
        || Engine::start(&SnapshotSource::NONE, || None, isolate::park);
    let ready: fn() -> Result<&'static Engine, Unavailable> =
        || Engine::start(&BUILTINS, || lock(&FILE).take(), isolate::park);
    if terms.gc {
        engine::expose_gc();
    }
    // Where the addon's file has no startup snapshot that fits, making one takes longer than it saves for one realm, so it is made only while no
    // execution waits. Realms that start from a snapshot of the user's need none.
    let is_embedded = !terms.gc && lock(&FILE).as_mut().is_some_and(|file| engine::is_embedded(&BUILTINS, file));
    let engine = if terms.snapshot || (!is_embedded && is_readable(&socket)) { bare } else { ready };
    // A process runs one execution, so nothing would use what it writes into its code cache.
    let settings =
        Settings { engine, host: Some(Arc::downgrade(&host)), shares_code: false, ..crate::guest::settings() };
    let running_engine = match (settings.engine)() {
        Ok(engine) => engine,
        Err(Unavailable::Memory) => return NO_MEMORY,
        Err(Unavailable::Unlimited) => return NO_LIMITS,
        Err(Unavailable::Threads) => return NO_THREAD,
    };
    raise_threads();
    drop(lock(&FILE).take());
    confinement::seal(terms, &mut report);
    if let Some(operations) = &terms.probe {
        return probe::run(&report, operations);
    }
    let mut orders = Orders { socket, frames: Splitter::default(), piece: vec![0; 64 << 10] };
    let mut snapshot = None;
    if terms.snapshot {
        snapshot = match orders.next() {
            Next::Order(Order::Snapshot(sealed)) => opened(running_engine, sealed),
            Next::Over => return 0,
            _ => None,
        };
        if snapshot.is_none() {
            return MISUSED;
        }
        orders.frames.shrink();
    }
    let template = template_of(terms, snapshot);
    let mut warm = None;
    if !orders.are_there() {
        warm_up(&template, &settings);
        warm = Some(prepare(&template, &settings));
    }
    link.send(&Message::Ready(report));
    let mut running = None;
    loop {
        match orders.next() {
            Next::Order(Order::Run(task)) if running.is_none() => {
                link.send(&Message::Begun);
                let supply = warm.take().map_or(Supply::New, Supply::Warm);
                running = Some(sandbox::start(spec_of(task, &template, &link), &settings, supply));
            }
            // The child was ready in time, or did something else meanwhile.
            Next::Order(Order::Awaited) => {}
            Next::Order(Order::Reply(call, outcome)) => link.answered(call, outcome),
            // The parent is gone, or has no use for this process any more.
            Next::Over => return 0,
            _ => return MISUSED,
        }
    }
}

/// A snapshot that is safe to give to V8: only one that a host process with this file has made.
fn opened(engine: &Engine, sealed: Vec<u8>) -> Option<Snapshot> {
    engine.open_snapshot_of(&guest::SNAPSHOT_SOURCE, Arc::new(sealed))
}

/// The orders that the parent sends.
struct Orders {
    socket: UnixStream,
    frames: Splitter,
    piece: Vec<u8>,
}

enum Next {
    Order(Order),
    /// The parent sends no more orders.
    Over,
    /// No parent sends this.
    Malformed,
}

impl Orders {
    fn are_there(&self) -> bool {
        !self.frames.is_empty() || is_readable(&self.socket)
    }

    fn next(&mut self) -> Next {
        loop {
            match self.frames.next(|_| usize::MAX) {
                Ok(Some(contents)) => return Order::decode(contents).map_or(Next::Malformed, Next::Order),
                Ok(None) => {}
                Err(_) => return Next::Malformed,
            }
            match self.socket.read(&mut self.piece) {
                Ok(0) => return Next::Over,
                Ok(count) => self.frames.push(&self.piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Next::Over,
            }
        }
    }
}

/// Starts the threads that would otherwise start with the first work.
fn raise_threads() {
    clock::after(Duration::ZERO, || {});
    engine::run_on_pool(|| {});
}

/// Whether an order has already arrived.
fn is_readable(socket: &UnixStream) -> bool {
    let mut descriptor = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one descriptor, and the count is one.
    unsafe { libc::poll(&raw mut descriptor, 1, 0) > 0 }
}

/// The template of this process's isolates, whatever they run.
fn template_of(terms: &Terms, snapshot: Option<Snapshot>) -> IsolateTemplate {
    let web = Names::from_bits(terms.web);
    IsolateTemplate {
        memory_limit: usize::try_from(terms.memory).unwrap_or(usize::MAX),
        snapshot,
        realm: RealmTemplate::Sandbox { shadow_global: false, timers: true, web },
        shares_memory: false,
    }
}

/// Runs an empty execution in an isolate that is then discarded, so that all the code that it needs is already in memory. No code of a
/// snapshot runs.
fn warm_up(template: &IsolateTemplate, settings: &Settings) {
    let (send, receive) = mpsc::sync_channel(1);
    let template = IsolateTemplate { memory_limit: LIGHT, snapshot: None, ..template.clone() };
    let spec = Spec { completion: Arc::new(Warmed(send)), ..blank(template, DELAY) };
    let isolate = sandbox::start(spec, settings, Supply::New);
    // The result does not matter.
    let _ = receive.recv_timeout(DELAY);
    drop(isolate);
}

/// Prepares the isolate of the execution to come.
fn prepare(template: &IsolateTemplate, settings: &Settings) -> Arc<Remote> {
    let (send, receive) = mpsc::sync_channel(1);
    let warm = template.make_warm(settings, move || {
        // If this took too long, nothing waits for it any more.
        let _ = send.try_send(());
    });
    // If it fails, the execution reports that.
    let _ = receive.recv_timeout(DELAY);
    warm
}

struct Warmed(mpsc::SyncSender<()>);

impl Completion for Warmed {
    fn complete(&self, _outcome: Outcome) {
        let _ = self.0.try_send(());
    }
}

fn spec_of(task: Task, template: &IsolateTemplate, link: &Arc<Link>) -> Spec {
    let Task { code, line, column, deadline, max_output, max_lines, max_length, modules, tools } = task;
    link.limit(Limits::new(template.memory_limit, max_output, max_length, tools.len()));
    let tools = tools.into_iter();
    Spec {
        code: UserCode { text: code, line, column },
        modules: modules.map(|(sources, main)| Modules { sources, main }),
        max_output: max_output as usize,
        logging: Logging {
            style: LogStyle::Tagged,
            max_lines: max_lines as usize,
            max_length: max_length as usize,
            listener: Some(link.listener()),
        },
        tools: tools.map(|(namespace, method, index)| Tool { namespace, method, function: link.tool(index) }).collect(),
        completion: Arc::new(Last(Arc::clone(link))),
        ..blank(template.clone(), Duration::from_micros(deadline as u64).saturating_sub(now()))
    }
}

/// An empty execution whose outcome is ignored.
fn blank(template: IsolateTemplate, timeout: Duration) -> Spec {
    Spec {
        code: UserCode { text: Text::from("'use strict'; return (async () => {})()"), line: 0, column: 0 },
        forms: Vec::new(),
        modules: None,
        template,
        freeze_builtins: true,
        timeout,
        max_output: 0,
        logging: Logging::default(),
        globals: Value::Undefined,
        tools: Vec::new(),
        tools_take_text: true,
        request: 0,
        completion: Arc::new(NoCompletion),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::opened;
    use crate::ops;
    use crate::value::{Payload, Value};

    #[test]
    fn no_other_snapshot_reaches_v8() {
        let settings = crate::guest::settings();
        let engine = (settings.engine)().unwrap();
        let sealed = engine.seal_snapshot(b"what V8 has written, in words...", crate::engine::Size::default());
        // The host's own check accepts the same snapshots.
        let value = Value::Payload(Box::new(Payload::buffer(Arc::clone(&sealed))));
        assert!(ops::snapshot::open(value, &settings, 1 << 20).is_ok());
        assert!(opened(engine, sealed.to_vec()).is_some());
        for index in 0..sealed.len() {
            let mut changed = sealed.to_vec();
            changed[index] ^= 1;
            assert!(opened(engine, changed).is_none(), "byte {index}");
            assert!(opened(engine, sealed[..index].to_vec()).is_none(), "{index} bytes");
        }
        let of_other = engine.seal_snapshot_of(&crate::sandbox::BUILTINS, &sealed);
        assert!(opened(engine, of_other).is_none());
    }
}
