//! Estimates the memory needed to optimize a function. V8 keeps the values of all locals for each edge of the control flow, so a few bytes
//! of code can require gigabytes.

use super::blocks::Blocks;
use super::instructions::{instruction, skip_value_type};
use super::reader::Reader;

/// Bytes for one value at one edge; 6 to 11 were measured.
const VALUE_BYTES: usize = 12;

/// Bytes for everything else, per byte of code.
const CODE_BYTES: usize = 64;

/// Bytes for each value, beyond a few, that one instruction reads or produces; up to 650 were measured.
const PART_BYTES: usize = 640;
const FEW_PARTS: usize = 4;

/// An edge takes as much as this many values, in addition to the locals; 1,500 bytes were measured for a conditional branch.
const EDGE: usize = 2;

/// Bytes for a local whose values meet at the end of a block; 116 were measured. Twice as much at the start of a loop, where V8 does not know
/// them in advance; 222 were measured.
const MEETING_BYTES: usize = 120;

/// Bytes for each block that is open at an instruction that lists branches, also in the decoder with which V8 checks the function, which runs
/// on V8's own threads; 3.3 were measured.
const LISTED_BYTES: usize = 4;

/// Maximum of [`weight`] and the edges for each byte of code.
const MAX_WEIGHT: usize = 5;

/// Bytes that an instruction takes in addition to its code, as a number of values. V8 expands some into hundreds of operations: 6,400 bytes
/// were measured for a cast, 7,300 for an indirect call.
fn weight(code: u8, more: u8) -> usize {
    match (code, more) {
        (0x11 | 0x13..=0x15, _) => 11,
        // New objects, casts, and work on parts of arrays.
        (0xfb, 0 | 1 | 6..=8 | 16..=25) => 9,
        // Tables, and work on parts of memories.
        (0x25 | 0x26 | 0x40 | 0xfc, _) => 5,
        (0x10 | 0x12 | 0xfb | 0xfe, _) => 2,
        _ => 0,
    }
}

/// V8 inlines functions of at most `INLINED` bytes, as long as the inlined code takes no more than `INLINED_TOGETHER` bytes.
const INLINED: usize = 500;
const INLINED_TOGETHER: usize = 5_000;

/// V8's compilers stop their thread permanently where more edges meet. Inlined functions add some thousands.
const MAX_INPUTS: usize = 60_000;

/// The number of values that belong to types and functions that instructions refer to by index.
#[derive(Default)]
pub struct Parts {
    /// Parameters and results, or fields.
    pub of_types: Vec<usize>,
    /// The same for functions, imported ones first. Incomplete if the module is not understood.
    pub of_functions: Vec<usize>,
    /// Maximum over all types.
    pub most: usize,
    /// Maximum number of parameters and results over all function types.
    pub arity: usize,
}

impl Parts {
    pub fn of_type(&self, index: usize) -> usize {
        self.of_types.get(index).copied().unwrap_or(self.most)
    }

    pub fn of_function(&self, index: usize) -> usize {
        self.of_functions.get(index).copied().unwrap_or(self.arity)
    }
}

/// Bytes that V8 may use to optimize the function with this body; the maximum if V8 cannot compile it. An exact estimate only if it would
/// be more than `most`.
pub fn cost(body: &[u8], parts: &Parts, most: usize) -> usize {
    let length = body.len();
    let mut reader = Reader::new(body);
    let locals = locals(&mut reader).unwrap_or(0);
    let copies = if length <= INLINED { INLINED_TOGETHER / length.max(1) } else { 1 };
    let width = locals.saturating_add(parts.arity).saturating_mul(VALUE_BYTES).saturating_mul(copies);
    let rest = length.saturating_mul(CODE_BYTES);
    let total = |Flow { edges, values, inputs, meetings, listed }: Flow| {
        if inputs > MAX_INPUTS {
            return usize::MAX;
        }
        let values = values.saturating_mul(PART_BYTES).saturating_mul(copies);
        let meetings = meetings.saturating_mul(MEETING_BYTES).saturating_mul(copies);
        let listed = listed.saturating_mul(LISTED_BYTES).saturating_mul(copies);
        let parts = [values, meetings, listed, rest];
        parts.into_iter().fold(edges.saturating_mul(width), usize::saturating_add)
    };
    let locals = locals.saturating_add(parts.arity);
    let bound = total(Flow::bound(length, locals, parts));
    if bound <= most { bound } else { total(Flow::of(&mut reader, locals, parts)) }
}

/// Size of the data flow and control flow.
#[derive(Clone, Copy, Default)]
struct Flow {
    edges: usize,
    /// Values, beyond a few, that single instructions read or produce.
    values: usize,
    /// Maximum number of edges that meet at one place.
    inputs: usize,
    /// Number of locals whose values may differ where edges meet, over all such places.
    meetings: usize,
    /// Number of blocks that are open at an instruction that lists branches, over all such instructions.
    listed: usize,
}

