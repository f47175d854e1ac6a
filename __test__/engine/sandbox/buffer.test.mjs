// Node's `Buffer` among the choices of `web`.

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { AgentSandbox, createSandbox, Isolate, PluginSandbox, SubprocessSandbox } from '../../../index.mjs';
import { root } from '../../harness.mjs';

const plain = (value) => JSON.parse(JSON.stringify(value));

test('the sources are those of the packages', () => {
  const sums = readFileSync(join(root, 'vendor/buffer/SHA256SUMS'), 'utf8').trim().split('\n').map((line) => line.split(/\s+/));
  for (const [sum, file] of sums) assert.equal(createHash('sha256').update(readFileSync(join(root, 'vendor/buffer', file))).digest('hex'), sum, file);
});

test('common uses have the results of Node', async () => {
  const code = `(() => {
    const b = Buffer.from('h\\u00e9llo \\u20ac \\u{1f600}');
    const n = Buffer.alloc(32);
    n.writeUInt8(200, 0); n.writeInt16LE(-2, 1); n.writeUInt32BE(4_000_000_000, 3); n.writeDoubleLE(1.5, 8); n.writeFloatBE(-0.25, 16); n.writeBigInt64LE(-5n, 20);
    const refused = [() => Buffer.from('x').readUInt32LE(0), () => Buffer.alloc(-1), () => Buffer.from(5), () => Buffer.from('x').toString('nope')];
    return [
      ['utf8', 'hex', 'base64', 'latin1', 'ascii', 'utf16le'].map((encoding) => b.toString(encoding)),
      ['68656c6c6f', 'zz'].map((text) => Buffer.from(text, 'hex').toString()),
      Buffer.from('aGVsbG8', 'base64').toString(), Buffer.from('a-_b', 'base64').toString('hex'), Buffer.byteLength(b.toString()), Buffer.byteLength('aGVsbG8=', 'base64'),
      Buffer.concat([Buffer.from('a'), Buffer.from([98, 99]), new Uint8Array([100])]).toString(), Buffer.concat([Buffer.from('abc'), Buffer.from('def')], 4).toString(),
      b.slice(1, 3).toString('hex'), b.subarray(-4).toString(), Buffer.isBuffer(b.subarray(1)), Buffer.isBuffer(new Uint8Array(1)), b instanceof Uint8Array,
      n.readUInt8(0), n.readInt16LE(1), n.readUInt32BE(3), n.readDoubleLE(8), n.readFloatBE(16), String(n.readBigInt64LE(20)),
      Buffer.compare(Buffer.from('a'), Buffer.from('b')), Buffer.from('abc').equals(Buffer.from('abc')), b.indexOf('llo'), b.includes('zz'), Buffer.from('abcabc').lastIndexOf('b'),
      Buffer.alloc(5, 'ab').toString(), Buffer.from('abc').fill('x').toString(), Buffer.from([1, 2, 3, 4]).swap16().toString('hex'), b.toJSON().data.length, JSON.stringify(Buffer.from('a')),
      Buffer.from(new Uint16Array([1, 258]).buffer).toString('hex'), Buffer.from(Buffer.from('ab')).write('c', 1), Buffer.isEncoding('HEX'), Buffer.isEncoding('x'),
      [...Buffer.from('ab').entries()], Buffer.from('\\ud800').toString('hex'), Buffer.from('ff', 'latin1').toString('ucs2').length,
      refused.map((call) => { try { call(); return 'none'; } catch (error) { return error.name; } }),
    ];
  })()`;
  const { result, error } = await createSandbox({}, { web: ['Buffer'] }).execute(code);
  assert.equal(error, undefined);
  assert.deepEqual(plain(result), plain(runInNewContext(code, { Buffer, Uint8Array, Uint16Array })));
});

test('a guest has it only if its host names it, in each kind of sandbox', async () => {
  const short = 'typeof Buffer';
  for (const [web, expected] of [[['Buffer'], 'function'], [['Buffer', 'URL'], 'function'], [true, 'undefined'], [['URL'], 'undefined'], [undefined, 'undefined']]) {
    assert.equal((await createSandbox({}, { web }).execute(short)).result, expected);
    assert.equal((await new AgentSandbox({ web }).execute(`return ${short}`)).result, expected);
    const isolate = new Isolate();
    assert.equal((await isolate.createContext({ web })).evalSync(short), expected);
    isolate.dispose();
  }
  const plugins = new PluginSandbox(undefined, { web: ['Buffer'] });
  const plugin = await plugins.createIsolate({ id: 'p' });
  assert.equal(await plugins.executeInSandbox(plugin, "Buffer.from('a').toString('hex')", {}), '61');
  plugins.disposeAll();
  if (process.platform === 'linux') {
    const sandbox = new SubprocessSandbox({ web: ['Buffer'] });
    assert.equal((await sandbox.execute("return Buffer.from('a').toString('hex')")).result, '61');
    await sandbox.close();
  }
});

test('with a snapshot that uses it later, and one that has changed built-ins', async () => {
  const snapshot = Isolate.createSnapshot([{ code: 'globalThis.hex = (text) => Buffer.from(text).toString("hex");' }]);
  assert.equal((await createSandbox({}, { web: ['Buffer'], snapshot }).execute('hex("a")')).result, '61');
  const hostile = Isolate.createSnapshot([{ code: 'Object.defineProperty = () => { throw new Error("mine"); };' }]);
  const { result, failure } = await createSandbox({}, { web: ['Buffer'], snapshot: hostile }).execute('1');
  assert.ok(result === 1 || failure.message === 'mine');
});

test('its memory counts, and it crosses as bytes', async () => {
  const sandbox = createSandbox({}, { web: ['Buffer'], memoryLimit: 16 });
  const { failure } = await sandbox.execute('const all = []; for (;;) all.push(Buffer.alloc(1 << 20));');
  assert.ok(['ERR_ISOLATE_MEMORY', undefined].includes(failure.code) && /memory|allocation/i.test(failure.message), failure.message);
  const { result } = await new AgentSandbox({ web: ['Buffer'] }).execute('return Buffer.from("abc")');
  assert.ok(result instanceof Uint8Array);
  assert.deepEqual([...result], [97, 98, 99]);
});
