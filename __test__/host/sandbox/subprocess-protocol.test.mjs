// A child that an attacker controls: programs instead of the executable that speak the protocol, and send more than it allows.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detailsOf, TERMINATED, call, childrenOf, end, executeBy, fakeLauncher, frame, hostWith, log, noTools, ready, residentBytes, text, tool, until, value } from '../../sandbox/subprocess-helper.mjs';

const options = { skip: process.platform === 'win32' && 'there are no such processes' };

/** Sends the bytes, and stays. */
const SAY = 'cat bytes >&0; exec sleep 60';
const bytes = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const u32 = (number) => { const found = Buffer.alloc(4); found.writeUInt32LE(number >>> 0); return found; };
const f64 = (number) => { const found = Buffer.alloc(8); found.writeDoubleLE(number); return found; };
const utf16 = (string) => bytes([2], u32(string.length), Buffer.from(string, 'utf16le'));
/** The beginning of a frame with any length. */
const header = (length, kind) => bytes(u32(length), [kind]);
const KIND = { ready: 16, log: 17, call: 18, end: 19, moved: 20, begun: 21 };
const failed = (parts) => end(false, value.string('x'), parts);
/** A cause that is no error, and one that is. */
const thrown = (found) => bytes([16], found);
const errorOf = ({ kind = 'Error', name = 'n', message = 'm', stack = '' }) => bytes([17], text(kind), text(name), text(message), text(stack), [0, 0]);
const caused = (cause) => failed({ details: bytes([1], u32(0), [1], cause) });
/** A payload whose table has `count` empty rows. */
const rows = (count) => bytes([7], u32(4), [255, 15, 95, 48], u32(count), Buffer.alloc(count * 4));

/** The frames, their outcome, how long the event loop was blocked, and how much memory that took. */
async function receive(frames, more = {}) {
  let [last, longest] = [performance.now(), 0];
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(look, 1);
  const before = residentBytes();
  const outcome = await executeBy(SAY, { bytes: frames, tools: [tool('t:f')], executor: () => new Promise(() => {}), ...more });
  look();
  clearInterval(timer);
  return { ...outcome, longest, grown: residentBytes() - before };
}

