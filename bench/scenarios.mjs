// The scenarios. A scenario's `prepare` gets a library with isolated-vm's API and returns what to time: `run`, once or many times,
// and `end` afterwards. A library that lacks what it `uses` is omitted. `run` returns `expected`, which is checked before timing. One run
// counts as `calls` calls (default: 1); `title` describes one call. `target` is the maximum intended ratio to isolated-vm's time. `pauseMs`
// is the pause before each run; `sampleMs` and `rounds` replace the plan's.

import calls from './calls.mjs';
import copies from './copies.mjs';
import kernels from './kernels.mjs';
import lifecycles from './lifecycles.mjs';

export const scenarios = [...lifecycles, ...calls, ...copies, ...kernels];

/** The scenarios with `filter` in their names, or all. */
export const choose = (filter = '') => scenarios.filter(({ id, title }) => id.includes(filter) || title.includes(filter));
