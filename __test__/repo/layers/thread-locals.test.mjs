// Thread-local values of the library. A guest on a thread of its host must not see those of another guest, and must not leave its own behind.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../../harness.mjs';

/** Why each may stay as it is when a guest is suspended or left. Everything else belongs into `src/native/context.rs`. */
const KNOWN = {
  'native/attempts.rs': "only on V8's threads",
  'native/context.rs': 'which fiber runs, each with a context of its own',
  'native/fiber/stack.rs': "the thread's stack for signal handlers",
  'native/stop_request.rs': 'withdrawn when the guest is suspended or left',
  'native/wrapped_locks.rs': 'the last lock, only for its identity',
  'engine/abort.rs': 'only for isolates with a snapshot of the host, which keep to threads of the library',
  'engine/background.rs': 'only on threads of the library',
  'engine/cpu_profiles.rs': "only on V8's threads that add samples",
  'engine/snapshot_scripts.rs': 'only for snapshots',
  'engine/heap/mod.rs': 'only while an isolate is made',
  'engine/icu/caches.rs': 'the last table, read just after it was written',
  'engine/linux.rs': "the thread's number",
  'engine/microtasks.rs': 'the last microtask that was terminated, only for its isolate, which is never freed if its guest was left',
  'engine/start.rs': 'only while the engine starts',
  'host/environment_handle.rs': 'the request of the guest that was suspended last',
  'isolate/thread/caller_thread.rs': 'the guests of this thread',
  'isolate/thread/parking.rs': 'only for snapshots',
  'ops/snapshot.rs': 'only for snapshots',
  'value/spin.rs': 'a measurement of the thread',
  'web/url.rs': 'only within Rust code, which is never left',
};

test('every thread-local value is known', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true }).map((name) => String(name).replaceAll('\\', '/'));
  const found = files.filter((name) => name.endsWith('.rs') && readFileSync(join(root, 'src', name), 'utf8').includes('thread_local!'));
  assert.deepEqual(found.toSorted(), Object.keys(KNOWN).toSorted());
});