async function assertRefused(frames, more) {
  const outcome = await receive(frames, more);
  assert.equal(outcome.result, null);
  assert.equal(outcome.failure.code, 'ERR_ISOLATE_PROTOCOL', outcome.error);
  assert.match(outcome.error, /^Execution terminated \(protocol violation: /);
  assert.ok(outcome.longest < 2_000, `the event loop stood still for ${outcome.longest} ms`);
  assert.ok(outcome.grown < 150e6, `${outcome.grown} bytes`);
  return outcome;
}

const MANY = 1_100_000;
const MAX_TEXT = 2 ** 20 + 4096;

describe('a field beyond its maximum', options, () => {
  const fields = {
    'a stack of 256 MB and more': bytes(ready(), header(300_000_000, KIND.end), [0, 6], text('x'), [0, 0, 1], u32(256e6)),
    'a stack of 20 MB of line breaks': bytes(ready(), failed({ stack: text('\n'.repeat(20e6)) })),
    'a stack': bytes(ready(), failed({ stack: text('x'.repeat(MANY)) })),
    'a stack of UTF-16': bytes(ready(), failed({ stack: utf16('\u4e00'.repeat(MANY)) })),
    'a name': bytes(ready(), failed({ name: text('x'.repeat(MANY)) })),
    'a message': bytes(ready(), end(false, value.string('x'.repeat(MANY)))),
    'one character more than a stack may have': bytes(ready(), failed({ stack: text('x'.repeat(MAX_TEXT + 1)) })),
    'a code': bytes(ready(), failed({ code: text('E'.repeat(1e6)) })),
    'a log line': bytes(ready(), log(0, 'x'.repeat(10_004))),
    'a log line of UTF-16': bytes(ready(), frame(KIND.log, [0], utf16('\u4e00'.repeat(10_004)))),
    'params': bytes(ready(), call(1, 0, 'x'.repeat(8 * 2 ** 20 + 1))),
    'a tool': bytes(ready(), call(1, 1)),
    'the number of a tool': bytes(ready(), frame(KIND.call, u32(1), u32(0xffffffff), text('{}'))),
    'a log level': bytes(ready(), log(5, 'x')),
    'a report': bytes(header(65 * 1024, KIND.ready)),
    'layers of a report': ready('a\ton\tb\n'.repeat(65)),
    'the name of a layer': ready(`${'a'.repeat(600)}\ton\tb\n`),
    'the number of properties': bytes(ready(), failed({ details: detailsOf(Array.from({ length: 33 }, () => ['a', value.undefined])) })),
    'a property': bytes(ready(), failed({ details: detailsOf([['a', value.string('x'.repeat(8_193))]]) })),
    'the name of a property': bytes(ready(), failed({ details: detailsOf([['x'.repeat(8_193), value.undefined]]) })),
    'all properties': bytes(ready(), failed({ details: detailsOf(Array.from({ length: 17 }, () => ['a', value.string('x'.repeat(8_192))])) })),
    'the name `__proto__`': bytes(ready(), failed({ details: detailsOf([['__proto__', value.undefined]]) })),
    'a code of the library as a property': bytes(ready(), failed({ details: detailsOf([['code', value.string('ERR_ISOLATE_TIMEOUT')]]) })),
    'a property that is no primitive': bytes(ready(), failed({ details: detailsOf([['a', value.payload([255, 16, 111])]]) })),
    'a missing property': bytes(ready(), failed({ details: bytes([1], u32(0xffffffff)) })),
    'a cause that is an object': bytes(ready(), caused(thrown(value.payload([255, 15, 111, 123, 0])))),
    'a cause that is an array, like those of errors': bytes(ready(), caused(thrown(value.payload([255, 15, 65, 1, 111, 123, 0, 36, 0, 1])))),
    'a cause that is a text': bytes(ready(), caused(thrown(value.string('x'.repeat(8_193))))),
    'a cause that is a BigInt': bytes(ready(), caused(thrown(bytes([5, 0], u32(1_025), Buffer.alloc(8 * 1_025, 1))))),
    'a cause that is nothing': bytes(ready(), caused([18])),
    'the class of a cause': bytes(ready(), caused(errorOf({ kind: 'x'.repeat(65) }))),
    'the name of a cause': bytes(ready(), caused(errorOf({ name: 'x'.repeat(8_193) }))),
    'the message of a cause': bytes(ready(), caused(errorOf({ message: 'x'.repeat(8_193) }))),
    'the stack of a cause': bytes(ready(), caused(errorOf({ stack: '\n'.repeat(20e6) }))),
    'the stack of the cause of a cause': bytes(ready(), caused(bytes(errorOf({}).subarray(0, -1), detailsOf([], bytes([1], errorOf({ stack: 'x'.repeat(8_193) })))))),
    'details of a result': bytes(ready(), end(true, value.undefined, { details: detailsOf([]) })),
    'the heap': bytes(ready(), end(true, value.undefined, { figures: [1e302, 0] })),
    'the heap, a little': bytes(ready(), end(true, value.undefined, { figures: [257 * 2 ** 20, 0] })),
    'a heap of half a byte': bytes(ready(), end(true, value.undefined, { figures: [0.5, 0] })),
    'an infinite heap': bytes(ready(), end(true, value.undefined, { figures: [Infinity, 0] })),
    'dropped lines': bytes(ready(), end(true, value.undefined, { figures: [0, 2 ** 32] })),
    'a negative number of lines': bytes(ready(), end(true, value.undefined, { figures: [0, -1] })),
    'a number of lines that is not a number': bytes(ready(), end(true, value.undefined, { figures: [0, NaN] })),
    'a figure too many': bytes(ready(), frame(KIND.end, [1], value.undefined, [0, 0, 0, 0], f64(0), f64(0), f64(0))),
    'a boolean': bytes(ready(), frame(KIND.end, [2], value.undefined, [0, 0, 0, 0], f64(0), f64(0))),
    'the kind of a text': bytes(ready(), failed({ stack: bytes([3], u32(0)) })),
  };
  for (const [what, frames] of Object.entries(fields)) test(what, () => assertRefused(frames));

  for (const [kind, number] of Object.entries(KIND)) {
    test(`a frame of 4 GB: ${kind}`, () => assertRefused(bytes(...(kind === 'ready' || kind === 'moved' ? [] : [ready()]), header(0xffffffff, number))));
  }

  test('a field of the maximum size arrives', async () => {
    const stack = `\n    at ${'x'.repeat(2 ** 20 - 8)}`;
    const { failure } = await receive(bytes(ready(), failed({ stack: text(stack), name: text('n'.repeat(1_000)) })));
    assert.deepEqual([failure.name.length, failure.message, failure.code], [1_000, 'x', undefined]);
    const { properties, cause } = (await receive(bytes(ready(), failed({ details: detailsOf([['a', value.string('x'.repeat(8_192))]], bytes([1, 16], value.number(5))) })))).failure;
    assert.deepEqual([properties.a.length, cause], [8_192, 5]);
    const longest = 'x'.repeat(8_192);
    const of = (await receive(bytes(ready(), caused(errorOf({ name: longest, message: longest, stack: longest }))))).failure.cause;
    assert.deepEqual([of.name.length, of.message.length, of.stack.length], [8_192, 8_192, 3 * 8_192 + 2]);
    const { logs } = await receive(bytes(ready(), log(0, 'x'.repeat(10_003)), end(true, value.number(1))));
    assert.equal(logs[0].length, '[log] '.length + 10_003);
  });
});

test('the library itself keeps to the maximum of causes', options, async () => {
  const { SubprocessSandbox } = hostWith();
  const sandbox = new SubprocessSandbox({ poolSize: 0, memoryLimit: 8, maxOutputSize: 100 });
  const { failure } = await sandbox.execute(`
    const name = '\u4e00'.repeat(1 << 20);
    let error = Object.assign(new Error('x'), { cause: '\u4e00'.repeat(8_192) });
    for (let count = 0; count < 9; count += 1) error = Object.assign(new Error('x', { cause: error }), { name });
    throw error;`, [], noTools);
  assert.deepEqual([failure.code, failure.name.length, failure.cause.name.length], [undefined, 2 ** 20, 8_192]);
  const { failure: other } = await sandbox.execute('throw new Error("m", { cause: 2n ** 70_000n })', [], noTools);
  assert.deepEqual([other.code, other.message, other.cause], [undefined, 'm', undefined]);
});

describe('a count that is cheap on the wire', options, () => {
  for (const count of [2, 100_000, 5_000_000]) test(`${count} empty rows of a table`, () => assertRefused(bytes(ready(), end(true, rows(count)))));

  test('missing rows', () => assertRefused(bytes(ready(), end(true, bytes([7], u32(0), u32(0xffffffff))))));

  test('a BigInt with missing words', () => assertRefused(bytes(ready(), end(true, bytes([5, 0], u32(0xffffffff))))));

  test('empty lines', async () => {
    const { logs, lostLogs, grown, failure } = await receive(bytes(ready(), Buffer.concat(Array(400_000).fill(log(0, ''))), end(true, value.undefined)), { config: { maxLogEntries: 1e9 } });
    assert.equal(failure, undefined);
    assert.ok(logs.length < 150_000 && lostLogs > 200_000, `${logs.length}, ${lostLogs}`);
    assert.ok(grown < 150e6, `${grown}`);
  });

  test('calls with large params whose tool does not answer', async () => {
    const params = JSON.stringify('x'.repeat(4e6));
    const frames = bytes(ready(), ...Array.from({ length: 20 }, (_, index) => call(index + 1, 0, params)));
    const { failure, grown } = await receive(frames, { config: { timeout: 2_000 } });
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    assert.ok(grown < 200e6, `${grown} bytes`);
  });
});

describe('codes', options, () => {
  const OF_HOST = ['TIMEOUT', 'DISPOSED', 'UNRESPONSIVE', 'RELEASED', 'ENVIRONMENT', 'ABORTED', 'CRASH', 'SYSTEM_CALL', 'PROTOCOL', 'NONE'];
  for (const code of OF_HOST) test(`the child cannot claim ERR_ISOLATE_${code}`, () => assertRefused(bytes(ready(), failed({ code: text(`ERR_ISOLATE_${code}`) }))));

  test('the child cannot claim a deadline before one is set', () => assertRefused(bytes(ready(), failed({ code: text('ERR_ISOLATE_DEADLINE') }))));

  for (const code of ['ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_LIMIT', 'ERR_ISOLATE_TRANSFER', 'ERR_ISOLATE_UNSUPPORTED', 'ERR_INVALID_ARG']) {
    test(`the child can claim ${code}`, async () => {
      const { failure } = await receive(bytes(ready(), failed({ code: text(code) })));
      assert.equal(failure.code, code);
    });
  }

  test('of results are refused', () => assertRefused(bytes(ready(), end(true, value.undefined, { code: text('ERR_ISOLATE_LIMIT') }))));
});

describe('figures', options, () => {
  test('processor time is measured by the host, not reported by the child', async () => {
    const busy = await executeBy('cat bytes >&0; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; cat last >&0; exec sleep 60', { bytes: ready(), files: { last: end(true, value.undefined) } });
    const idle = await executeBy('cat bytes >&0; sleep 0.5; cat last >&0; exec sleep 60', { bytes: ready(), files: { last: end(true, value.undefined) } });
    assert.ok(busy.usage.cpuMs > 50, `${busy.usage.cpuMs}`);
    assert.ok(idle.usage.cpuMs < busy.usage.cpuMs / 2 && idle.usage.wallMs >= 400, JSON.stringify(idle.usage));
  });

  test('calls are counted by the host', async () => {
    const { usage } = await receive(bytes(ready(), call(1, 0), call(2, 0), end(true, value.undefined)));
    assert.equal(usage.hostCalls, 2);
  });
});

describe('the order of frames', options, () => {
  test('frames after the end are ignored', async () => {
    for (const more of [end(true, value.number(2)), failed({}), log(0, 'x'), call(1, 0), ready(), Buffer.alloc(100, 255)]) {
      const { result, logs, usage } = await receive(bytes(ready(), end(true, value.number(1)), more));
      assert.deepEqual([result, logs, usage.hostCalls], [1, [], 0]);
    }
  });

  const wrong = {
    'a line before its report': log(0, 'x'),
    'an end before its report': end(true, value.undefined),
    'a call before its report': call(1, 0),
    'a second report': bytes(ready(), ready()),
    'a second beginning': bytes(ready(), frame(KIND.begun), frame(KIND.begun)),
    'a call with the number of another': bytes(ready(), call(1, 0), call(1, 0)),
    'a call out of order': bytes(ready(), call(3, 0)),
    'an answer': bytes(ready(), frame(2, u32(1), [0])),
    'a snapshot': bytes(ready(), frame(3, u32(0))),
    'a message that only a parent sends': bytes(ready(), frame(4)),
    'another process after its report': bytes(ready(), frame(KIND.moved, u32(process.pid))),
    'the process of its host': frame(KIND.moved, u32(process.pid)),
    'the first process': frame(KIND.moved, u32(1)),
    'a process with a negative id': frame(KIND.moved, u32(-5)),
  };
  for (const [what, frames] of Object.entries(wrong)) test(what, () => assertRefused(frames));

  test('half a frame of each kind, and silence', async () => {
    const whole = [log(0, 'xx'), call(1, 0), frame(KIND.begun), end(true, value.number(1))];
    const all = await Promise.all(whole.map((last) => receive(bytes(ready(), last.subarray(0, last.length - 1)), { config: { timeout: 700 } })));
    for (const { failure } of all) assert.deepEqual([failure.code, failure.message], ['ERR_ISOLATE_DEADLINE', TERMINATED]);
  });

  test('a child that violates it is ended', async () => {
    await assertRefused(bytes(ready(), log(9, 'x')));
    await until('no child is left', () => childrenOf().length === 0);
  });
});

describe('randomly changed frames', options, () => {
  const KNOWN = new Set([undefined, ...['PROTOCOL', 'DEADLINE', 'MEMORY', 'LIMIT', 'TRANSFER', 'UNSUPPORTED'].map((code) => `ERR_ISOLATE_${code}`), 'ERR_INVALID_ARG']);
  const session = bytes(ready('seccomp\ton\tx\n'), frame(KIND.begun), log(1, 'line'), call(1, 0, '{"a":[1]}'), frame(KIND.log, [2], utf16('\ud800\u4e00')),
    end(true, value.payload([255, 15, 111, 34, 1, 97, 73, 2, 123, 1], [1, 2, 3])));
  const random = (seed) => () => { seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31; return seed / 2 ** 31; };

  test('result in a value or in one of the known codes', { timeout: 120_000 }, async () => {
    const rounds = Array.from({ length: 48 }, (_, seed) => async () => {
      const next = random(seed * 7_919 + 1);
      const changed = Buffer.from(session);
      for (let count = 1 + Math.floor(next() * 4); count > 0; count -= 1) changed[Math.floor(next() * changed.length)] = next() < 0.3 ? 255 : Math.floor(next() * 256);
      const cut = next() < 0.2 ? changed.subarray(0, Math.floor(next() * changed.length)) : changed;
      const { failure, logs } = await executeBy(SAY, { bytes: cut, tools: [tool('t:f')], executor: async () => {}, config: { timeout: 1_000 } });
      assert.ok(KNOWN.has(failure?.code), `seed ${seed}: ${JSON.stringify(failure)}`);
      assert.ok(logs.length <= 2);
    });
    for (let at = 0; at < rounds.length; at += 8) await Promise.all(rounds.slice(at, at + 8).map((round) => round()));
    assert.equal({}.a, undefined);
  });
});

describe('claimed layers that do not apply', { skip: process.platform !== 'linux' && 'only there the host can look' }, () => {
  const claimed = ['userNamespace', 'networkNamespace', 'mountNamespace', 'pidNamespace', 'rlimits', 'descriptors', 'noNewPrivileges', 'seccomp'];
  const report = ready(claimed.map((name) => `${name}\ton\tbelieve me\n`).join(''));

  test('are reported as not applied', async () => {
    const { file, folder } = fakeLauncher(SAY);
    writeFileSync(join(folder, 'bytes'), report);
    const { SubprocessSandbox } = hostWith(file);
    const layers = await new SubprocessSandbox({ poolSize: 0 }).confinement();
    const inherited = readFileSync('/proc/self/status', 'utf8');
    for (const { name, active, detail } of layers) {
      // The host's own layer.
      if (name === 'footprint') continue;
      // This process may have been started with those.
      if (name === 'noNewPrivileges' && inherited.includes('NoNewPrivs:\t1')) continue;
      if (name === 'seccomp' && inherited.includes('Seccomp:\t2')) continue;
      assert.deepEqual([name, active], [name, false]);
      assert.match(detail, /^the process says that it holds, but its host sees that it does not: ./);
    }
    rmSync(folder, { recursive: true });
  });

  for (const required of [['namespaces'], ['networkNamespace'], ['descriptors', 'rlimits'], ['landlock']]) {
    test(`keep an execution from being sent its code: ${required}`, async () => {
      const { file, folder } = fakeLauncher(': >received; cat bytes >&0; exec cat <&0 >received');
      writeFileSync(join(folder, 'bytes'), bytes(report, end(true, value.number(1))));
      const { SubprocessSandbox } = hostWith(file);
      const { result, failure, confinement } = await new SubprocessSandbox({ poolSize: 0, confinement: { require: required } }).execute('return "SECRET"', [], noTools);
      assert.equal(result, null);
      assert.equal(failure.code, 'ERR_ISOLATE_UNSUPPORTED');
      assert.match(failure.message, /^The process is not confined as required: \w+ does not hold \(/);
      assert.ok(!confinement.includes('networkNamespace'), `${confinement}`);
      assert.ok(!readFileSync(join(folder, 'received'), 'latin1').includes('SECRET'));
      await until('it is gone', () => childrenOf().length === 0);
      rmSync(folder, { recursive: true });
    });
  }

  test('no child receives code before its first message', async () => {
    const { file, folder } = fakeLauncher(': >received; exec cat <&0 >received');
    const { SubprocessSandbox } = hostWith(file);
    const { failure } = await new SubprocessSandbox({ poolSize: 0, timeout: 700 }).execute('return "SECRET"', [], noTools);
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    const received = readFileSync(join(folder, 'received'));
    assert.ok(received.length > 0 && !received.includes('SECRET'), `${received.length} bytes`);
    rmSync(folder, { recursive: true });
  });
});
