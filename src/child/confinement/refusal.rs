//! Why a layer of the confinement cannot be applied.

use std::io;

pub struct Refusal(pub String);

impl Refusal {
    /// The error of a system call.
    pub fn by(call: &str, error: &io::Error) -> Self {
        let text = error.to_string();
        Self(format!("{call}: {}", text.split(" (os error").next().unwrap_or_default()))
    }
}
