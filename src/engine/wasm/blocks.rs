//! The blocks that are open at an instruction of a WebAssembly function, and the edges of the control flow that meet at them.

/// Deeper blocks are not understood. Programs have some thousands.
const MAX_DEPTH: usize = 100_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Loop,
    If,
    Try,
}

/// A block that is open.
struct Block {
    /// Number of edges to the place that a branch to it leads to.
    edges: u32,
    is_loop: bool,
    /// Maximum number of values that an edge to it passes on in addition to the locals.
    values: usize,
    /// How many locals were set before it, each as often as it was set.
    sets: usize,
}

#[derive(Default)]
pub struct Blocks {
    open: Vec<Block>,
    /// Index of each block whose exceptions are caught, and the number of edges to its handler.
    handlers: Vec<(usize, u32)>,
    /// Maximum number of edges that meet at one place.
    pub inputs: u32,
    /// There was a handler.
    catches: bool,
    /// How often a local was set.
    pub sets: usize,
    /// Number of locals whose values may differ where edges meet, over all such places.
    pub meetings: usize,
    /// Number of blocks that are open at an instruction that lists branches, over all such instructions.
    pub listed: usize,
    /// The number of locals.
    locals: usize,
    /// The last instruction never leads to the next one.
    pub has_left: bool,
}

impl Blocks {
    /// Those of a function with this many locals.
    pub fn new(locals: usize) -> Self {
        Self { locals, ..Self::default() }
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn open(&mut self, kind: Kind, values: usize) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        if kind == Kind::Try {
            self.handlers.push((self.open.len(), 0));
            self.catches = true;
        }
        // For the case that a condition does not hold.
        let edges = u32::from(kind == Kind::If);
        self.open.push(Block { edges, is_loop: kind == Kind::Loop, values, sets: self.sets });
        Some(())
    }

    /// An instruction lists branches. V8's decoders note for each open block whether it is in the list, and keep that until the end of the
    /// function.
    pub fn list(&mut self) {
        self.listed = self.listed.saturating_add(self.open.len() + 1);
    }

    /// An edge to the block that is `depth` blocks out; none for the function itself.
    pub fn branch(&mut self, depth: usize) {
        let index = self.open.len().checked_sub(1).and_then(|last| last.checked_sub(depth));
        if let Some(block) = index.and_then(|index| self.open.get_mut(index)) {
            block.edges += 1;
            self.inputs = self.inputs.max(block.edges);
        }
    }

    /// An instruction may throw. Returns its number of edges.
    pub fn throw(&mut self) -> usize {
        if let Some((_, edges)) = self.handlers.last_mut() {
            *edges += 1;
            self.inputs = self.inputs.max(*edges);
        }
        usize::from(self.catches)
    }

    /// A part of the innermost block ends. Its handlers follow, if it has any.
    pub fn end_part(&mut self) {
        if !self.has_left {
            self.branch(0);
        }
        if let Some((_, edges)) = self.handlers.pop_if(|(index, _)| *index + 1 == self.open.len())
            && edges > 1
        {
            self.meet(1);
        }
    }

    pub fn close(&mut self) {
        self.end_part();
        match self.open.last() {
            Some(Block { is_loop: true, .. }) => self.meet(2),
            Some(Block { edges: 2.., .. }) => self.meet(1),
            _ => {}
        }
        self.open.pop();
    }

    /// Edges meet at the start or end of the innermost block. The values of locals differ there only if they were set inside the block.
    fn meet(&mut self, times: usize) {
        let values = self.open.last().map_or(0, |block| (self.sets - block.sets).min(self.locals) + block.values);
        self.meetings = self.meetings.saturating_add(values.saturating_mul(times));
    }
}
