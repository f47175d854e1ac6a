// `npm run browser`: makes the site and checks it in Chromium, without network access. Pages of each kind must have their heading,
// highlighted code, a drawing for every diagram, and scripts that do not fail. No page may be wider than a phone, or have broken links.
// Screenshots are in `site/screenshots`. Not part of `npm test`: it needs Chromium, from the system's packages or from the path in CHROMIUM.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { makeSite, siteFolder } from './documentation.mjs';
import { root } from '../process.mjs';

const LIMIT_MS = 120_000;
const MAX_OUTPUT = 64 * 2 ** 20;
/** The time limit of a page's scripts, by the page's own clock, which does not tick while they run. */
const SCRIPTS_MS = 20_000;
/** The width of a phone's screen, in CSS pixels. */
const PHONE_WIDTH = 390;
const NAMES = process.env.CHROMIUM === undefined ? ['chromium', 'chromium-browser', 'google-chrome'] : [process.env.CHROMIUM];

const run = promisify(execFile);

/** `source` is the document of the page's diagrams; `height` is that of the screenshot, in pixels. */
const PAGES = [
  { file: 'index.html', heading: 'isolated-v8', source: 'README.md', hasCode: true, height: 2400 },
  { file: 'documents/docs_architecture.html', heading: 'Architecture', source: 'docs/architecture.md', hasCode: false, height: 3400 },
  { file: 'documents/docs_limits-and-errors.html', heading: 'Limits and errors', source: 'docs/limits-and-errors.md', hasCode: true, height: 2400 },
  { file: 'classes/index.Isolate.html', heading: 'Class Isolate', hasCode: false, height: 2400 },
];

const withoutTags = (html) => html.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ').trim();
const unescaped = (html) => html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
const count = (text, pattern) => text.match(pattern)?.length ?? 0;

async function findChromium() {
  for (const name of NAMES) {
    const found = await run(name, ['--version']).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (found !== undefined) {
      console.log(`with ${found.stdout.trim()}`);
      return name;
    }
  }
  throw new Error(`there is no ${NAMES.join(', ')}: apt-get install chromium, or say in CHROMIUM where it is`);
}

/** Opens a file; resolves with Chromium's output. */
async function open(chromium, profile, file, ...args) {
  const url = pathToFileURL(file).href;
  return run(chromium, [
    '--headless', '--disable-gpu', '--hide-scrollbars', '--no-first-run', '--disable-extensions', '--disable-dev-shm-usage', `--user-data-dir=${profile}`,
    // Chromium's own sandbox does not work for root. The pages are our own.
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    '--host-resolver-rules=MAP * ~NOTFOUND', '--enable-logging=stderr', `--virtual-time-budget=${SCRIPTS_MS}`, ...args, url,
  ], { timeout: LIMIT_MS, maxBuffer: MAX_OUTPUT });
}

