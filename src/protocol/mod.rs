//! Numbers and names that JavaScript and Rust both know. They are declared in JavaScript: in `surface/core/protocol.js`, for hosts in
//! `surface/host/protocol.js`, and for the web APIs in `surface/web/protocol.js`. build.rs generates these constants from there.

#![allow(dead_code, reason = "JavaScript uses some of the constants alone")]

#[cfg(test)]
mod generate;

include!(concat!(env!("OUT_DIR"), "/protocol.rs"));

/// The elements of an array, each given with its index there.
pub fn ordered<T, const LENGTH: usize>(mut elements: [(u32, T); LENGTH]) -> [T; LENGTH] {
    elements.sort_by_key(|(index, _)| *index);
    elements.map(|(_, element)| element)
}
