//! Reuses the memory of long texts and large buffers. To get new memory takes several times as long as to write a value to it, because the
//! system clears the memory first, page by page.

use std::sync::Mutex;

use crate::native::lock;

/// Sizes of blocks that are kept, and of all of them together, in bytes.
const MIN_BLOCK: usize = 256 << 10;
const MAX_BLOCK: usize = 16 << 20;
const MAX_POOL: usize = 32 << 20;

#[derive(Default)]
pub struct BlockPool {
    /// Of texts of one byte per character, and of buffers.
    narrow: Vec<Vec<u8>>,
    wide: Vec<Vec<u16>>,
    bytes: usize,
    /// A block was taken since the last call of [`expire`].
    used: bool,
    /// [`expire`] will be called.
    expires: bool,
}

static POOL: Mutex<BlockPool> =
    Mutex::new(BlockPool { narrow: Vec::new(), wide: Vec::new(), bytes: 0, used: false, expires: false });

/// A code unit of texts, or a byte.
pub trait Unit: Sized {
    fn blocks(pool: &mut BlockPool) -> &mut Vec<Vec<Self>>;
}

impl Unit for u8 {
    fn blocks(pool: &mut BlockPool) -> &mut Vec<Vec<Self>> {
        &mut pool.narrow
    }
}

impl Unit for u16 {
    fn blocks(pool: &mut BlockPool) -> &mut Vec<Vec<Self>> {
        &mut pool.wide
    }
}

impl BlockPool {
    fn take<T: Unit>(&mut self, count: usize) -> Option<Vec<T>> {
        let fits = |block: &Vec<T>| (count..=count + count / 4).contains(&block.capacity());
        let blocks = T::blocks(self);
        let place = blocks.iter().rposition(fits)?;
        let block = blocks.swap_remove(place);
        self.bytes -= block.capacity() * size_of::<T>();
        self.used = true;
        Some(block)
    }

    /// Returns the block if it is not kept.
    fn keep<T: Unit>(&mut self, mut block: Vec<T>) -> Option<Vec<T>> {
        let bytes = block.capacity() * size_of::<T>();
        if (MIN_BLOCK..=MAX_BLOCK).contains(&bytes) && self.bytes + bytes <= MAX_POOL {
            block.clear();
            self.bytes += bytes;
            T::blocks(self).push(block);
            return None;
        }
        Some(block)
    }
}

/// An empty vector with room for `count` units, if one is kept.
pub fn take<T: Unit>(count: usize) -> Option<Vec<T>> {
    if count * size_of::<T>() < MIN_BLOCK { None } else { lock(&POOL).take(count) }
}

/// Keeps the memory of `block`, or frees it. True if the caller must see to it that [`expire`] is called after a while.
pub fn keep<T: Unit>(block: Vec<T>) -> bool {
    if block.capacity() * size_of::<T>() < MIN_BLOCK {
        return false;
    }
    let mut pool = lock(&POOL);
    let unkept = pool.keep(block);
    let must_expire = pool.bytes > 0 && !std::mem::replace(&mut pool.expires, true);
    // Without the lock: the system takes a while to free a large block.
    drop(pool);
    drop(unkept);
    must_expire
}

/// Frees what is kept, unless some of it was used since the last call. True if this must be called again.
pub fn expire() -> bool {
    let mut pool = lock(&POOL);
    if std::mem::take(&mut pool.used) {
        return true;
    }
    let unused = std::mem::take(&mut *pool);
    // Without the lock.
    drop(pool);
    drop(unused);
    false
}

#[cfg(test)]
mod tests {
    use super::{BlockPool, MAX_BLOCK, MAX_POOL, MIN_BLOCK};

    #[test]
    fn takes_blocks_that_fit() {
        let mut pool = BlockPool::default();
        pool.keep(vec![1_u8; MIN_BLOCK]);
        assert!(pool.take::<u16>(MIN_BLOCK / 2).is_none());
        assert!(pool.take::<u8>(MIN_BLOCK + 1).is_none());
        assert!(pool.take::<u8>(MIN_BLOCK / 2).is_none());
        let block = pool.take::<u8>(MIN_BLOCK - 1).unwrap_or_default();
        assert_eq!((block.len(), block.capacity(), pool.bytes), (0, MIN_BLOCK, 0));
        assert!(pool.take::<u8>(MIN_BLOCK).is_none());
    }

    #[test]
    fn keeps_a_limited_amount() {
        let mut pool = BlockPool::default();
        pool.keep(Vec::<u8>::with_capacity(MIN_BLOCK - 1));
        pool.keep(Vec::<u16>::with_capacity(MAX_BLOCK / 2 + 1));
        assert_eq!(pool.bytes, 0);
        for _ in 0..8 {
            pool.keep(Vec::<u16>::with_capacity(MAX_BLOCK / 2));
        }
        assert_eq!((pool.bytes, pool.wide.len()), (MAX_POOL, MAX_POOL / MAX_BLOCK));
    }
}