/** The problems of a page, after its scripts have run. */
function judge({ heading, source, hasCode }, dom, log) {
  const headings = [...dom.matchAll(/<h1\b[^>]*>([\s\S]*?)<\/h1>/g)].map(([, html]) => withoutTags(html));
  const diagrams = source === undefined ? 0 : count(readFileSync(join(root, source), 'utf8'), /^```mermaid$/gm);
  const drawn = count(dom, /<div class="diagram"[^>]*><svg\b/g);
  const blocks = [...dom.matchAll(/<pre><code class="(?:js|ts|json|sh)">([\s\S]*?)<\/code>/g)].map(([, html]) => html);
  return [
    ...(headings.includes(heading) ? [] : [`its headings are ${headings.join(', ')}`]),
    ...(drawn === diagrams && !dom.includes('<code class="mermaid">') ? [] : [`${drawn} of ${diagrams} diagrams are drawn`]),
    ...(!hasCode || blocks.length > 0 ? [] : ['it has no code']),
    ...(blocks.every((html) => /<span class="hl-\d+">/.test(html)) ? [] : ['it has code that is not highlighted']),
    ...log.split('\n').filter((line) => /:CONSOLE/.test(line) && /Uncaught|Error/.test(line)),
  ];
}

/** The pages that have to be scrolled sideways on a phone. Each is loaded into a frame of a phone's width. */
async function widePages(chromium, profile) {
  const measure = join(profile, 'measure.html');
  const pages = readdirSync(siteFolder, { recursive: true }).map(String).filter((name) => /^(?:index|documents\/.*|classes\/.*|modules\/.*)\.html$/.test(name));
  const urls = Object.fromEntries(pages.map((name) => [name, pathToFileURL(join(siteFolder, name)).href]));
  writeFileSync(measure, `<iframe style="width: ${PHONE_WIDTH}px; height: 800px; border: 0"></iframe><pre></pre><script>
    (async () => {
      const frame = document.querySelector('iframe');
      const widths = {};
      for (const [name, url] of Object.entries(${JSON.stringify(urls)})) {
        await new Promise((resolve) => { frame.onload = resolve; frame.src = url; });
        widths[name] = frame.contentDocument.documentElement.scrollWidth;
      }
      document.querySelector('pre').textContent = JSON.stringify(widths);
    })();
  </script>`);
  const { stdout } = await open(chromium, profile, measure, '--allow-file-access-from-files', '--dump-dom');
  const [, text = '{}'] = /<pre>(.*)<\/pre>/.exec(stdout) ?? [];
  const widths = Object.entries(JSON.parse(unescaped(text)));
  if (widths.length !== pages.length) return [`${widths.length} of ${pages.length} pages were measured`];
  return widths.filter(([, width]) => width > PHONE_WIDTH).map(([name, width]) => `${name} is ${width} pixels wide`);
}

/** The broken relative links and sources of all pages, including links to parts of pages. */
function brokenLinks() {
  const pages = readdirSync(siteFolder, { recursive: true }).map(String).filter((name) => name.endsWith('.html') && !name.startsWith('media/'));
  const texts = new Map(pages.map((name) => [join(siteFolder, name), readFileSync(join(siteFolder, name), 'utf8')]));
  const broken = [];
  for (const [page, html] of texts) {
    for (const [, attribute] of html.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      const target = unescaped(attribute);
      if (/^[a-z]+:/i.test(target)) continue;
      const url = new URL(target, pathToFileURL(page));
      const anchor = decodeURIComponent(url.hash.slice(1));
      url.hash = '';
      const file = fileURLToPath(url);
      const text = texts.get(file);
      const leads = existsSync(file) && statSync(file).isFile() && (anchor === '' || text === undefined || text.includes(` id="${anchor.replaceAll('&', '&amp;')}"`));
      if (!leads) broken.push(`${page.slice(siteFolder.length + 1)}: ${target}`);
    }
  }
  return { pages: pages.length, broken: [...new Set(broken)] };
}

const profile = mkdtempSync(join(tmpdir(), 'isolated-v8-browser-'));
try {
  const chromium = await findChromium();
  if (!(await makeSite())) throw new Error('the site cannot be made');
  let failures = 0;
  const tell = (name, problems) => {
    console.log(`${(problems.length === 0 ? 'ok' : 'FAIL').padEnd(4)} ${name}`);
    for (const problem of problems) console.log(`       ${problem}`);
    failures += problems.length;
  };
  for (const page of PAGES) {
    const screenshot = join(siteFolder, 'screenshots', `${page.file.replaceAll('/', '-').replace(/\.html$/, '')}.png`);
    mkdirSync(dirname(screenshot), { recursive: true });
    const { stdout, stderr } = await open(chromium, profile, join(siteFolder, page.file), '--dump-dom');
    await open(chromium, profile, join(siteFolder, page.file), `--window-size=1280,${page.height}`, `--screenshot=${screenshot}`);
    tell(page.file, [...judge(page, stdout, stderr), ...(existsSync(screenshot) ? [] : ['there is no screenshot of it'])]);
  }
  tell(`pages at a width of ${PHONE_WIDTH} pixels`, await widePages(chromium, profile));
  const { pages, broken } = brokenLinks();
  tell(`links of ${pages} pages`, broken);
  if (failures > 0) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
