//! What V8 keeps for guests that run on fibers.

mod entered;
mod stack_bounds;

pub use entered::{Entered, new_thread};
pub use stack_bounds::{Allowed, limit_stack};
