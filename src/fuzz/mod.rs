//! The targets of the fuzzer (`fuzz/README.md`). Each takes any bytes, and panics or crashes only if there is a bug. Only builds for the
//! fuzzer and for tests contain this module, never a release. The tests replay what the fuzzer has found.

#![allow(clippy::expect_used, clippy::panic, reason = "a panic is how a target reports what it has found")]

mod evals;
mod frames;
mod input;
mod inspector;
mod isolate;
mod operations;
mod payload;
mod seal;
mod web;

pub use evals::evals;
pub use frames::frames;
pub use inspector::inspector;
pub use operations::operations;
pub use payload::payload;
pub use seal::seal;
pub use web::web;

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{fs, panic};

    use super::{evals, frames, inspector, operations, payload, seal, web};

    /// Runs a target on all files of its corpus, in order.
    fn replay(name: &str, target: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
        let entries = fs::read_dir(&folder).expect("the folder of the corpus");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no corpus");
        for file in files {
            let bytes = fs::read(&file).expect("a readable file");
            assert!(panic::catch_unwind(|| target(&bytes)).is_ok(), "{} fails", file.display());
        }
    }

    #[test]
    fn corpus_of_evals() {
        replay("evals", evals);
    }

    #[test]
    fn corpus_of_frames() {
        replay("frames", frames);
    }

    #[test]
    fn corpus_of_inspector() {
        replay("inspector", inspector);
    }

    #[test]
    fn corpus_of_operations() {
        replay("operations", operations);
    }

    #[test]
    fn corpus_of_payload() {
        replay("payload", payload);
    }

    #[test]
    fn corpus_of_seal() {
        replay("seal", seal);
    }

    #[test]
    fn corpus_of_web() {
        replay("web", web);
    }
}
