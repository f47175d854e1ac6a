//! Executes tests of test262 in V8 as it is: the library that the addon is linked with, and nothing of ours around it: no
//! startup snapshot, no surface, no flags but those given. `scripts/product/test262.mjs --host plain` has it run the tests that the
//! addon is compared with: `plain-v8 <checkout of test262> [flags of V8]`, and then one line of JSON on standard input for
//! each test, answered by one on standard output. See `scripts/product/test262/pool.mjs`.
//!
//! `cargo build --release --features plain-v8 --example plain-v8`

mod agents;
mod host;
mod modules;
mod run;

use std::io::{BufRead, Write};
use std::path::PathBuf;

use run::Test;
use serde_json::Value;

/// Tests that one isolate serves, if none of them fails: as many as in the addon.
const TESTS_PER_ISOLATE: usize = 100;
/// Guests of the addon may have it as well; tests ask for `$262.gc`.
const FLAGS: &str = "--expose-gc";

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().unwrap_or_default());
    v8::V8::set_flags_from_string(FLAGS);
    for flag in arguments {
        v8::V8::set_flags_from_string(&flag);
    }
    // Without its data V8's ICU aborts at the first use of `Intl`. An error here means a second call.
    let _ = v8::icu::set_common_data_78(deno_core_icudata::ICU_DATA);
    v8::V8::initialize_platform(v8::new_default_platform(0, false).make_shared());
    v8::V8::initialize();

    let mut output = std::io::stdout().lock();
    let mut isolate = None;
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        if number % TESTS_PER_ISOLATE == 0 {
            isolate = None;
        }
        let request: Value = serde_json::from_str(&line?)?;
        let outcome = match Test::read(&root, &request) {
            Ok(test) => {
                let outcome = run::outcome(isolate.get_or_insert_with(run::make_isolate), &test);
                // Where it failed to parse nothing has run.
                if outcome["phase"].as_str().unwrap_or("parse") != "parse" {
                    isolate = None;
                }
                outcome
            }
            Err(error) => serde_json::json!({ "phase": "crash", "message": error.to_string() }),
        };
        writeln!(output, "{outcome}")?;
        output.flush()?;
    }
    // Agents that wait forever do not keep the process alive.
    std::process::exit(0)
}
