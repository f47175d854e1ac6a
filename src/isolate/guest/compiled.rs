//! Sources whose code V8 writes into the process's cache (`engine::code_cache`) once they have run. It is written on the isolate's thread,
//! when the isolate is idle and, with all functions that have run by then, when it ends.

use std::cell::RefCell;

use crate::engine::code_cache::{self, CodeKey};
use crate::isolate::remote::Remote;

/// What V8 has compiled.
pub enum Unit {
    Script(v8::Global<v8::UnboundScript>),
    Module(v8::Global<v8::UnboundModuleScript>),
    Function(v8::Global<v8::Function>),
}

impl Unit {
    pub fn of_module(scope: &mut v8::PinScope<'_, '_>, module: v8::Local<'_, v8::Module>) -> Self {
        let script = module.get_unbound_module_script(scope);
        Self::Module(v8::Global::new(scope, script))
    }
}

struct Source {
    key: CodeKey,
    unit: Unit,
    /// Units of the source text.
    length: usize,
    /// Nothing is written before the isolate ends: the cache has what had run when an isolate was idle, or the source may never run again.
    waits: bool,
}

/// The most sources that an isolate keeps for this.
const MAX_SOURCES: usize = 8;

/// V8's writer takes less memory than this for each unit of the source text.
const WRITER_BYTES: usize = 8;

#[derive(Default)]
pub struct CompiledSources(RefCell<Vec<Source>>);

impl CompiledSources {
    /// Units of the texts of all sources that are kept.
    pub fn length(&self) -> usize {
        self.0.borrow().iter().map(|source| source.length).sum()
    }

    /// `waits`: its code is written only when the isolate ends.
    pub fn add(&self, key: CodeKey, unit: Unit, length: usize, waits: bool) {
        let mut sources = self.0.borrow_mut();
        if let Some(known) = sources.iter_mut().find(|source| source.key == key) {
            known.waits &= waits;
            return;
        }
        if sources.len() == MAX_SOURCES
            && !waits
            && let Some(place) = sources.iter().position(|source| source.waits)
        {
            sources.swap_remove(place);
        }
        if sources.len() < MAX_SOURCES {
            sources.push(Source { key, unit, length, waits });
        }
    }

    /// The isolate is idle, or ends (`complete`). Runs nothing of the guest.
    pub(in crate::isolate) fn write(&self, isolate: &mut v8::Isolate, remote: &Remote, complete: bool) {
        if self.0.borrow().iter().all(|source| source.waits && !complete) {
            return;
        }
        let mut sources = std::mem::take(&mut *self.0.borrow_mut());
        v8::scope!(let scope, isolate);
        for source in &mut sources {
            // A call that waits comes first. The next time the isolate is idle, this continues.
            if !complete && !remote.mailbox.lock().is_empty() {
                break;
            }
            let may_write = (complete || !source.waits)
                && remote.accounts.has_native_room(source.length * WRITER_BYTES)
                && code_cache::claim(source.key, complete);
            if may_write {
                v8::scope!(let scope, scope);
                let data = match &source.unit {
                    Unit::Script(script) => v8::Local::new(scope, script).create_code_cache(),
                    Unit::Module(module) => v8::Local::new(scope, module).create_code_cache(),
                    Unit::Function(function) => v8::Local::new(scope, function).create_code_cache(),
                };
                if let Some(data) = data {
                    code_cache::keep(source.key, &data, complete);
                }
            }
            source.waits = true;
        }
        if !complete {
            *self.0.borrow_mut() = sources;
        }
    }

    pub(in crate::isolate) fn clear(&self) {
        drop(std::mem::take(&mut *self.0.borrow_mut()));
    }
}
