// Fake children: scripts instead of the executable, which send what no real child sends, or end as none should.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../../harness.mjs';
import { TERMINATED, call, childrenOf, end, executeBy, fakeLauncher, frame, hostWith, isAlive, log, noTools, openDescriptors, ready, residentBytes, text, tool, until, value } from '../../sandbox/subprocess-helper.mjs';

/** Sends the bytes, and stays. */
const SAY = 'cat bytes >&0; exec sleep 60';
const bytes = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const calls = (count) => Buffer.concat(Array.from({ length: count }, (_, i) => call(i + 1, 0)));
const failureBy = async (...args) => {
  const { result, error, failure } = await executeBy(...args);
  assert.equal(result, null);
  assert.equal(failure.message, error);
  return failure;
};

describe('children that follow the protocol', () => {
  test('a result', async () => {
    const { result, logs, lostLogs, usage } = await executeBy(SAY, { bytes: bytes(ready(), log(0, '"a"'), log(2, '2'), end(true, value.number(5), { figures: [20, 4] })) });
    assert.deepEqual([result, logs, lostLogs, usage.heapPeak, usage.hostCalls], [5, ['[log] "a"', '[warn] 2'], 4, 20, 0]);
  });
  test('a clone', async () => {
    const { result } = await executeBy(SAY, { bytes: bytes(ready(), end(true, value.payload([255, 15, 111, 34, 1, 97, 73, 2, 123, 1]))) });
    assert.deepEqual(result, { a: 1 });
  });
  test('a call', async () => {
    const seen = [];
    const executor = async (name, params) => { seen.push([name, params]); };
    // The answer is 4 bytes of length and 6 of contents.
    const script = 'cat bytes >&0; head -c 200 >/dev/null <&0; exec sleep 60';
    const config = { timeout: 1_000 };
    await executeBy(script, { bytes: bytes(ready(), call(1, 0, '{"x":1}')), tools: [tool('t:f')], executor, config });
    assert.deepEqual(seen, [['t:f', { x: 1 }]]);
  });
  test('a failure', async () => {
    const failure = await failureBy(SAY, { bytes: bytes(ready(), end(false, value.string('mine'), { name: text('TypeError'), stack: text('\n    at sandbox.js:1:1') })) });
    assert.deepEqual([failure.name, failure.message, failure.code], ['TypeError', 'mine', undefined]);
  });
});

