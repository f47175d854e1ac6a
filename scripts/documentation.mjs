// `npm run docs`: the declarations and the pages of docs/ as a site in `site/`. What typedoc warns of is a failure.

import { join } from 'node:path';
import { root, show } from './process.mjs';
import { setup, toolsFolder } from './setup.mjs';

try {
  // The declarations name types of Node's.
  await setup('dependencies', 'tools');
  const typedoc = join(toolsFolder, 'node_modules/typedoc/bin/typedoc');
  process.exitCode = await show(process.execPath, [typedoc, '--options', join(toolsFolder, 'typedoc.json')]);
  if (process.exitCode === 0) console.log(`open ${join(root, 'site/index.html')}`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
