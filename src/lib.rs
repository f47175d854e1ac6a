//! isolated-v8: JavaScript sandboxes on a V8 of their own, as a Node-API addon.
//!
//! Each layer uses only those above it in this list (`scripts/checks/layers.mjs` checks it):
//!
//! - `native`: memory of C++ code
//! - `protocol`: constants shared with JavaScript
//! - `value`: values that travel between engines
//! - `convert`: conversion of V8 values
//! - `engine`: V8 for the process
//! - `isolate`: one isolate, its thread, limits and realms
//! - `ops`: what each call of the API does
//! - `guest`: the binding for guests (V8)
//! - `web`: the web APIs that guests can have
//! - `sandbox`: the ready-made sandboxes
//! - `child`: sandboxes in processes of their own, on both sides
//! - `host`: the binding for hosts (Node-API)
//!
//! A call passes through surface → binding → [`value::Value`] → mailbox → operation → value → binding → surface. Guest code runs on threads of
//! the library or, for sync calls with `syncCalls: 'caller'`, on the caller's thread, on a stack of its own.

// Hides the V8 crates' #[no_mangle] helpers (see build.rs).
#[cfg(target_os = "linux")]
core::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/hidden.s")));

mod child;
mod convert;
mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod guest;
mod host;
mod isolate;
mod native;
mod ops;
mod protocol;
mod sandbox;
mod value;
mod web;
