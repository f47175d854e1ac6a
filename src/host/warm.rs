//! Isolates that are created before executions in sandboxes need them, as the surface requests them, and what they start from.

use std::sync::Arc;

use super::carrier;
use super::environment::Environment;
use super::js::{Js, JsResult, JsValue, Refused};
use crate::isolate::{Remote, Settings};
use crate::ops;
use crate::protocol::{flag, meter as meter_figure};
use crate::sandbox::{IsolateTemplate, Names, RealmTemplate};
use crate::value::{Fault, Handle, IsolateHandle, Value};

/// What the isolates of executions with these flags contain.
pub fn template(
    flags: u32,
    web: u32,
    memory_limit: usize,
    snapshot: Value,
    settings: &Settings,
) -> Result<IsolateTemplate, Fault> {
    let realm = RealmTemplate::Sandbox {
        shadow_global: flags & flag::SHADOW_GLOBAL != 0,
        timers: flags & flag::TIMERS != 0,
        web: Names::from_bits(web),
    };
    let snapshot = ops::snapshot::open(snapshot, settings, memory_limit)?;
    Ok(IsolateTemplate { memory_limit, snapshot, realm, shares_memory: false })
}

/// The isolate with this handle.
pub fn isolate_of(environment: &Environment, handle: usize) -> JsResult<Arc<Remote>> {
    let Some(Value::Handle(Handle::Isolate(isolate))) = environment.handle(handle) else {
        return Err(Refused);
    };
    Remote::from_owner(&isolate.0).ok_or(Refused)
}

/// `prewarm(flags, web, memoryLimit, snapshot)`: an execution like this follows at once.
pub fn prewarm<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [flags, web, memory_limit, snapshot, ..] = args else {
        return Err(Refused);
    };
    let memory_limit = (js.read_number(*memory_limit)? as usize).saturating_mul(1 << 20);
    let (flags, web) = (js.read_number(*flags)? as u32, js.read_number(*web)? as u32);
    let snapshot = carrier::read(js, environment, *snapshot)?;
    // An invalid snapshot is reported when it is used.
    if let Ok(template) =
        snapshot.and_then(|snapshot| template(flags, web, memory_limit, snapshot, &environment.settings))
    {
        environment.handle.warm_pool.prewarm(&template);
    }
    js.undefined()
}

/// `keepSnapshot(memoryLimit, snapshot)`: a copy of the snapshot for sandboxes with this memory limit, in megabytes.
pub fn keep_snapshot<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [memory_limit, snapshot, ..] = args else {
        return Err(Refused);
    };
    let memory_limit = (js.read_number(*memory_limit)? as usize).saturating_mul(1 << 20);
    let snapshot = carrier::read(js, environment, *snapshot)?;
    let kept = snapshot.and_then(|snapshot| ops::snapshot::keep(snapshot, &environment.settings, memory_limit));
    carrier::write(js, environment, kept)
}

/// `takeIsolate(memoryLimit, warm, snapshot)`: an isolate for a plugin, whose first context already exists if that is possible.
pub fn take_isolate<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [memory_limit, wanted, snapshot, ..] = args else {
        return Err(Refused);
    };
    let memory_limit = (js.read_number(*memory_limit)? as usize).saturating_mul(1 << 20);
    let wanted = js.read_number(*wanted)? as usize;
    let snapshot = carrier::read(js, environment, *snapshot)?;
    let snapshot = snapshot.and_then(|snapshot| ops::snapshot::open(snapshot, &environment.settings, memory_limit));
    let taken = snapshot.map(|snapshot| {
        let template = IsolateTemplate { memory_limit, snapshot, realm: RealmTemplate::Bare, shares_memory: false };
        let pool = &environment.handle.warm_pool;
        let remote = pool.take(&template, wanted, &environment.settings);
        if wanted > 0 {
            remote.when_gone(pool.restocking(&template));
            pool.restock_later(&template);
        }
        Value::Handle(Handle::Isolate(IsolateHandle(remote)))
    });
    carrier::write(js, environment, taken)
}

/// `makeWarm(memoryLimit)`: an isolate that counts as a warm one, whatever runs in it.
pub fn make_warm<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [memory_limit, ..] = args else {
        return Err(Refused);
    };
    let memory_limit = (js.read_number(*memory_limit)? as usize).saturating_mul(1 << 20);
    let template = IsolateTemplate { memory_limit, snapshot: None, realm: RealmTemplate::Bare, shares_memory: true };
    let remote = Remote::create_warm(template.settings(&environment.settings), template.preparation());
    environment.handle.add_isolate(&remote);
    carrier::write(js, environment, Ok(Value::Handle(Handle::Isolate(IsolateHandle(remote)))))
}

/// `makeInspectable(flags, web, memoryLimit, snapshot)`: an isolate for one execution, to which a debugger can be attached before.
pub fn make_inspectable<'a>(
    js: Js<'a>,
    environment: &'static Environment,
    args: &[JsValue<'a>],
) -> JsResult<JsValue<'a>> {
    let [flags, web, memory_limit, snapshot, ..] = args else {
        return Err(Refused);
    };
    let memory_limit = (js.read_number(*memory_limit)? as usize).saturating_mul(1 << 20);
    let (flags, web) = (js.read_number(*flags)? as u32, js.read_number(*web)? as u32);
    let snapshot = carrier::read(js, environment, *snapshot)?;
    let template = snapshot.and_then(|snapshot| template(flags, web, memory_limit, snapshot, &environment.settings));
    let made = template.map(|template| {
        let settings = Settings { inspector: true, ..template.settings(&environment.settings) };
        let remote = Remote::create_prepared(settings, template.preparation());
        environment.handle.add_isolate(&remote);
        Value::Handle(Handle::Isolate(IsolateHandle(remote)))
    });
    carrier::write(js, environment, made)
}

/// `meter(isolate, anew)`: the nanoseconds for which the isolate has run, the most bytes of heap in use since the last call with `anew`, and
/// the bytes of memory in use now.
pub fn meter<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [isolate, anew, ..] = args else {
        return Err(Refused);
    };
    let remote = isolate_of(environment, js.read_number(*isolate)? as usize)?;
    if js.read_boolean(*anew)? {
        remote.accounts.meter.forget_heap();
    }
    let meter = &remote.accounts.meter;
    let mut figures = [0; meter_figure::ALL.len()];
    figures[meter_figure::CPU as usize] = meter.cpu_time();
    figures[meter_figure::HEAP_PEAK as usize] = meter.heap_peak() as u64;
    figures[meter_figure::MEMORY as usize] = remote.in_use() as u64;
    js.array(&figures.map(|figure| js.number(figure as f64)).into_iter().collect::<Result<Vec<_>, _>>()?)
}
