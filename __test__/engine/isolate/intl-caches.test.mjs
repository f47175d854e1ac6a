// ICU's caches, which it keeps for the lifetime of the process and whose keys guests can choose. They are bounded, and what was removed from
// them works as before.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/**
 * What the process grows by, in MB, in guests that do `work` for each number up to `count`, after guests that have filled the caches.
 * `example` is code whose result must stay the same.
 */
const PROGRAM = (work, count, max, example) => `
  const { readFileSync } = await import('node:fs');
  const resident = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const guest = async (n, count) => {
    const one = new ivm.Isolate({ memoryLimit: 512 });
    const own = await one.createContext();
    const example = ${JSON.stringify(`JSON.stringify(${example})`)};
    const definitions = ${JSON.stringify(`
      const LETTERS = 'abcdefghij';
      const name = (i) => 'en-' + [...String(i).padStart(6, '0')].map((digit) => LETTERS[digit]).join('') + LETTERS[N];
      const LOCALES = ['en', 'de', 'fr', 'ja'];
      const NUMBERS = Intl.supportedValuesOf('numberingSystem');
      const CALENDARS = Intl.supportedValuesOf('calendar');
      const locale = (i) => LOCALES[i % 4] + '-u-ca-' + CALENDARS[(i >> 2) % CALENDARS.length] + '-nu-' + NUMBERS[(i * 7 + N * 29) % NUMBERS.length];
      const pattern = (i) => locale(i) + '-hc-' + ['h11', 'h12', 'h23', 'h24'][(i + N) % 4];
      const FORMATS = ['hebrew', 'islamic', 'chinese', 'dangi'].map((calendar) => new Intl.DateTimeFormat('en-u-ca-' + calendar));
    `)}.replaceAll(/\\bN\\b/g, n);
    const before = await own.eval(definitions + example);
    await own.eval(${JSON.stringify(`for (let i = 0; i < COUNT; i += 1) { ${work}; }`)}.replace('COUNT', count).replaceAll(/\\bN\\b/g, n));
    const after = await own.eval(example);
    one.dispose();
    assert.equal(after, before);
    return before;
  };
  const first = await guest(0, ${count});
  const start = resident();
  for (let n = 1; n < 3; n += 1) assert.equal(await guest(n, ${count}), first);
  const grown = resident() - start;
  console.log(grown + ' MB');
  assert.ok(grown < ${max}, grown + ' MB more');`;

const LOCALES = `['en', 'de', 'sr-Latn-RS', 'zh-Hant-TW', 'de-AT', 'ar-EG', 'nn-NO', 'es-MX', 'th', 'en-aaaaaaa'].map((tag) => {
  const locale = new Intl.Locale(tag);
  const sorted = ['z', 'ä', 'a', 'ö'].sort(new Intl.Collator(tag).compare);
  return [locale.getCollations(), locale.getNumberingSystems(), locale.getHourCycles(), locale.getCalendars(), sorted, (1234.5).toLocaleString(tag)];
})`;
const DATES = 'FORMATS.map((format) => [-6e13, 0, 17e11, 2.5e14].map((time) => format.format(time)))';
const ZONES = `['en', 'de', 'fr', 'ja-u-ca-japanese', 'ar-EG-u-nu-latn'].map((locale) => ['long', 'longGeneric'].map((timeZoneName) =>
  ['America/New_York', 'Asia/Tokyo', 'Europe/Berlin'].map((timeZone) => new Intl.DateTimeFormat(locale, { timeZone, timeZoneName }).format(0))))`;

const PATTERNS = `['en', 'de', 'ja-u-ca-japanese', 'ar-EG-u-nu-arab', 'hi-u-nu-deva', 'th'].map((locale) =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' }).format(17e11))`;

const CASES = {
  'locales whose collations guests request': ['new Intl.Locale(name(i)).getCollations()', 60_000, 18, LOCALES],
  'locales whose numbering systems guests request': ['new Intl.Locale(name(i)).getNumberingSystems()', 60_000, 18, LOCALES],
  'months of a calendar': ['FORMATS[1].format((i * 29 + N * 8e6) * 864e5 - 8.2e15)', 250_000, 20, DATES],
  'locales of dates': ["new Intl.DateTimeFormat(pattern(i), { hour: 'numeric' })", 1_200, 40, PATTERNS],
};

describe('memory of ICU does not grow with the number of', () => {
  for (const [what, [work, count, max, example]] of Object.entries(CASES)) {
    test(what, () => passes(PROGRAM(work, count, max, example), { timeout: 120_000 }));
  }
});

test('names of time zones stay the same after a guest has used many locales', () => passes(
  PROGRAM("new Intl.DateTimeFormat(locale(i), { timeZone: 'America/New_York', timeZoneName: 'longGeneric' }).format(0)", 400, 400, ZONES), { timeout: 120_000 }));
