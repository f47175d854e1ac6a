//! The settings that every isolate starts from.

use std::fs::File;

use super::{SNAPSHOT_SOURCE, install};
use crate::engine::{Engine, library};
use crate::isolate::{self, Settings};
use crate::ops;

/// The addon's file.
fn own_file() -> Option<File> {
    library::own_file().and_then(|path| File::open(path).ok())
}

pub fn settings() -> Settings {
    Settings {
        engine: || Engine::start(&SNAPSHOT_SOURCE, own_file, isolate::park),
        install,
        install_snapshot_web: |_, _| Err(ops::malformed()),
        memory_limit: ops::DEFAULT_MEMORY,
        snapshot: None,
        inspector: false,
        host_stacks: false,
        shares_code: true,
        shares_memory: true,
        importer: None,
        host: None,
        maker: None,
        types: None,
        references: None,
    }
}
