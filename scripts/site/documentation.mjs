// `npm run docs`: makes a site in `site/` from the declarations and the pages of docs/. Warnings of typedoc are failures.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, show } from '../process.mjs';
import { setup, toolsFolder } from '../setup.mjs';

export const siteFolder = join(root, 'site');

/** What pages load to draw diagrams (diagrams.js), and its licence. */
const MERMAID = { 'dist/mermaid.tiny.js': 'mermaid.js', LICENSE: 'mermaid.LICENSE' };

/** Makes the site; resolves with whether there were no problems. */
export async function makeSite() {
  // The declarations name types of Node's.
  await setup('dependencies', 'tools');
  const typedoc = join(toolsFolder, 'node_modules/typedoc/bin/typedoc');
  if (await show(process.execPath, [typedoc, '--options', join(toolsFolder, 'typedoc.json')]) !== 0) return false;
  for (const [from, to] of Object.entries(MERMAID)) {
    copyFileSync(join(toolsFolder, 'node_modules/@mermaid-js/tiny', from), join(siteFolder, 'assets', to));
  }
  return true;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    if (await makeSite()) console.log(`open ${join(siteFolder, 'index.html')}`);
    else process.exitCode = 1;
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