impl Flow {
    /// The maximum for code of this length. No instruction has more edges than bytes, and an instruction that names a type takes two bytes.
    /// For all other instructions, the values that they read take code of their own.
    fn bound(length: usize, locals: usize, parts: &Parts) -> Self {
        let many = parts.most.saturating_sub(FEW_PARTS);
        Self {
            edges: length,
            values: (length / 2).saturating_mul(many).saturating_add(length.saturating_mul(MAX_WEIGHT)),
            inputs: length,
            // A block takes three bytes, and setting a local two. The meetings of each count at most twice.
            meetings: (length / 3).saturating_mul(2).saturating_mul(locals.min(length / 2).saturating_add(parts.most)),
            // Half of the code opens blocks, with two bytes each, and half lists branches, with three.
            listed: (length / 4).saturating_add(1).saturating_mul((length / 6).saturating_add(1)),
        }
    }

    /// Uses the maximum for code that is not understood.
    fn of(reader: &mut Reader<'_>, locals: usize, parts: &Parts) -> Self {
        let mut flow = Self::default();
        let mut blocks = Blocks::new(locals);
        while reader.left() > 0 {
            let before = reader.left();
            let weight = reader.first_two().map_or(0, |(code, more)| weight(code, more));
            match instruction(reader, parts, &mut blocks) {
                Some((edges, values)) => {
                    flow.edges += edges;
                    let more = edges.saturating_mul(EDGE).saturating_add(weight);
                    flow.values = flow.values.saturating_add(values.saturating_sub(FEW_PARTS)).saturating_add(more);
                }
                None => {
                    let rest = Self::bound(before, locals, parts);
                    flow.edges += rest.edges;
                    flow.values = flow.values.saturating_add(rest.values);
                    flow.inputs = rest.inputs;
                    // Blocks that are open may end there.
                    let open = blocks.depth().saturating_mul(2).saturating_mul(locals.saturating_add(parts.most));
                    flow.meetings = rest.meetings.saturating_add(open);
                    flow.listed = rest.listed.saturating_add(blocks.depth().saturating_mul(before / 3));
                    break;
                }
            }
        }
        flow.inputs = flow.inputs.max(blocks.inputs as usize);
        flow.meetings = flow.meetings.saturating_add(blocks.meetings);
        flow.listed = flow.listed.saturating_add(blocks.listed);
        flow
    }
}

/// Reads the declarations at the start of a body. Returns the number of locals without the parameters.
pub fn locals(reader: &mut Reader<'_>) -> Option<usize> {
    let mut locals = 0_usize;
    for _ in 0..reader.number()? {
        locals = locals.saturating_add(reader.size()?);
        skip_value_type(reader)?;
    }
    Some(locals)
}

#[cfg(test)]
mod tests {
    use super::{CODE_BYTES, Flow, MEETING_BYTES, PART_BYTES, Parts, Reader, VALUE_BYTES};

    fn cost(body: &[u8], arity: usize, most: usize) -> usize {
        super::cost(body, &Parts { arity, ..Parts::default() }, most)
    }

    /// A body with 1,000 locals of type i32 and this code.
    fn body(code: &[u8]) -> Vec<u8> {
        let mut body = vec![1, 0xe8, 7, 0x7f];
        body.extend_from_slice(code);
        body
    }

    fn edges(code: &[u8]) -> usize {
        let body = body(code);
        (cost(&body, 0, 0) - body.len() * CODE_BYTES) / (1_000 * VALUE_BYTES) / (5_000 / body.len())
    }

    #[test]
    fn counts_edges() {
        assert_eq!(edges(&[0x41, 2, 0x1a, 0x0b]), 0);
        // block, local.get 2, br_if 0, end, end
        assert_eq!(edges(&[0x02, 0x40, 0x20, 2, 0x0d, 0, 0x0b, 0x0b]), 2);
        // br_table 0 0 0
        assert_eq!(edges(&[0x0e, 2, 0, 0, 0]), 3);
        // i32.load offset=2, f64.const, i32x4.splat, memory.fill
        assert_eq!(edges(&[0x28, 2, 2, 0x44, 2, 3, 4, 2, 3, 4, 2, 3, 0xfd, 17, 0xfc, 11, 0]), 0);
        // Calls count where there is a `try_table`.
        assert_eq!(edges(&[0x10, 0, 0x1f, 0x40, 1, 2, 0, 0x10, 0, 0x0b]), 4);
        // br_on_cast
        assert_eq!(edges(&[0xfb, 24, 3, 0, 0x6e, 0x6b]), 1);
        // Not an instruction.
        assert_eq!(edges(&[0xff, 2, 3]), 3);
    }

