//! Compiles source texts with the process's code cache.

use v8::script_compiler::{CachedData, CompileOptions, Source};

use super::compilation::Origin;
use crate::engine::Digest;
use crate::engine::code_cache::{self, CodeKey, Compiled};
use crate::isolate::{Guest, Unit};
use crate::value::Text;

/// Shorter texts are compiled in less time than a cache saves, in units.
const MIN_LENGTH: usize = 20_000;

/// V8 may take much memory and time for the code of longer texts.
const MAX_LENGTH: usize = 16 << 20;

/// What a text is compiled as, which is part of its key.
#[derive(Clone, Copy)]
pub enum Form {
    Script,
    Module,
    /// The body of a function. `shadows`: the function has a parameter named `globalThis`.
    Body {
        shadows: bool,
    },
}

impl Form {
    fn number(self) -> u8 {
        match self {
            Form::Script => 0,
            Form::Module => 1,
            Form::Body { shadows: false } => 2,
            Form::Body { shadows: true } => 3,
        }
    }
}

/// Bytes at the beginning of a snapshot that tell it from others.
const SNAPSHOT_TAG: usize = 64;

/// Bytes that code may take in the heap for each byte of the data.
const HEAP_PER_DATA: usize = 4;

/// The part of its heap that texts may take that an isolate is the first to compile: it keeps them until it ends.
const HEAP_SHARE: usize = 8;

/// A text that is about to be compiled, and what the process's cache has for it. `None` if the cache is not for this text or isolate.
pub struct Compiling(Option<Known>);

struct Known {
    key: CodeKey,
    length: usize,
    compiled: Compiled,
    /// Units of all texts that the isolate may keep if no other has compiled them.
    most: usize,
}

impl Compiling {
    pub fn begin(isolate: &mut v8::Isolate, text: &Text, origin: &Origin, form: Form) -> Self {
        Self(Known::of(isolate, text, origin, form))
    }

    /// Without the process's cache.
    pub fn alone() -> Self {
        Self(None)
    }

    /// The source for V8, and how to compile it.
    pub fn source(&self, code: v8::Local<'_, v8::String>, origin: &v8::ScriptOrigin<'_>) -> (Source, CompileOptions) {
        match &self.0 {
            Some(Known { compiled: Compiled::Cached { data, .. }, .. }) => {
                let data = CachedData::new(data);
                (Source::new_with_cached_data(code, Some(origin), data), CompileOptions::ConsumeCodeCache)
            }
            _ => (Source::new(code, Some(origin)), CompileOptions::NoCompileOptions),
        }
    }

    /// It was compiled from `source`, to `unit`.
    pub fn end<'s>(
        self,
        scope: &mut v8::PinScope<'s, '_>,
        source: &Source,
        unit: impl FnOnce(&mut v8::PinScope<'s, '_>) -> Unit,
    ) {
        let (Some(Known { key, length, compiled, most }), Ok(guest)) = (self.0, Guest::of(scope)) else { return };
        if matches!(compiled, Compiled::Cached { .. }) {
            if source.get_cached_data().is_none_or(CachedData::rejected) {
                return code_cache::forget(key);
            }
            code_cache::hit();
        }
        match compiled {
            Compiled::Cached { complete: true, .. } => {}
            Compiled::New if guest.compiled.length() + length > most => {}
            Compiled::New => guest.compiled.add(key, unit(scope), length, true),
            Compiled::Repeated => guest.compiled.add(key, unit(scope), length, false),
            Compiled::Cached { complete: false, .. } => guest.compiled.add(key, unit(scope), length, true),
        }
    }
}

impl Known {
    fn of(isolate: &mut v8::Isolate, text: &Text, origin: &Origin, form: Form) -> Option<Self> {
        let length = text.len();
        if !(MIN_LENGTH..=MAX_LENGTH).contains(&length) || !code_cache::is_enabled() {
            return None;
        }
        let remote = Guest::of(isolate).ok()?.remote().ok()?;
        let settings = &remote.settings;
        // A debugger changes code.
        if settings.inspector || !settings.shares_code {
            return None;
        }
        // V8 takes code only for the snapshot that it was compiled with. The snapshot's tag, with its checksum, is in its first bytes.
        let snapshot = settings.snapshot.as_ref().and_then(|snapshot| snapshot.sealed().get(..SNAPSHOT_TAG));
        let key = key_of(text, origin, form, snapshot.unwrap_or_default());
        let compiled = code_cache::compiles(key);
        if let Compiled::Cached { data, .. } = &compiled {
            let used = isolate.get_heap_statistics().used_heap_size();
            // V8 reads all of it at once, and cannot stop in the middle.
            if used.saturating_add(data.len().saturating_mul(HEAP_PER_DATA)) > settings.memory_limit {
                return None;
            }
        }
        Some(Self { key, length, compiled, most: settings.memory_limit / HEAP_SHARE })
    }
}

fn key_of(text: &Text, origin: &Origin, form: Form, snapshot: &[u8]) -> CodeKey {
    let is_wide = |text: &Text| matches!(text, Text::Utf16(_));
    let kind = form.number() << 2 | u8::from(is_wide(text)) << 1 | u8::from(is_wide(&origin.filename));
    let add = |digest: Digest, text: &Text| {
        let digest = digest.bytes(&(text.len() as u64).to_le_bytes());
        match text {
            Text::Latin1(bytes) => digest.bytes(bytes),
            Text::Utf16(units) => digest.units(units),
        }
    };
    let digest = Digest::new(kind).bytes(&(snapshot.len() as u64).to_le_bytes()).bytes(snapshot);
    let digest = digest.bytes(&origin.line.to_le_bytes()).bytes(&origin.column.to_le_bytes());
    CodeKey::new(add(add(digest, &origin.filename), text))
}