describe('messages that violate the protocol', () => {
  const said = {
    'random bytes': Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7_919 + (i >> 3)) % 256)),
    'zeros': Buffer.alloc(64),
    'a frame of no length': bytes([0, 0, 0, 0]),
    'a frame of 4 GB': bytes([255, 255, 255, 255, 16]),
    'a frame of 1 GB': bytes(ready(), [0, 0, 0, 64, 19]),
    'an order': bytes(ready(), frame(1, [0])),
    'an unknown kind': bytes(ready(), frame(99, [1, 2, 3])),
    'that it continues as a foreign process': frame(20, [1, 0, 0, 0]),
    'that it continues as a missing process': frame(20, [255, 255, 255, 255]),
    'that it continues as another process after its report': bytes(ready(), frame(20, [1, 0, 0, 0])),
    'two reports': bytes(ready(), ready()),
    'a report of nonsense': ready('nonsense'),
    'a report of too many layers': ready('a\ton\tb\n'.repeat(100)),
    'a report that is not text': frame(16, [1, 0, 0, 0, 255]),
    'a log line before its report': log(0, 'x'),
    'a beginning before its report': frame(21),
    'two beginnings': bytes(ready(), frame(21), frame(21)),
    'a beginning after a line': bytes(ready(), log(0, 'x'), frame(21)),
    'a result before its report': end(true, value.number(1)),
    'an unknown level': bytes(ready(), log(9, 'x')),
    'a log line that is too long': bytes(ready(), log(0, 'x'.repeat(100_000))),
    'a call of an unknown tool': bytes(ready(), call(1, 1)),
    'a call that begins with number 2': bytes(ready(), call(2, 0)),
    'a call with a repeated number': bytes(ready(), call(1, 0), call(1, 0)),
    'a call with number 0': bytes(ready(), call(0, 0)),
    'a truncated result': bytes(ready(), frame(19, [1, 4, 0, 0])),
    'a result and more in its frame': bytes(ready(), frame(19, end(true, value.undefined).subarray(5), [0])),
    'a result with a code': bytes(ready(), end(true, value.number(1), { code: text('ERR_ISOLATE_MEMORY') })),
    'a failure without a message': bytes(ready(), end(false, value.number(1))),
    ...Object.fromEntries(['ABORTED', 'CRASH', 'PROTOCOL', 'SYSTEM_CALL'].map((code) => [
      `a failure with the code ${code}, which is not its own to tell`, bytes(ready(), end(false, value.string('x'), { code: text(`ERR_ISOLATE_${code}`) })),
    ])),
    'a failure with an invalid code': bytes(ready(), end(false, value.string('x'), { code: text('ERR_OTHER') })),
    'a result without a kind': bytes(ready(), end(true, Buffer.from([200]))),
    'a handle': bytes(ready(), end(true, Buffer.from([8, 0, 0]))),
    'a missing table': bytes(ready(), end(true, Buffer.from([7, 1, 0, 0, 0, 255, 255, 255, 255, 255]))),
    'a text of odd length': bytes(ready(), end(true, Buffer.from([6, 2, 3, 0, 0, 0, 1]))),
    'a BigInt of a gigabyte': bytes(ready(), end(true, Buffer.from([5, 0, 0, 0, 0, 8]))),
    'a figure that is not a number': bytes(ready(), end(true, value.undefined, { figures: [NaN, 0] })),
    'a negative figure': bytes(ready(), end(true, value.undefined, { figures: [0, -1] })),
  };
  for (const [what, sent] of Object.entries(said)) {
    test(what, async () => {
      const failure = await failureBy(SAY, { bytes: sent, tools: [tool('t:f')], executor: () => new Promise(() => {}) });
      assert.equal(failure.code, 'ERR_ISOLATE_PROTOCOL', failure.message);
      assert.match(failure.message, /^Execution terminated \(protocol violation: /);
    });
  }

  test('a result over the largest allowed size', async () => {
    // 40 MB of it, none of which needs to arrive.
    const sent = bytes(ready(), [0, 0, 128, 2, 19]);
    const { code } = await failureBy(SAY, { bytes: sent, config: { memoryLimit: 512, maxOutputSize: 1_000 } });
    assert.equal(code, 'ERR_ISOLATE_PROTOCOL');
    const unlimited = await failureBy(SAY, { bytes: sent, config: { memoryLimit: 512, timeout: 500 } });
    assert.equal(unlimited.code, 'ERR_ISOLATE_DEADLINE');
  });

  test('half of a message', async () => {
    const whole = bytes(ready(), end(true, value.string('x'.repeat(200_000))));
    for (const length of [3, 5, whole.length - 1]) {
      const { code, message } = await failureBy(SAY, { bytes: whole.subarray(0, length), config: { timeout: 500 } });
      assert.deepEqual([code, message], ['ERR_ISOLATE_DEADLINE', TERMINATED]);
    }
  });

  test('a message sent byte by byte is accepted', async () => {
    const { result } = await executeBy('i=0; while [ $i -lt 200 ]; do i=$((i+1)); dd if=bytes bs=1 count=1 skip=$((i-1)) 2>/dev/null >&0; done; exec sleep 60', { bytes: bytes(ready(), log(0, 'x'), end(true, value.string('in pieces'))) });
    assert.equal(result, 'in pieces');
  });

  const clones = { 'nonsense': [1, 2, 3], 'nothing': [], 'a version of its own': [255, 99, 48], 'a buffer that is not there': [255, 15, 116, 5], 'an endless array': [255, 15, 65, 255, 255, 255, 255, 15], 'a host object': [255, 15, 92, 0] };
  for (const [what, contents] of Object.entries(clones)) {
    test(`a clone of ${what}`, async () => {
      const failure = await failureBy(SAY, { bytes: bytes(ready(), end(true, value.payload(contents))) });
      assert.equal(failure.code, 'ERR_ISOLATE_PROTOCOL', failure.message);
    });
  }

  test('a clone that this host cannot read is reported as such', async () => {
    const failure = await failureBy(SAY, { bytes: bytes(ready(), end(true, value.payload([255, 15, 82, 34, 1, 40, 0]))) });
    assert.equal(failure.code, 'ERR_ISOLATE_TRANSFER', failure.message);
  });

  test('a clone that would pollute', async () => {
    const { result } = await executeBy(SAY, { bytes: bytes(ready(), end(true, value.payload([255, 15, 111, 34, 9, ...Buffer.from('__proto__'), 111, 34, 1, 120, 73, 2, 123, 1, 123, 1]))) });
    assert.deepEqual(Object.keys(result), ['__proto__']);
    assert.equal(result.x, undefined);
    assert.equal({}.x, undefined);
  });
});

