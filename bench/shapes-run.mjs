// Times every shape on the given libraries in this process, and prints the results as JSON: `shapes-run.mjs <options as JSON>`.

import { load, OURS } from './libraries.mjs';
import { compare, plans } from './measure.mjs';
import shapes from './shapes.mjs';

const { libraries: names, filter = '', quick } = JSON.parse(process.argv[2]);
const libraries = new Map();
for (const name of names) libraries.set(name, await load(name));

/** isolated-vm copies no errors into a guest. */
function canCopy(library, shape) {
  const { run, end } = shape.prepare(library);
  try {
    run();
    return true;
  } catch {
    return false;
  } finally {
    end();
  }
}

const results = [];
for (const shape of shapes.filter(({ id }) => id.includes(filter))) {
  const able = new Map(Array.from(libraries).filter(([name, library]) => name === OURS || canCopy(library, shape)));
  const times = await compare(shape, able, quick ? plans.quick : plans.full);
  results.push({ id: shape.id, title: shape.title, target: shape.target, times });
}
console.log(JSON.stringify(results));
