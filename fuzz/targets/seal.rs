#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| isolated_v8::fuzz::seal(data));
