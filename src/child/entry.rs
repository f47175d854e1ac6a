//! What runs in a child: the engine gets ready, one execution comes, its outcome goes, and the parent ends the process.

use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use isolated_v8_launcher::{Report, Settings as Terms};

use super::confinement;
use super::frame::{Limits, Message, Order, Task};
use super::link::{Last, Link};
use super::probe;
use super::splitter::Splitter;
use super::time::now;
use crate::engine::{self, Engine, Recipe, Snapshot};
use crate::guest;
use crate::isolate::{self, Remote, Settings, clock};
use crate::sandbox::{
    self, BUILTINS, Body, LogStyle, Logging, Modules, Names, Outfit, RealmOutfit, Spec, Supply, Tool,
};
use crate::value::{Answer, Host, Nobody, Outcome, Text, Value};

/// Exit codes; see `launcher/src/main.rs` for the others.
const MISUSED: i32 = 64;
const PANICKED: i32 = 70;
const NO_THREAD: i32 = 71;

const STACK_SIZE: usize = 1 << 20;

/// What the isolate may take in which everything happens once before it counts, and how long that may last.
const LIGHT: usize = 16 << 20;
const DELAY: Duration = Duration::from_secs(1);

/// What the launcher calls (`isolated_v8_launcher::ENTRY`), once in the life of a process. Returns its exit code.
///
/// # Safety
/// Both addresses must be valid for as many bytes as the length behind them says.
#[unsafe(no_mangle)]
unsafe extern "C" fn isolated_v8_child(
    terms: *const u8,
    terms_length: usize,
    report: *const u8,
    report_length: usize,
) -> i32 {
    // SAFETY: what the caller promises.
    let (terms, report) =
        unsafe { (std::slice::from_raw_parts(terms, terms_length), std::slice::from_raw_parts(report, report_length)) };
    let terms = std::str::from_utf8(terms).ok().and_then(Terms::decode);
    let report = std::str::from_utf8(report).ok().and_then(Report::decode);
    let (Some(terms), Some(mut report)) = (terms, report) else { return MISUSED };
    confinement::before_engine(&terms, &mut report);
    // SAFETY: descriptor 0 is the socket that the parent has made for this process, and nobody else's here.
    let socket = unsafe { UnixStream::from_raw_fd(0) };
    // The C library may be wrong about this thread (`launcher/src/confine/namespaces.rs`): it does nothing but wait.
    let thread = thread::Builder::new().stack_size(STACK_SIZE).spawn(move || live(socket, &terms, report));
    thread.map_or(NO_THREAD, |thread| thread.join().unwrap_or(PANICKED))
}

fn live(socket: UnixStream, terms: &Terms, mut report: Report) -> i32 {
    let Ok(out) = socket.try_clone() else { return MISUSED };
    let link = Link::new(out);
    let host: Arc<dyn Host> = Arc::clone(&link) as Arc<dyn Host>;
    // No handle of the API ever gets here (`codec`), so that no realm needs its surface. Making a snapshot takes longer than what
    // it spares one realm: it is made while nobody waits.
    let bare: fn() -> &'static Engine = || Engine::start(&Recipe::NONE, isolate::park);
    let ready: fn() -> &'static Engine = || Engine::start(&BUILTINS, isolate::park);
    if terms.gc {
        engine::expose_gc();
    }
    // Nor is there anything to be spared where realms start from a snapshot of the user's.
    let engine = if terms.snapshot || is_readable(&socket) { bare } else { ready };
    let settings = Settings { engine, host: Some(Arc::downgrade(&host)), ..crate::settings() };
    let running_engine = (settings.engine)();
    raise_threads();
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
    let outfit = outfit_of(terms, snapshot);
    let mut spare = None;
    if !orders.are_there() {
        warm_up(&outfit, &settings);
        spare = Some(prepare(&outfit, &settings));
    }
    link.send(&Message::Ready(report));
    let mut running = None;
    loop {
        match orders.next() {
            Next::Order(Order::Run(task)) if running.is_none() => {
                link.send(&Message::Begun);
                let supply = spare.take().map_or(Supply::New, Supply::Spare);
                running = Some(sandbox::start(spec_of(task, &outfit, &link), &settings, supply));
            }
            // It was there in time, or something else was done meanwhile.
            Next::Order(Order::Awaited) => {}
            Next::Order(Order::Answer(call, outcome)) => link.answered(call, outcome),
            // The parent is gone, or has no use for this process any more.
            Next::Over => return 0,
            _ => return MISUSED,
        }
    }
}

