//! What V8 keeps for guests that run on fibers.

mod entered;
mod heap_tasks;
mod stack_bounds;

pub use entered::{Entered, new_thread};
pub use heap_tasks::works_on_heap;
pub use stack_bounds::{Allowed, limit_stack};
