// Built-ins that V8 has in C++, given texts that they need more memory for than a guest may have: in V8's own libraries a refusal comes
// back as null at any of hundreds of places. Whatever the size, the guest gets the right result or an error, the process continues, and
// other isolates can use the same libraries. No host exports an allocator, so the addon calls the C library's on all of them.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Sizes below and above the points where the steps of the work are refused, in characters. */
const SIZES = [2e5, 8e6, 3.2e7, 5e7, 7.5e7, 2e8];

/**
 * Runs `code(size)` in isolates of 8 MB. `expected` is the right result, as code; any other outcome must be the end of the isolate because
 * of its memory. `fills` are numbers of megabytes that ICU already has.
 */
function refused(name, code, expected, { sizes = SIZES, fills = [0], isRefused = true } = {}) {
  test(name, () => passes(`
    const sizes = ${JSON.stringify(sizes)};
    const code = ${code};
    const expected = ${expected};
    let ended = 0, done = 0;
    for (const fill of ${JSON.stringify(fills)}) for (const size of sizes) {
      const one = new ivm.Isolate({ memoryLimit: 8 });
      const context = one.createContextSync();
      // ICU's memory that is already in use changes where the refusal happens.
      context.evalSync('const t = "ก".repeat(5e5); globalThis.kept = []; for (let i = 0; i < ' + fill + '; i += 1) kept.push(new Intl.Segmenter("en").segment(t)); 0');
      let got;
      try {
        got = context.evalSync(code(size), { timeout: 10_000, copy: true });
      } catch (error) {
        got = error.code ?? error.name + ': ' + error.message;
      }
      if (got === 'ERR_ISOLATE_MEMORY') {
        ended += 1;
        assert.equal(one.isDisposed, true);
        assert.throws(() => context.evalSync('1'), { code: 'ERR_ISOLATE_MEMORY' });
      } else {
        assert.deepEqual(got, expected(size), 'size ' + size);
        done += 1;
        one.dispose();
      }
    }
    assert.equal(ended > 0, ${isRefused});
    assert.ok(done > 0, 'nothing was right');
    const other = new ivm.Isolate();
    const works = 'new Intl.Segmenter("ja", { granularity: "word" }).segment("漢字カナ").containing(0).index + new Intl.ListFormat("en").format(["a", "b"]) + new Intl.NumberFormat("en").format(1234n) + "a".localeCompare("b") + "é".normalize("NFD").length';
    assert.equal(other.createContextSync().evalSync(works), '0a and b1,234-12');
    other.dispose();`, { timeout: 60_000 }));
}