/// A snapshot that V8 may be given: one that a host process with this file has made, and nothing else.
fn opened(engine: &Engine, sealed: Vec<u8>) -> Option<Snapshot> {
    engine.open_snapshot_of(&guest::RECIPE, Arc::new(sealed))
}

/// What the parent sends.
struct Orders {
    socket: UnixStream,
    frames: Splitter,
    piece: Vec<u8>,
}

enum Next {
    Order(Order),
    /// It sends no more.
    Over,
    /// No parent says that.
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

/// Threads that come with the first work otherwise.
fn raise_threads() {
    clock::after(Duration::ZERO, || {});
    engine::run_on_pool(|| {});
}

/// Whether an order is there already.
fn is_readable(socket: &UnixStream) -> bool {
    let mut descriptor = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the one descriptor is there.
    unsafe { libc::poll(&raw mut descriptor, 1, 0) > 0 }
}

/// What the isolates of this process have, whatever they run.
fn outfit_of(terms: &Terms, snapshot: Option<Snapshot>) -> Outfit {
    let web = Names::from_bits(terms.web);
    Outfit {
        memory_limit: usize::try_from(terms.memory).unwrap_or(usize::MAX),
        snapshot,
        realm: RealmOutfit::Sandbox { shadow_global: false, timers: true, web },
    }
}

/// Does what an execution does, in an isolate of nobody's, so that all of it has been in memory once. Nothing of a snapshot's runs.
fn warm_up(outfit: &Outfit, settings: &Settings) {
    let (send, receive) = mpsc::sync_channel(1);
    let outfit = Outfit { memory_limit: LIGHT, snapshot: None, ..outfit.clone() };
    let spec = Spec { answer: Arc::new(Warmed(send)), ..blank(outfit, DELAY) };
    let isolate = sandbox::start(spec, settings, Supply::New);
    // Whatever comes of it.
    let _ = receive.recv_timeout(DELAY);
    drop(isolate);
}

/// The isolate of the execution that will come.
fn prepare(outfit: &Outfit, settings: &Settings) -> Arc<Remote> {
    let (send, receive) = mpsc::sync_channel(1);
    let spare = outfit.spare(settings, move || {
        // Nobody waits any more where it has taken too long.
        let _ = send.try_send(());
    });
    // Where it fails the execution will tell.
    let _ = receive.recv_timeout(DELAY);
    spare
}

struct Warmed(mpsc::SyncSender<()>);

impl Answer for Warmed {
    fn answer(&self, _outcome: Outcome) {
        let _ = self.0.try_send(());
    }
}

fn spec_of(task: Task, outfit: &Outfit, link: &Arc<Link>) -> Spec {
    let Task { code, line, column, deadline, max_output, most_lines, most_length, modules, tools } = task;
    link.limit(Limits::new(outfit.memory_limit, max_output, most_length, tools.len()));
    let tools = tools.into_iter();
    Spec {
        code: Body { text: code, line, column },
        modules: modules.map(|(sources, main)| Modules { sources, main }),
        max_output: max_output as usize,
        logging: Logging {
            style: LogStyle::Tagged,
            most_lines: most_lines as usize,
            most_length: most_length as usize,
            listener: Some(link.listener()),
        },
        tools: tools.map(|(namespace, method, index)| Tool { namespace, method, function: link.tool(index) }).collect(),
        answer: Arc::new(Last(Arc::clone(link))),
        ..blank(outfit.clone(), Duration::from_micros(deadline as u64).saturating_sub(now()))
    }
}

/// An execution of nothing, of which nobody hears.
fn blank(outfit: Outfit, timeout: Duration) -> Spec {
    Spec {
        code: Body { text: Text::from("'use strict'; return (async () => {})()"), line: 0, column: 0 },
        function: None,
        modules: None,
        outfit,
        freeze_builtins: true,
        timeout,
        max_output: 0,
        logging: Logging::default(),
        globals: Value::Undefined,
        tools: Vec::new(),
        tools_take_text: true,
        request: 0,
        answer: Arc::new(Nobody),
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
        let settings = crate::settings();
        let engine = (settings.engine)();
        let sealed = engine.seal_snapshot(b"what V8 has written, in words...", crate::engine::Size::default());
        // The host's own check takes the same.
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
