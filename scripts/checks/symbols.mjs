// Checks what the built addon exposes to the dynamic linker: only its entry points, no text relocation, no executable stack. Checks also that
// every C++ function that it calls is in it: a function of V8 that build.rs redirects may have another name in the next version.
// `--write` adds leaked symbols to vendor/v8/symbols.txt, from which build.rs hides them.

import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { addonFile } from '../setup.mjs';

// The functions that hosts call, and the one that the launcher of child processes calls.
const ENTRY_POINTS = new Set(['napi_register_module_v1', 'node_api_module_get_api_version_v1', 'isolated_v8_child']);
const LIST = 'vendor/v8/symbols.txt';

// The names of elf.h.
const SHT_DYNAMIC = 6;
const SHT_DYNSYM = 11;
const PT_GNU_STACK = 0x6474e551;
const PF_X = 1;
const DT_TEXTREL = 22;
const DT_FLAGS_1 = 0x6ffffffb;
const DF_1_NODELETE = 8;
const STB_LOCAL = 0;
const STB_WEAK = 2;

/** A 64-bit little-endian ELF file. */
class Elf {
  constructor(path) {
    this.bytes = readFileSync(path);
    if (this.bytes.readUInt32BE(0) !== 0x7f454c46 || this.bytes[4] !== 2) throw new Error(`not a 64-bit ELF file: ${path}`);
  }

  word(offset) {
    return Number(this.bytes.readBigUInt64LE(offset));
  }

  *sections() {
    const [start, size, count] = [this.word(40), this.bytes.readUInt16LE(58), this.bytes.readUInt16LE(60)];
    for (let at = start; at < start + size * count; at += size) {
      const [type, link] = [this.bytes.readUInt32LE(at + 4), this.bytes.readUInt32LE(at + 40)];
      yield { type, link, offset: this.word(at + 24), size: this.word(at + 32) };
    }
  }

  *segments() {
    const [start, size, count] = [this.word(32), this.bytes.readUInt16LE(54), this.bytes.readUInt16LE(56)];
    for (let at = start; at < start + size * count; at += size) {
      yield { type: this.bytes.readUInt32LE(at), flags: this.bytes.readUInt32LE(at + 4) };
    }
  }

  *dynamicSymbols() {
    const sections = [...this.sections()];
    const table = sections.find(({ type }) => type === SHT_DYNSYM);
    const names = sections[table.link];
    for (let at = table.offset; at < table.offset + table.size; at += 24) {
      const binding = this.bytes[at + 4] >> 4;
      if (binding === STB_LOCAL) continue;
      const start = names.offset + this.bytes.readUInt32LE(at);
      const name = this.bytes.toString('latin1', start, this.bytes.indexOf(0, start));
      yield { name, defined: this.bytes.readUInt16LE(at + 6) !== 0, weak: binding === STB_WEAK };
    }
  }

  dynamicTags() {
    const table = [...this.sections()].find(({ type }) => type === SHT_DYNAMIC);
    const tags = new Map();
    for (let at = table.offset; at < table.offset + table.size; at += 16) tags.set(this.word(at), this.word(at + 8));
    return tags;
  }
}

function problems(elf) {
  const found = [];
  const all = [...elf.dynamicSymbols()];
  const symbols = all.filter(({ defined }) => defined).map(({ name }) => name);
  const leaks = symbols.filter((name) => !ENTRY_POINTS.has(name));
  const missing = all.filter(({ name, defined, weak }) => !defined && !weak && name.startsWith('_Z')).map(({ name }) => name);
  if (!symbols.includes('napi_register_module_v1')) found.push('napi_register_module_v1 is not exported');
  if (leaks.length > 0) found.push(`exported, and not an entry point:\n  ${leaks.join('\n  ')}`);
  if (missing.length > 0) found.push(`called, and not in the library:\n  ${missing.join('\n  ')}`);
  const tags = elf.dynamicTags();
  if (tags.has(DT_TEXTREL)) found.push('it has text relocations');
  if (!(tags.get(DT_FLAGS_1) & DF_1_NODELETE)) found.push('it can be unloaded (-z nodelete is missing)');
  const stack = [...elf.segments()].find(({ type }) => type === PT_GNU_STACK);
  if (!stack || stack.flags & PF_X) found.push('it asks for an executable stack');
  return { found, leaks };
}

if (process.platform === 'linux') {
  const { found, leaks } = problems(new Elf(join(root, addonFile)));
  if (process.argv.includes('--write') && leaks.length > 0) {
    appendFileSync(join(root, LIST), leaks.map((name) => `${name}\n`).join(''));
    console.log(`added to ${LIST}: ${leaks.length}. Build again.`);
  } else if (found.length > 0) {
    console.log(`${addonFile}:\n${found.join('\n')}`);
    process.exitCode = 1;
  } else {
    console.log(`${addonFile}: Node-API entry points only`);
  }
}
