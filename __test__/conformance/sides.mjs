// All differences between guests and hosts. Everything else is expected to be equal.

const SYNC_IN_ASYNC = 'Calling a synchronous isolated-vm function on a non-default isolate from within an asynchronous isolated-vm function is not allowed.';
const NOT_INSIDE = 'This is not available inside isolates';

/**
 * @param {'host' | 'guest'} side
 * @param {any} assert
 * @param {any} expect
 */
export function createSides(side, assert, expect) {
  const host = side === 'host';

  /** Members for hosts only, and the error that guests get. */
  const refusals = {
    createSnapshot: NOT_INSIDE,
    snapshot: '`snapshot` is not available inside isolates',
    inspector: '`inspector` is not available inside isolates',
    createInspectorSession: 'An isolate is not debuggable from within itself',
    startCpuProfiler: 'CPU profiles can be taken by hosts only',
    stopCpuProfiler: 'CPU profiles can be taken by hosts only',
  };

  return {
    hosts: host,
    /** Returns the result of a host's call. In a guest, checks that the call is refused, and returns undefined. */
    hostOnly(member, call) {
      if (host) return call();
      assert.throws(call, expect.unsupported(refusals[member]), member);
      return undefined;
    },
    /** Hosts may block at any time; guests may not in code after an `await`. */
    syncAfterAwait(call) {
      if (host) return call();
      assert.throws(call, expect.unsupported(SYNC_IN_ASYNC));
      return undefined;
    },
    /** An asynchronous run in another isolate may wait for a host's function, but not for a guest's. */
    async calledBack(promise, value) {
      if (host) assert.same(await promise, value);
      else await assert.rejects(promise, expect.thrown(Error, SYNC_IN_ASYNC));
    },
    /** V8 trusts the contents of a compilation cache, and guests could forge one. */
    cacheIsRejected: !host,
    /** A host's buffer may be a pool that also has others' bytes. Guests have no such pools, and send whole buffers as V8 does. */
    viewsComeAlone: host,
    /** Time spent outside an isolate does not count as its own, except for work that a guest does for it in another isolate. */
    waitingCounts: !host,
  };
}
