// Everything in which a guest is not like a host, in one place. What is not here is expected to be equal.

const SYNC_IN_ASYNC = 'Calling a synchronous isolated-vm function on a non-default isolate from within an asynchronous isolated-vm function is not allowed.';
const NOT_INSIDE = 'This is not available inside isolates';

/**
 * @param {'host' | 'guest'} side
 * @param {any} assert
 * @param {any} expect
 */
export function createSides(side, assert, expect) {
  const host = side === 'host';

  /** Members for hosts only, and what guests are told. */
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
    /** What a host's call gives; a guest is refused, and gets undefined. */
    hostOnly(member, call) {
      if (host) return call();
      assert.throws(call, expect.unsupported(refusals[member]), member);
      return undefined;
    },
    /** Hosts may wait at any time; guests not in what goes on after an `await`. */
    syncAfterAwait(call) {
      if (host) return call();
      assert.throws(call, expect.unsupported(SYNC_IN_ASYNC));
      return undefined;
    },
    /** An asynchronous run in another isolate may wait for a function of a host; not for one of a guest. */
    async calledBack(promise, value) {
      if (host) assert.same(await promise, value);
      else await assert.rejects(promise, expect.thrown(Error, SYNC_IN_ASYNC));
    },
    /** V8 believes what is in a compilation cache, and guests could write one. */
    cacheIsRejected: !host,
    /** A host's buffer may be a pool with bytes of others; guests have no such pools, and bring whole buffers as V8 does. */
    viewsComeAlone: host,
    /** What goes on outside of an isolate does not count as its time, but what a guest does for it in another does. */
    waitingCounts: !host,
  };
}
