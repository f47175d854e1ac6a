//! The log lines of one execution.

use std::sync::{Arc, Mutex};

use crate::native::lock;
use crate::value::{Callable, Text};

/// How console calls become log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStyle {
    /// As they are (`createSandbox`).
    #[default]
    Plain,
    /// With `[ERROR] ` or `[WARN] ` before errors and warnings (`AgentSandbox`).
    Marked,
    /// JSON of the one argument, or of all arguments as a list, with the level before it (`SubprocessSandbox`).
    Tagged,
}

/// What happens to console calls.
#[derive(Default)]
pub struct Logging {
    pub style: LogStyle,
    /// The maximum number of lines that are kept, and of characters of each.
    pub max_lines: usize,
    pub max_length: usize,
    /// A function of the host that receives each line at once, with its level.
    pub listener: Option<Arc<Callable>>,
}

/// The maximum number of bytes of all lines. A last line says when it is reached.
const MAX_BYTES: usize = 8 << 20;

/// What a line takes besides its characters.
const LINE_BYTES: usize = 64;

/// The lines of one execution.
pub struct Logs {
    pub logging: Logging,
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    texts: Vec<Text>,
    bytes: usize,
    dropped: u32,
}

impl Logs {
    pub fn new(logging: Logging) -> Self {
        Self { logging, lines: Mutex::default() }
    }

    /// The lines, and how many were not kept.
    pub fn take(&self) -> (Vec<Text>, u32) {
        let lines = std::mem::take(&mut *lock(&self.lines));
        (lines.texts, lines.dropped)
    }

    /// Whether there is room for another line. If not, it counts as lost.
    pub fn has_room(&self) -> bool {
        let mut lines = lock(&self.lines);
        let room = lines.texts.len() < self.logging.max_lines && lines.bytes < MAX_BYTES;
        if !room {
            lines.dropped = lines.dropped.saturating_add(1);
        }
        room
    }

    /// Keeps a line, truncated if it is too long. Returns it without its mark.
    pub fn push(&self, level: &str, mut line: Vec<u16>) -> Text {
        let mark = match (self.logging.style, level) {
            (LogStyle::Marked, "error") => "[ERROR] ",
            (LogStyle::Marked, "warn") => "[WARN] ",
            (LogStyle::Tagged, "log" | "info") => "[log] ",
            (LogStyle::Tagged, "warn") => "[warn] ",
            (LogStyle::Tagged, "error") => "[error] ",
            (LogStyle::Tagged, "debug") => "[debug] ",
            (LogStyle::Tagged, "stdout") => "[stdout] ",
            (LogStyle::Tagged, "stderr") => "[stderr] ",
            _ => "",
        };
        cut(&mut line, self.logging.max_length);
        let text = Text::from_utf16(line.clone());
        let marked =
            if mark.is_empty() { text.clone() } else { Text::from_utf16(mark.encode_utf16().chain(line).collect()) };
        let mut lines = lock(&self.lines);
        lines.bytes += marked.byte_len() + LINE_BYTES;
        lines.texts.push(marked);
        if lines.bytes >= MAX_BYTES {
            lines.texts.push(Text::from("[WARN] Further output is not kept"));
        }
        text
    }
}

/// Truncates a line that is too long.
pub fn cut(line: &mut Vec<u16>, most: usize) {
    if line.len() > most {
        line.truncate(most);
        line.extend("...".encode_utf16());
    }
}