describe('texts for ICU', () => {
  test('one line does not end the host', () => passes(`
    for (const code of ["new Intl.Segmenter('en').segment('ก'.repeat(2e8))", "new Intl.v8BreakIterator('en').adoptText('ก'.repeat(2e8))", "new Intl.Segmenter('en').segment('ก'.repeat(2e8))[Symbol.iterator]().next()"]) {
      const one = new ivm.Isolate({ memoryLimit: 64 });
      assert.throws(() => one.createContextSync().evalSync(code), { code: 'ERR_ISOLATE_MEMORY' });
    }
    otherWorks();`));

  refused('segments', 'size => `const { segment, index } = new Intl.Segmenter("en").segment("ก".repeat(${size})).containing(5); segment + index`', '() => "ก5"', { fills: [0, 4] });
  refused('segments of Latin-1', 'size => `const { segment, index } = new Intl.Segmenter("en").segment("é".repeat(${size})).containing(5); segment + index`', '() => "é5"');
  refused('words by a dictionary', 'size => `const s = new Intl.Segmenter("ja", { granularity: "word" }).segment("漢カ".repeat(${size / 4})).containing(1000); s.input.slice(s.index, s.index + s.segment.length) === s.segment && s.segment.length > 0`', '() => true', { sizes: [2e4, 2e6, 2e7, 8e7, 2e8] });
  refused('break iterators', 'size => `const b = new Intl.v8BreakIterator("en", { type: "character" }); b.adoptText("ก".repeat(${size})); [b.first(), b.next(), b.next()].join()`', '() => "0,1,2"', { fills: [0, 4] });
  refused('lists', 'size => `new Intl.ListFormat("en").format(["ก".repeat(${size}), "b"]).length`', 'size => size + 6', { sizes: [2e5, 2e6, 4e6, 1e7, 2e7, 4e7, 2e8] });
  refused('parts of lists', 'size => `new Intl.ListFormat("en").formatToParts(["ก".repeat(${size}), "b"]).map(({ value }) => value.length).join()`', 'size => `${size},5,1`', { sizes: [2e5, 2e6, 4e6, 1e7, 2e7, 4e7, 2e8] });
  refused('normalization', 'size => `"é".repeat(${size}).normalize("NFD").length`', 'size => size * 2');
  refused('normalization to more', String.raw`size => '"\\ufdfa".repeat(' + size / 20 + ').normalize("NFKD").length'`, 'size => size / 20 * 18');
  refused('comparison', 'size => `"ก".repeat(${size}).localeCompare("ก".repeat(${size} - 1) + "x")`', '() => 1', { sizes: [2e5, 8e6, 3.2e7, 2e8] });
  refused('numbers', 'size => `(10n ** ${size / 100}n).toLocaleString("en").length`', 'size => size / 100 + 1 + Math.floor(size / 300)', { sizes: [2e5, 2e7, 5e8] });
});

describe('texts for V8', () => {
  refused('case', 'size => `"ßa".repeat(${size / 2}).toLocaleUpperCase("de").length`', 'size => size * 1.5');
  refused('JSON', String.raw`size => 'JSON.stringify(["\\u0001ก".repeat(' + size / 4 + ')]).length'`, 'size => size / 4 * 7 + 4');
  refused('nested JSON', 'size => `JSON.parse("[".repeat(${size / 10}) + "]".repeat(${size / 10})).length`', 'size => size > 10 ? 1 : 0', { sizes: [2e5, 2e6, 2e7, 8e7, 2e8] });
  refused('escapes', 'size => `unescape(escape("ก".repeat(${size / 4}))).length`', 'size => size / 4');
  refused('classes of characters', 'size => `RegExp("[" + "\\\\\\\\q{" + Array.from({ length: ${size / 1000} }, (_, i) => "a" + i).join("|") + "}]", "iv").test("A1")`', '() => true', { sizes: [2e5, 2e6, 2e7, 2e8, 8e8] });
  refused('Temporal', 'size => `try { Temporal.ZonedDateTime.from("2020-01-01T00:00[" + "ก".repeat(${size}) + "]") } catch (error) { error.name }`', '() => "RangeError"', { isRefused: false, sizes: [2e5, 2e7, 2e8] });
});

describe('texts that V8 does not expect to be too long', () => {
  /** An error in code that was evaluated by 300 functions with a name of 2 MB, each evaluated by the one before. */
  const origin = (then) => `
    globalThis.source = '(function ' + 'n'.repeat(2e6) + '(depth) { return depth > 0 ? eval(source)(depth - 1) : new Error("x") })';
    Error.stackTraceLimit = 1;
    ${then}
    (0, eval)(source)(300).stack`;
  const ends = {
    'a stack': origin(''),
    'the origin of a frame': origin('Error.prepareStackTrace = (error, [frame]) => frame.getEvalOrigin();'),
  };
  for (const [name, code] of Object.entries(ends)) {
    test(name, () => passes(`
      for (const act of ['evalSync', 'eval']) {
        const one = new ivm.Isolate({ memoryLimit: 64 });
        const context = one.createContextSync();
        await assert.rejects(async () => context[act](${JSON.stringify(code)}), { code: 'ERR_ISOLATE_MEMORY' });
        assert.equal(one.isDisposed, true);
      }
      otherWorks();`, { timeout: 60_000 }));
  }
});