describe('silent children', () => {
  test('the wait for their confinement report is bounded', async () => {
    const { file, folder } = fakeLauncher('exec sleep 60');
    const { SubprocessSandbox } = hostWith(file);
    const start = performance.now();
    const error = await new SubprocessSandbox().confinement().catch((reason) => reason);
    const took = performance.now() - start;
    assert.deepEqual([error.message, error.code], ['The process has not told within 5 s what confines it', 'ERR_ISOLATE_DEADLINE']);
    assert.ok(took >= 4_900 && took < 20_000, `${took}`);
    rmSync(folder, { recursive: true });
  });

  test('an unknown layer is refused', () => {
    const { SubprocessSandbox } = hostWith('/nowhere');
    for (const name of ['secomp', 'Seccomp', '__proto__', 'constructor', '']) {
      const confinement = JSON.parse(`{${JSON.stringify(name)}:false}`);
      assert.throws(() => new SubprocessSandbox({ confinement }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /^`confinement` must be an object with `require` and some of cgroup, .*, seccomp, .*; there is no layer "/ });
    }
    assert.throws(() => new SubprocessSandbox({ confinement: { seccomp: 'no' } }), { message: '`seccomp` must be a boolean' });
    assert.ok(new SubprocessSandbox({ confinement: { seccomp: false, landlock: true, rlimits: undefined, cgroup: null } }));
  });
});

describe('waiting children that end before their first message', () => {
  // The first child that gets an execution serves it. The next one, which has waited by then, ends.
  const script = (later) => `
    echo started >> started; head -c 1 >/dev/null
    if mkdir first 2>/dev/null; then cat bytes >&0; sleep 10; exit; fi
    if mkdir second 2>/dev/null; then kill -KILL $$; fi
    ${later}`;
  const twice = async (later) => {
    const { file, folder } = fakeLauncher(script(later));
    writeFileSync(join(folder, 'bytes'), bytes(ready(), end(true, value.number(5))));
    const { SubprocessSandbox } = hostWith(file);
    const sandbox = new SubprocessSandbox({ poolSize: 1, timeout: 20_000 });
    assert.equal((await sandbox.execute('', [], noTools)).result, 5);
    const started = () => readFileSync(join(folder, 'started'), 'utf8').split('\n').length - 1;
    await until('one waits', () => started() === 2);
    const outcome = await new SubprocessSandbox({ poolSize: 0, timeout: 20_000 }).execute('', [], noTools);
    const all = started();
    rmSync(folder, { recursive: true, force: true });
    return { ...outcome, started: all };
  };

  test('a new child replaces them', async () => {
    const { result, error, started } = await twice('cat bytes >&0; sleep 10');
    assert.deepEqual([result, error, started], [5, undefined, 3]);
  });

  test('one child only', async () => {
    const { result, failure, started } = await twice('exit 3');
    assert.deepEqual([result, failure.message, failure.code, started], [null, 'Process exited with code 3', 'ERR_ISOLATE_CRASH', 3]);
  });

  test('with all killed, and at any time', async () => {
    const { stdout } = await run(`
      import { childrenOf, noTools, sleep } from ${JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'))};
      const { SubprocessSandbox } = ivm;
      const sandbox = new SubprocessSandbox({ poolSize: 2, timeout: 30_000 });
      const outcomes = new Set();
      for (let i = 0; i < 24; i += 1) {
        await sandbox.execute('return 1', [], noTools);
        await sleep([5, 15, 25, 35, 100, 300][i % 6]);
        for (const { pid, state } of childrenOf()) if (state !== 'Z') { try { process.kill(pid, 'SIGKILL'); } catch {} }
        const { result, error } = await sandbox.execute('return 7', [], noTools);
        outcomes.add(JSON.stringify([result, error]));
      }
      console.log([...outcomes].join());
      process.exit();
    `, { timeout: 90_000 });
    assert.equal(stdout, '[7,null]\n');
  });
});

describe('children that end', () => {
  const endings = [
    ['exit 3', { code: 'ERR_ISOLATE_CRASH', message: 'Process exited with code 3' }],
    ['exit 0', { code: 'ERR_ISOLATE_CRASH', message: 'Process exited with code 0' }],
    ['kill -SEGV $$', { code: 'ERR_ISOLATE_CRASH', message: 'Process exited with code 139', signal: 'SIGSEGV' }],
    ['kill -ABRT $$', { code: 'ERR_ISOLATE_CRASH', message: 'Process exited with code 134', signal: 'SIGABRT' }],
    ['kill -SYS $$', { code: 'ERR_ISOLATE_SYSTEM_CALL', message: 'Execution terminated (refused system call)', signal: 'SIGSYS' }],
    // Its limit of processor time cannot be reached before its deadline.
    ['kill -XCPU $$', { code: 'ERR_ISOLATE_CRASH', message: 'Process exited with code 152', signal: 'SIGXCPU' }],
    ['kill -KILL $$', { code: 'ERR_ISOLATE_CRASH', message: TERMINATED, signal: 'SIGKILL' }],
  ];
  for (const [script, expected] of endings) {
    for (const before of ['', 'cat bytes >&0; ']) {
      test(before + script, async () => {
        const { code, message, signal } = await failureBy(before + script, { bytes: ready() });
        assert.deepEqual({ code, message, signal }, { signal: undefined, ...expected });
      });
    }
  }

  test('after all messages', async () => {
    const { result, logs } = await executeBy('cat bytes >&0; echo out; echo err >&2; exit 1', { bytes: bytes(ready(), end(true, value.number(1))) });
    assert.equal(result, 1);
    assert.ok(logs.every((line) => line === '[stdout] out' || line === '[stderr] err'), JSON.stringify(logs));
  });

  test('in the middle of a message', async () => {
    const failure = await failureBy('cat bytes >&0; exit 7', { bytes: bytes(ready(), end(true, value.number(1)).subarray(0, 20)) });
    assert.deepEqual([failure.code, failure.message], ['ERR_ISOLATE_CRASH', 'Process exited with code 7']);
  });

  test('output is in the logs', async () => {
    const { logs, error } = await executeBy('echo one; echo; printf "two\\nthree"; echo oops >&2; exit 4');
    assert.deepEqual(logs.toSorted(), ['[stderr] oops', '[stdout] one', '[stdout] three', '[stdout] two']);
    assert.equal(error, 'Process exited with code 4');
  });

  test('never: it closes its connection and keeps running', async () => {
    const failure = await failureBy('exec 0<&- 1>&- 2>&-; exec sleep 60', { config: { timeout: 500 } });
    assert.deepEqual([failure.code, failure.message], ['ERR_ISOLATE_DEADLINE', TERMINATED]);
  });

  test('never: it ignores signals', async () => {
    const { failure, duration } = await executeBy("trap '' TERM INT HUP; while :; do sleep 1; done", { config: { timeout: 500 } });
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    assert.ok(duration < 3_000, `${duration}`);
  });

  for (const [what, left] of [['is silent', 'sleep 77'], ['sends on and on', 'sh -c "while cat more >&3; do :; done"']]) {
    test(`but leave a process with their connection, outside their group, that ${what}`, { timeout: 60_000 }, async () => {
      const { file, folder } = fakeLauncher(`cat bytes >&0; exec 3<&0; setsid ${left} & echo $! > left; sleep 0.3; exit 3`);
      writeFileSync(join(folder, 'bytes'), ready());
      writeFileSync(join(folder, 'more'), Buffer.concat(Array(2_000).fill(log(0, 'x'))));
      const { SubprocessSandbox } = hostWith(file);
      const { failure, duration } = await new SubprocessSandbox({ poolSize: 0, timeout: 50_000, maxLogEntries: 5 }).execute('', [], noTools);
      assert.deepEqual([failure.code, failure.message], ['ERR_ISOLATE_CRASH', 'Process exited with code 3']);
      assert.ok(duration < 30_000, `${duration}`);
      // Others are served as usual.
      assert.equal((await executeBy(SAY, { bytes: bytes(ready(), end(true, value.number(1))) })).result, 1);
      const pid = Number(readFileSync(join(folder, 'left'), 'utf8'));
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      await until('it is gone', () => !isAlive(pid));
      rmSync(folder, { recursive: true, force: true });
    });
  }

  test('but leave another process of their group', async () => {
    const { logs } = await executeBy('sleep 77 & echo $!; cat bytes >&0; exec sleep 60', { bytes: bytes(ready(), end(true, value.undefined)) });
    const pid = Number(logs[0].replace('[stdout] ', ''));
    assert.ok(pid > 1);
    await until('it is gone', () => { try { return process.kill(pid, 0) && false; } catch { return true; } }, 2_000);
  });
});

describe('children that flood', () => {
  /** How long the event loop is blocked at most while something is awaited, and how much memory that takes. */
  async function measure(work) {
    let [last, longest] = [performance.now(), 0];
    const look = () => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    };
    const timer = setInterval(look, 1);
    const before = residentBytes();
    const outcome = await work();
    look();
    clearInterval(timer);
    return { outcome, longest, grown: residentBytes() - before };
  }
  const FLOOD = 'cat bytes >&0; while :; do cat more >&0; done';

  /** A child that sends endlessly. */
  async function flood(first, more, { config = {}, ...options } = {}) {
    const { file, folder } = fakeLauncher(FLOOD);
    writeFileSync(join(folder, 'bytes'), first);
    writeFileSync(join(folder, 'more'), more);
    const { SubprocessSandbox } = hostWith(file);
    return measure(() => new SubprocessSandbox({ poolSize: 0, timeout: 3_000, ...config }).execute('', options.tools ?? [], options.executor ?? noTools));
  }

  for (const [what, config] of [['without a listener', {}], ['with a listener', { onLog() {} }], ['with a slow listener', { onLog() { const over = performance.now() + 1; while (performance.now() < over); } }]]) {
    test(`log lines ${what}`, async () => {
      const { outcome: { failure, logs, lostLogs, duration }, longest, grown } = await flood(ready(), Buffer.concat(Array(5_000).fill(log(0, 'x'.repeat(200)))), { config: { maxLogEntries: 100_000, ...config } });
      assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
      assert.ok(logs.length > 0 && logs.length <= 100_000 && (lostLogs === undefined || lostLogs > 0), `${logs.length} lines, ${lostLogs} lost`);
      assert.ok(duration < 8_000, `${duration}`);
      assert.ok(longest < 1_000, `the event loop stood still for ${longest} ms`);
      assert.ok(grown < 200e6, `${grown} bytes`);
    });
  }

  test('calls of a tool that answers', async () => {
    let served = 0;
    const executor = async () => { served += 1; };
    const { outcome: { failure }, longest } = await flood(bytes(ready(), calls(200_000)), Buffer.alloc(0), { tools: [tool('t:f')], executor });
    assert.match(failure.code, /^ERR_ISOLATE_(?:DEADLINE|PROTOCOL|MEMORY)$/);
    assert.ok(served > 0);
    assert.ok(longest < 1_000, `the event loop stood still for ${longest} ms`);
  });

  test('calls of a tool that does not answer', async () => {
    const { outcome: { failure } } = await flood(bytes(ready(), calls(20_000)), Buffer.alloc(0), { tools: [tool('t:f')], executor: () => new Promise(() => {}), config: { timeout: 10_000 } });
    assert.equal(failure.code, 'ERR_ISOLATE_PROTOCOL');
  });

  test('calls whose answers it does not read', async () => {
    const answer = 'x'.repeat(1e5);
    const { outcome: { failure }, grown } = await flood(bytes(ready(), calls(9_000)), Buffer.alloc(0), { tools: [tool('t:f')], executor: async () => answer, config: { memoryLimit: 16, timeout: 20_000 } });
    assert.equal(failure.code, 'ERR_ISOLATE_MEMORY');
    assert.ok(grown < 200e6, `${grown} bytes`);
  });

  test('calls with small answers that it does not read', async () => {
    const { file, folder } = fakeLauncher('cat bytes >&0; while [ -e bytes ]; do sleep 1; done');
    // More than 8 MB of answers, if they are counted with what they take in the host.
    writeFileSync(join(folder, 'bytes'), bytes(ready(), calls(400_000)));
    const { SubprocessSandbox } = hostWith(file);
    const { failure, usage } = await new SubprocessSandbox({ poolSize: 0, memoryLimit: 8, timeout: 50_000 }).execute('', [tool('t:f')], async () => 1);
    assert.equal(failure.code, 'ERR_ISOLATE_MEMORY');
    assert.ok(usage.hostCalls > 10_000 && usage.hostCalls < 120_000, `${usage.hostCalls}`);
    rmSync(folder, { recursive: true, force: true });
  });

  test('output', async () => {
    const { outcome: { failure, logs, lostLogs }, grown } = await measure(() => executeBy('yes; :', { config: { timeout: 1_000, maxLogEntries: 50 } }));
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    assert.deepEqual(logs, Array(50).fill('[stdout] y'));
    assert.ok(lostLogs > 0 && grown < 100e6);
  });
});

describe('invalid executables', () => {
  const failing = async (file) => {
    const { SubprocessSandbox } = hostWith(file);
    const sandbox = new SubprocessSandbox();
    const { result, failure } = await sandbox.execute('return 1', [], noTools);
    assert.equal(result, null);
    assert.equal(failure.code, 'ERR_ISOLATE_UNSUPPORTED', failure.message);
    assert.match(failure.message, /^No process can be started \(.*\): /);
    await assert.rejects(sandbox.confinement(), { code: 'ERR_ISOLATE_UNSUPPORTED' });
  };
  test('a missing file', () => failing('/nowhere/isolated-v8-launcher'));
  test('a folder', () => failing('/tmp'));
  test('a file without execute permission', () => failing(fakeLauncher('exit 0', { mode: 0o644 }).file));
  test('a file that is not a program', () => {
    const { file } = fakeLauncher('');
    rmSync(file);
    writeFileSync(file, Buffer.alloc(100));
    chmodSync(file, 0o755);
    return failing(file);
  });

  test('leave no descriptors and no processes', async () => {
    const { SubprocessSandbox } = hostWith('/nowhere/isolated-v8-launcher');
    const sandbox = new SubprocessSandbox();
    await sandbox.execute('', [], noTools);
    const before = openDescriptors();
    for (let i = 0; i < 20; i += 1) await sandbox.execute('', [], noTools);
    await until('no descriptor more', () => openDescriptors() <= before + 2);
    await until('no child', () => childrenOf().length === 0);
  });

  test('a warm child that ends is replaced', async () => {
    const { file } = fakeLauncher('exit 9');
    const { SubprocessSandbox } = hostWith(file);
    const sandbox = new SubprocessSandbox({ poolSize: 2 });
    for (let i = 0; i < 3; i += 1) assert.equal((await sandbox.execute('', [], noTools)).error, 'Process exited with code 9');
    await assert.rejects(sandbox.confinement(), { code: 'ERR_ISOLATE_CRASH', message: 'Process exited with code 9' });
  });
});


describe('memory that RLIMIT_DATA does not count', { skip: process.platform !== 'linux' && 'the kernel counts there otherwise' }, () => {
  const { SubprocessSandbox } = hostWith();
  // Its memory is limited neither by itself nor by a control group, so the host must notice. More than four times 8 MB, 512 MB and 256 MB.
  const TAKES = 'mkfifo pipe; head -c 1000000000 /dev/zero >pipe & cat bytes >&0; exec tail -c 1000000000 pipe >/dev/null 2>&1';

  test('kills the process', { timeout: 60_000 }, async () => {
    const { failure, duration } = await executeBy(TAKES, { bytes: ready(), config: { memoryLimit: 8, timeout: 30_000 } });
    assert.equal(failure.code, 'ERR_ISOLATE_MEMORY', failure.message);
    assert.ok(duration < 29_000, `${duration} ms`);
  });

  test('is a separate layer', async () => {
    const layer = async (config) => (await new SubprocessSandbox({ poolSize: 0, ...config }).confinement()).find(({ name }) => name === 'footprint');
    assert.deepEqual([(await layer({})).active, (await layer({ confinement: { footprint: false } })).active], [true, false]);
  });

  test('honest programs up to their limit work', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 0, memoryLimit: 64, timeout: 20_000 });
    const { result, confinement } = await sandbox.execute('const all = []; for (let index = 0; index < 50; index += 1) all.push(new Uint8Array(2 ** 20).fill(1)); const end = Date.now() + 400; while (Date.now() < end); return all.length', [], noTools);
    assert.equal(result, 50);
    assert.ok(confinement.includes('footprint'));
  });
});
