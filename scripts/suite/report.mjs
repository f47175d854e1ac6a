// JUnit reports in the forms that the three runtimes write.

/** The separator between names of groups and tests. */
export const PATH_SEPARATOR = ' > ';
/** Bun and Deno list files as suites. */
const FILE = /\.(mjs|ts)$/;

const entities = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&', '#10': '\n', '#13': '\r', '#9': '\t' };
const decode = (text) => text.replace(/&(#?\w+);/g, (whole, name) => entities[name] ?? whole);

/**
 * The tests of a report. Deno lists groups beside their tests; a group counts only when it failed and none of its tests did.
 * @returns {{ passed: number, skipped: number, failures: { path: string, failure: string }[], paths: { ran: string[], skipped: string[] } }} with the paths
 *   of the tests that ran and of those that were skipped
 */
export function parseReport(xml) {
  const suites = [];
  let cases = [];
  const pattern = /<testsuite name="([^"]*)"[^>]*>|<\/testsuite>|<testcase name="([^"]*)"[^>]*?(\/)?>([\s\S]*?)(?=<\/testcase>|<testcase|<testsuite|<\/testsuite|$)/g;
  for (const [tag, suite, name, selfClosed, body] of xml.matchAll(pattern)) {
    if (tag.startsWith('</')) suites.pop();
    else if (suite !== undefined) suites.push(decode(suite));
    else {
      const inner = selfClosed ? '' : body;
      const failure = /<(?:failure|error)[^>]*?(?:message="([^"]*)"[^>]*)?(?:\/>|>([\s\S]*)<\/(?:failure|error)>)/.exec(inner);
      cases.push({
        path: [...suites.filter((title) => !FILE.test(title)), decode(name)].join(PATH_SEPARATOR),
        name: decode(name),
        failure: failure && decode(failure[2]?.trim() || failure[1] || 'failed'),
        skipped: /<skipped/.test(inner),
      });
    }
  }
  const isGroup = (group) => cases.some((other) => other.name.startsWith(group.name + PATH_SEPARATOR));
  const failedBelow = (group) =>
    cases.some((other) => other.failure && other.name.startsWith(group.name + PATH_SEPARATOR));
  // Node counts a group without tests as a test.
  if (xml.includes('<!-- tests 0 -->')) cases = cases.filter((test) => test.failure || test.skipped);
  cases = cases.filter((test) => !isGroup(test) || (test.failure && !failedBelow(test)));
  return {
    passed: cases.filter((test) => !test.failure && !test.skipped).length,
    skipped: cases.filter((test) => !test.failure && test.skipped).length,
    failures: cases.filter((test) => test.failure).map(({ path, failure }) => ({ path, failure })),
    paths: {
      ran: cases.filter((test) => test.failure || !test.skipped).map(({ path }) => path),
      skipped: cases.filter((test) => !test.failure && test.skipped).map(({ path }) => path),
    },
  };
}
