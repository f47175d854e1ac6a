//! What a guest's `console` keeps between calls: counts, times and the depth of groups. The contexts of an isolate share it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::isolate;
use crate::native::lock;
use crate::value::Text;

/// The maximum number of labels of each kind. Further ones are not kept.
const MAX_LABELS: usize = 1_000;

/// The maximum depth of groups. Deeper ones are not indented any further.
const MAX_DEPTH: u32 = 16;

/// Spaces before a line of a group.
const INDENT: usize = 2;

#[derive(Default)]
pub struct Labels(Mutex<State>);

#[derive(Default)]
struct State {
    counts: HashMap<Text, u32>,
    times: HashMap<Text, Instant>,
    depth: u32,
}

impl Labels {
    /// Those of the isolate.
    pub fn of(scope: &mut v8::Isolate) -> Arc<Self> {
        isolate::attached(scope).unwrap_or_else(|| {
            let made = Arc::<Self>::default();
            isolate::attach(scope, Arc::clone(&made));
            made
        })
    }

    /// Counts the label, and returns how often it was counted.
    pub fn count(&self, label: Text) -> u32 {
        let mut state = lock(&self.0);
        if state.counts.len() >= MAX_LABELS && !state.counts.contains_key(&label) {
            return 1;
        }
        let count = state.counts.entry(label).or_default();
        *count = count.saturating_add(1);
        *count
    }

    pub fn reset_count(&self, label: &Text) {
        lock(&self.0).counts.remove(label);
    }

    /// Starts to measure, unless the label is being measured.
    pub fn start(&self, label: Text) {
        let mut state = lock(&self.0);
        if state.times.len() < MAX_LABELS {
            state.times.entry(label).or_insert_with(Instant::now);
        }
    }

    /// The milliseconds since the label's start; `None` if it was not started.
    pub fn elapsed(&self, label: &Text, ends: bool) -> Option<f64> {
        let mut state = lock(&self.0);
        let start = if ends { state.times.remove(label) } else { state.times.get(label).copied() };
        start.map(|start| start.elapsed().as_secs_f64() * 1_000.0)
    }

    pub fn begin_group(&self) {
        let mut state = lock(&self.0);
        state.depth = state.depth.saturating_add(1);
    }

    pub fn end_group(&self) {
        let mut state = lock(&self.0);
        state.depth = state.depth.saturating_sub(1);
    }

    /// Indents the lines of an entry according to its groups.
    pub fn indent(&self, line: Vec<u16>) -> Vec<u16> {
        let depth = lock(&self.0).depth.min(MAX_DEPTH);
        if depth == 0 {
            return line;
        }
        let margin = vec![u16::from(b' '); depth as usize * INDENT];
        let mut indented = margin.clone();
        for unit in line {
            indented.push(unit);
            if unit == u16::from(b'\n') {
                indented.extend_from_slice(&margin);
            }
        }
        indented
    }
}
