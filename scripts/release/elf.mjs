// The C library symbols that a Linux binary needs, and whether it has symbols of its own that nothing needs.

import { readFileSync } from 'node:fs';

// From elf.h.
const SHT_SYMTAB = 2;
const SHT_GNU_VERNEED = 0x6ffffffe;
const NEED_BYTES = 16;

/** The sections of a 64-bit little-endian ELF file. */
function sectionsOf(bytes, path) {
  if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2) throw new Error(`not a 64-bit ELF file: ${path}`);
  const word = (at) => Number(bytes.readBigUInt64LE(at));
  const [start, size, count] = [word(40), bytes.readUInt16LE(58), bytes.readUInt16LE(60)];
  const section = (index) => {
    const at = start + size * index;
    return { type: bytes.readUInt32LE(at + 4), link: bytes.readUInt32LE(at + 40), offset: word(at + 24), info: bytes.readUInt32LE(at + 44) };
  };
  return Array.from({ length: count }, (_, index) => section(index));
}

/** The symbol versions that such a file needs from other files. */
function neededVersions(path) {
  const bytes = readFileSync(path);
  const sections = sectionsOf(bytes, path);
  const versions = [];
  for (const { offset, link, info } of sections.filter(({ type }) => type === SHT_GNU_VERNEED)) {
    const names = sections[link].offset;
    const name = (at) => bytes.toString('latin1', names + at, bytes.indexOf(0, names + at));
    for (let need = offset, left = info; left > 0; left -= 1) {
      let entry = need + bytes.readUInt32LE(need + 8);
      for (let more = bytes.readUInt16LE(need + 2); more > 0; more -= 1) {
        versions.push(name(bytes.readUInt32LE(entry + 8)));
        entry += bytes.readUInt32LE(entry + 12) || NEED_BYTES;
      }
      need += bytes.readUInt32LE(need + 12);
    }
  }
  return versions;
}

export const compareVersions = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** The oldest glibc that has everything that a file needs. */
export const floorOf = (path) => neededVersions(path).flatMap((version) => /^GLIBC_([\d.]+)$/.exec(version)?.[1] ?? []).toSorted(compareVersions).at(-1);

/** Whether a file has symbols for debuggers, which take a quarter of its size. */
export const hasSymbols = (path) => sectionsOf(readFileSync(path), path).some(({ type }) => type === SHT_SYMTAB);
