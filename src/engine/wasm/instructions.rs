//! Reads the instructions of WebAssembly functions, one by one.

use super::blocks::{Blocks, Kind};
use super::code::Parts;
use super::reader::Reader;

/// Skips an instruction. Returns its number of edges, and the number of values that it reads and produces if its code does not bound that
/// number.
pub fn instruction(reader: &mut Reader<'_>, parts: &Parts, blocks: &mut Blocks) -> Option<(usize, usize)> {
    let code = reader.byte()?;
    let mut values = 0;
    let edges = match code {
        // The edge after the end of a block. Loops also have an edge to their start, conditions one for the case that they do not hold.
        0x02 => {
            blocks.open(Kind::Plain, block_type(reader, parts)?)?;
            1
        }
        0x03 | 0x04 => {
            blocks.open(if code == 0x03 { Kind::Loop } else { Kind::If }, block_type(reader, parts)?)?;
            2
        }
        0x05 | 0x19 => {
            blocks.end_part();
            1
        }
        0x06 => {
            blocks.open(Kind::Try, block_type(reader, parts)?)?;
            2
        }
        0x07 => {
            reader.skip_number()?;
            blocks.end_part();
            1
        }
        0x0b => {
            blocks.close();
            0
        }
        // Branches.
        0x0c | 0x0d | 0xd5 | 0xd6 => {
            blocks.branch(reader.size()?);
            1
        }
        0x18 => {
            reader.skip_number()?;
            blocks.close();
            blocks.throw();
            1
        }
        0x0e => {
            blocks.list();
            let count = reader.size()?.checked_add(1)?;
            for _ in 0..count {
                blocks.branch(reader.size()?);
            }
            count
        }
        0x1f => {
            let block_values = block_type(reader, parts)?;
            let count = reader.size()?;
            for _ in 0..count {
                if reader.byte()? < 2 {
                    reader.skip_number()?;
                }
                blocks.branch(reader.size()?);
            }
            blocks.open(Kind::Try, block_values)?;
            count.saturating_add(2)
        }
        // Instructions that may throw have an edge to the handler. An inlined function returns to its call site.
        0x08 | 0x09 => {
            reader.skip_number()?;
            blocks.throw()
        }
        0x0a => blocks.throw(),
        0x0f => 1,
        0x10 | 0x12 => {
            values = parts.of_function(reader.size()?);
            blocks.throw()
        }
        0x14 | 0x15 => {
            values = parts.of_type(reader.size()?);
            blocks.throw()
        }
        0x11 | 0x13 => {
            values = parts.of_type(reader.size()?);
            reader.skip_number()?;
            blocks.throw()
        }
        0xfb => {
            values = reference(reader, parts, blocks)?;
            // Some of these are branches.
            1
        }
        _ => {
            operator(reader, code)?;
            blocks.sets += usize::from(matches!(code, 0x21 | 0x22));
            0
        }
    };
    // `unreachable`, throws, branches and returns.
    blocks.has_left = matches!(code, 0x00 | 0x08..=0x0a | 0x0c | 0x0e | 0x0f | 0x12 | 0x13 | 0x15);
    Some((edges, values))
}

/// Skips an expression without blocks, including its end.
pub fn skip_expression(reader: &mut Reader<'_>) -> Option<()> {
    const END: u8 = 0x0b;

    while reader.peek()? != END {
        instruction(reader, &Parts::default(), &mut Blocks::default())?;
    }
    reader.byte().map(drop)
}

/// Skips what follows the first byte of an instruction without edges.
fn operator(reader: &mut Reader<'_>, code: u8) -> Option<()> {
    match code {
        0x00 | 0x01 | 0x1a | 0x1b | 0x45..=0xc4 | 0xd1 | 0xd3 | 0xd4 => Some(()),
        0x1c => {
            let count = reader.number()?;
            (0..count).try_for_each(|_| skip_value_type(reader))
        }
        0x20..=0x26 | 0x3f | 0x40 | 0x41 | 0x42 | 0xd2 => reader.skip_number(),
        0x28..=0x3e => skip_memory(reader),
        0x43 => reader.take(4).map(drop),
        0x44 => reader.take(8).map(drop),
        0xd0 => skip_heap_type(reader),
        0xfc => {
            let numbers = match reader.number()? {
                0..=7 => 0,
                9 | 11 | 13 | 15..=17 => 1,
                8 | 10 | 12 | 14 => 2,
                _ => return None,
            };
            reader.skip_numbers(numbers)
        }
        0xfd => match reader.number()? {
            0..=11 => skip_memory(reader),
            12 | 13 => reader.take(16).map(drop),
            21..=34 => reader.take(1).map(drop),
            84..=91 => skip_memory(reader).and_then(|()| reader.take(1).map(drop)),
            92 | 93 => skip_memory(reader),
            _ => Some(()),
        },
        0xfe => match reader.number()? {
            3 => reader.take(1).map(drop),
            _ => skip_memory(reader),
        },
        _ => None,
    }
}

/// Skips what follows the first byte of an instruction about structures and arrays. Returns the number of values of the object that it
/// creates.
fn reference(reader: &mut Reader<'_>, parts: &Parts, blocks: &mut Blocks) -> Option<usize> {
    match reader.number()? {
        // Structures, and arrays with a given number of values.
        0 | 1 => return Some(parts.of_type(reader.size()?)),
        8 => {
            reader.skip_number()?;
            return reader.size();
        }
        6 | 7 | 11..=14 | 16 => reader.skip_number()?,
        2..=5 | 9 | 10 | 17..=19 => reader.skip_numbers(2)?,
        15 | 26..=30 => {}
        20..=23 => skip_heap_type(reader)?,
        24 | 25 => {
            reader.byte()?;
            blocks.branch(reader.size()?);
            skip_heap_type(reader)?;
            skip_heap_type(reader)?;
        }
        _ => return None,
    }
    Some(0)
}

fn skip_memory(reader: &mut Reader<'_>) -> Option<()> {
    // With bit 6 set, the memory's index follows.
    let flags = reader.number()?;
    reader.skip_numbers(if flags & 0x40 == 0 { 1 } else { 2 })
}

/// Skips the type of a block. Returns how many values it takes and results it has together.
fn block_type(reader: &mut Reader<'_>, parts: &Parts) -> Option<usize> {
    if matches!(reader.peek()?, 0x63 | 0x64) {
        return skip_value_type(reader).map(|()| 1);
    }
    // A type of one value is a negative number, and so is that of none.
    let index = reader.signed()?;
    Some(usize::try_from(index).map_or(1, |index| parts.of_type(index)))
}

/// Skips the type of a value.
pub fn skip_value_type(reader: &mut Reader<'_>) -> Option<()> {
    match reader.byte()? {
        0x63 | 0x64 => skip_heap_type(reader),
        _ => Some(()),
    }
}

fn skip_heap_type(reader: &mut Reader<'_>) -> Option<()> {
    while matches!(reader.peek()?, 0x65 | 0x62) {
        reader.byte();
    }
    reader.signed().map(drop)
}