    #[test]
    fn counts_values_of_one_instruction() {
        let parts = Parts { of_types: vec![3, 1_004, 504], of_functions: vec![3, 1_004], most: 1_004, arity: 0 };
        let values = |code: &[u8]| {
            let body = [&[0], code, &[1; 5_000]].concat();
            (super::cost(&body, &parts, 0) - body.len() * CODE_BYTES) / PART_BYTES
        };
        // call, call_indirect, return_call_ref
        assert_eq!([&[0x10, 0][..], &[0x10, 1], &[0x11, 1, 0], &[0x15, 2]].map(values), [2, 1_002, 1_011, 511]);
        // struct.new, struct.new_default, array.new_fixed
        assert_eq!([&[0xfb, 0, 0][..], &[0xfb, 1, 1], &[0xfb, 8, 0, 104]].map(values), [11, 1_011, 111]);
        // An unknown function and an unknown type.
        assert_eq!([&[0x10, 2][..], &[0x14, 3]].map(values), [2, 1_011]);
        // br_if, table.get, ref.cast, i32.add
        assert_eq!([&[0x0d, 0][..], &[0x25, 0], &[0xfb, 22, 0x6e], &[0x6a]].map(values), [2, 5, 11, 0]);
    }

    #[test]
    fn counts_locals_whose_values_meet() {
        let parts = Parts { of_types: vec![7], most: 7, ..Parts::default() };
        let meetings = |code: &[u8]| {
            let of = |locals: usize| {
                let mut body = vec![1, locals as u8, 0x7f];
                body.extend_from_slice(code);
                body.extend([0x01; 5_000]);
                super::cost(&body, &parts, 0)
                    - Flow::of(&mut Reader::new(code), locals, &parts).edges * locals * VALUE_BYTES
            };
            (of(10) - of(0)) / MEETING_BYTES
        };
        // local.set 1, local.tee 2
        let set = [0x21, 1, 0x22, 2];
        let within = |begin: &[u8], end: &[u8]| meetings(&[begin, &set, end, &[0x0b]].concat());
        // loop, block, if
        assert_eq!([&[0x03, 0x40], &[0x02, 0x40], &[0x04, 0x40]].map(|begin| within(begin, &[])), [4, 0, 2]);
        // block ... br_if 0, block ... br 0
        assert_eq!([&[0x0d, 0], &[0x0c, 0]].map(|end| within(&[0x02, 0x40], end)), [2, 0]);
        // What is set before a block does not count, nor more than there are locals.
        assert_eq!(meetings(&[&set[..], &[0x03, 0x40, 0x0b]].concat()), 0);
        assert_eq!(within(&[0x03, 0x40], &set.repeat(10)), 20);
        // Nested loops
        assert_eq!(within(&[0x03, 0x40].repeat(9), &[0x0b; 8]), 36);
        // try ... call 0 call 0 catch_all, and the same with one call
        assert_eq!(
            [1, 2].map(|calls| within(&[0x06, 0x40], &[&[0x10, 0].repeat(calls)[..], &[0x19]].concat())),
            [2, 4]
        );
    }

    #[test]
    fn refuses_places_where_too_many_edges_meet() {
        let is_refused = |code: &[u8], rest: &[u8]| {
            let code = [&[0][..], code, rest, &[0x0b, 0x0b]].concat();
            super::cost(&code, &Parts::default(), usize::MAX - 1) == usize::MAX
        };
        // block, local.get 2 br_if 0 ...
        let branches = |count: usize| [0x20, 2, 0x0d, 0].repeat(count);
        assert!(!is_refused(&[0x02, 0x40], &branches(59_000)));
        assert!(is_refused(&[0x02, 0x40], &branches(61_000)));
        // To the function itself.
        assert!(!is_refused(&[0x02, 0x40], &[0x20, 2, 0x0d, 1].repeat(61_000)));
        // To different blocks.
        assert!(!is_refused(&[0x02, 0x40, 0x02, 0x40], &[0x20, 2, 0x0d, 0, 0x20, 2, 0x0d, 1].repeat(40_000)));
        assert!(!is_refused(&[], &[0x02, 0x40, 0x20, 2, 0x0d, 0, 0x0b].repeat(61_000)));
        // br_table of 61,000 targets
        let table = [&[0x0e, 0xc8, 0xdc, 3][..], &[0; 61_001]].concat();
        assert!(is_refused(&[0x02, 0x40, 0x20, 2], &table));
        // try_table (catch_all 0) or try, call 0 ...
        for begin in [&[0x02, 0x40, 0x1f, 0x40, 1, 2, 0][..], &[0x06, 0x40]] {
            assert!(!is_refused(begin, &[0x10, 0].repeat(59_000)));
            assert!(is_refused(begin, &[0x10, 0].repeat(61_000)));
        }
        // Code after a branch that is always taken does not end there.
        assert!(!is_refused(&[0x02, 0x40], &[0x02, 0x40, 0x0c, 1, 0x0b].repeat(59_000)));
        // try catch_all call 0 ...
        assert!(!is_refused(&[0x06, 0x40, 0x19], &[0x10, 0].repeat(61_000)));
        // Not an instruction.
        assert!(is_refused(&[0xff], &[0; 70_000]));
    }

    #[test]
    fn skips_a_search_that_is_not_needed() {
        assert!(cost(&body(&[0x41, 2, 0x1a, 0x0b]), 0, usize::MAX) > cost(&body(&[0x41, 2, 0x1a, 0x0b]), 0, 0));
        assert_eq!(cost(&[], 0, 0), 0);
    }
}
