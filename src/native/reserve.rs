//! The lowest part of each stack on which guests run.

/// Never accessible. Larger than any frame.
pub const GUARD: usize = 64 << 10;

/// Above the guard. Becomes accessible at the first access.
pub const RESERVE: usize = 256 << 10;
