// The scenarios. A scenario's `prepare` gets a library with isolated-vm's API and returns what to time: `run`, once or many times,
// and `end` afterwards. A library that lacks what it `uses` is left out. `run` gives `expected`, which is checked before anything is
// timed. One run counts as `calls` calls (default: 1); `title` says what one call is. `target` is what the ratio to isolated-vm's time
// should be at most. `pauseMs` is waited before each run; `sampleMs` and `rounds` replace the plan's.

import calls from './calls.mjs';
import copies from './copies.mjs';
import kernels from './kernels.mjs';
import lifecycles from './lifecycles.mjs';

export const scenarios = [...lifecycles, ...calls, ...copies, ...kernels];

/** The scenarios with `filter` in their names, or all. */
export const choose = (filter = '') => scenarios.filter(({ id, title }) => id.includes(filter) || title.includes(filter));
