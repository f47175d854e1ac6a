//! The message by which a launcher tells its parent that it continues as another process. It is the first frame of the connection, in the
//! usual form (`src/child/frame.rs`).

/// The frame's kind.
pub const KIND: u8 = 20;

pub const LENGTH: usize = 9;

/// The whole frame. From now on, the child is the process with this id.
pub fn message(process: u32) -> [u8; LENGTH] {
    let [a, b, c, d] = process.to_le_bytes();
    [5, 0, 0, 0, KIND, a, b, c, d]
}

/// The id in such a frame.
pub fn process(frame: &[u8; LENGTH]) -> Option<u32> {
    let [5, 0, 0, 0, KIND, a, b, c, d] = *frame else { return None };
    Some(u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use super::{message, process};

    #[test]
    fn survives_a_round_trip() {
        assert_eq!(process(&message(0x1234_5678)), Some(0x1234_5678));
        assert_eq!(process(&[0; 9]), None);
    }
}
