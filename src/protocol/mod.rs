//! Numbers and names that JavaScript and Rust both know. They are declared in JavaScript: in `surface/core/protocol.js`, for hosts in
//! `surface/host/protocol.js`, and for the web APIs in `surface/web/protocol.js`. build.rs generates these constants from there.

#![allow(dead_code, reason = "JavaScript uses some of the constants alone")]

#[cfg(test)]
mod generate;

include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
