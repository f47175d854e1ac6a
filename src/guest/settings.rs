//! The settings that every isolate starts from.

use super::{RECIPE, install};
use crate::engine::{Engine, library};
use crate::isolate::{self, Settings};
use crate::ops;

pub fn settings() -> Settings {
    Settings {
        engine: || Engine::start(&RECIPE, library::own_file, isolate::park),
        install,
        memory_limit: ops::DEFAULT_MEMORY,
        snapshot: None,
        inspector: false,
        host_stacks: false,
        shares_code: true,
        importer: None,
        host: None,
        maker: None,
        types: None,
        references: None,
    }
}
