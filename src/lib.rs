//! isolated-v8: JavaScript sandboxes on a V8 of their own, as a Node-API addon.
//!
//! Layers, each using only those above it: `value` (what travels between engines), `convert` (V8 values to and from it),
//! `engine` (V8 for the process), `isolate` (one isolate, its thread, limits and realms), `ops` (what each call of the API
//! does), then the two bindings `guest` (V8) and `host` (Node-API), and the ready-made sandboxes (`sandbox`).
//!
//! A call walks surface → binding → [`value::Value`] → inbox → operation → value → binding → surface. Guest code never runs
//! on a host's thread.

#![cfg_attr(test, allow(dead_code, reason = "napi leaves the addon's entry point out of test builds"))]

// Hides the V8 crates' #[no_mangle] helpers (see build.rs).
#[cfg(target_os = "linux")]
core::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/hidden.s")));

mod convert;
mod engine;
mod guest;
mod host;
mod isolate;
mod ops;
mod sandbox;
mod value;

use engine::Engine;
use isolate::Settings;

/// What every isolate starts from.
fn settings() -> Settings {
    Settings {
        engine: || Engine::start(&guest::RECIPE, isolate::park),
        binding: &guest::GuestBinding,
        memory_limit: 128 << 20,
        snapshot: None,
        inspector: false,
        on_catastrophe: None,
    }
}
