// The agent in each realm of the randomized test, on the host and in guests. Guests get it as source text, so it refers to nothing outside
// itself. It stores values under numbers and executes orders: first through other realms, then here. The outcome is a text: `= value`,
// `! error`, `absent` if there is no such value, or `^depth error` if the step to the next realm has failed.

/** @param {any} ivm @param {(next: () => any) => Promise<any>} [later] in another turn of the event loop; hosts only */
export function createAgent(ivm, later) {
  const items = new Map();
  const doomed = new Set();
  const links = new Map();
  const identities = new WeakMap();
  const PROMISE = { result: { promise: true } };
  const handles = ['Isolate', 'Context', 'Script', 'ExternalCopy', 'Callback', 'Reference'];

  const ABSENT = 'there is no such item';
  const absent = () => new Error(ABSENT);

  function sorted(value) {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(sorted);
    if (ArrayBuffer.isView(value)) return `bytes ${Array.from(value).join(' ')}`;
    const result = {};
    for (const key of Object.keys(value).toSorted()) result[key] = sorted(value[key]);
    return result;
  }

  function show(value) {
    if (typeof value === 'bigint') return 'bigint';
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return String(value);
    if (identities.has(value)) return `own ${identities.get(value)}`;
    if (typeof value === 'function') return 'function';
    if (value instanceof ivm.Reference) return `Reference ${value.typeof}`;
    for (const name of handles) if (ivm[name] !== undefined && value instanceof ivm[name]) return name;
    if (value instanceof Promise) return 'Promise';
    if (value instanceof ArrayBuffer) return `ArrayBuffer ${value.byteLength}`;
    // All realms count in the same memory.
    if (value instanceof SharedArrayBuffer) return `SharedArrayBuffer ${value.byteLength} seen ${Atomics.add(new Uint8Array(value), 0, 1)}`;
    if (typeof value.instantiateSync === 'function') return 'Module';
    return `copy ${JSON.stringify(sorted(value))}`;
  }

  const describe = (error) =>
    error?.message === ABSENT ? 'absent' : `${error?.name}${error?.code === undefined ? '' : ` ${error.code}`}: ${error?.message ?? error}`;
  const failed = (error) => (error?.message === ABSENT ? 'absent' : `! ${describe(error)}`);
  const succeeded = (value) => `= ${show(value)}`;

  function item(id) {
    if (!items.has(id)) throw absent();
    return items.get(id);
  }

  function keep(id, value) {
    if (!doomed.delete(id)) items.set(id, value);
    return value;
  }

  function drop(id) {
    if (items.delete(id)) return true;
    // It may not have arrived yet.
    doomed.add(id);
    if (doomed.size > 1000) doomed.delete(doomed.keys().next().value);
    return false;
  }

  function identified(id, value) {
    identities.set(value, id);
    return value;
  }

  const objectOf = (id) =>
    identified(id, {
      id,
      n: 0,
      nested: identified(id + 0.5, { id: id + 0.5 }),
      get computed() {
        return 7;
      },
    });

  const functionsOf = {
    add: () => (n) => (n instanceof Promise ? n.then((value) => `got ${value}`, (error) => `refused ${describe(error)}`) : n + 1),
    echo: () => (n) => ({ n }),
    handle: (id) => (n) => new ivm.Reference(objectOf(id + n / 1000)),
    throws: (id) => () => {
      throw new RangeError(`thrown by ${id}`);
    },
  };
  const functionOf = (id, flavour) => identified(id, functionsOf[flavour](id));

  function copyOf(what, n) {
    switch (what) {
      case 'string':
        return new ivm.ExternalCopy('x'.repeat(n * 10));
      case 'buffer':
        return new ivm.ExternalCopy(new ArrayBuffer(n), { transferOut: true });
      case 'listed': {
        const bytes = new Uint8Array(n).fill(1);
        return new ivm.ExternalCopy({ bytes }, { transferList: [bytes.buffer] });
      }
      case 'shared':
        return new ivm.ExternalCopy(new SharedArrayBuffer(n));
      case 'large':
        return new ivm.ExternalCopy(new ArrayBuffer(n * 1000));
      default:
        return new ivm.ExternalCopy({ list: [n, String(n)], bytes: new Uint8Array(n).fill(2) });
    }
  }

  /** A value to be passed as a promise; it need not be one. */
  function promiseOf(what) {
    switch (what) {
      case 'value':
        return 5;
      case 'resolved':
        return Promise.resolve(5);
      case 'empty':
        return {};
      case 'resolved empty':
        return Promise.resolve({});
      default: {
        const promise = Promise.reject(new RangeError('rejected'));
        promise.catch(() => {});
        return promise;
      }
    }
  }

  /** Makes a call now, later, or ignored. */
  const call = (object, method, { mode }, args) => object[method + (mode === 'later' ? '' : mode === 'ignored' ? 'Ignored' : 'Sync')](...args);
  const keeping = (order, value) => (order.mode === 'later' ? value.then((made) => keep(order.as, made)) : keep(order.as, value));

  const actions = {
    // Making.
    object: ({ as }) => keep(as, new ivm.Reference(objectOf(as))),
    function: ({ as, flavour }) => keep(as, new ivm.Reference(functionOf(as, flavour))),
    primitive: ({ as, value }) => keep(as, new ivm.Reference(value)),
    copy: ({ as, what, n }) => keep(as, copyOf(what, n)),
    plain: ({ as, flavour }) => keep(as, functionOf(as, flavour)),
    callback: ({ as, flavour, how }) => keep(as, new ivm.Callback(functionOf(as, flavour), { [how]: true })),
    isolate: ({ as, memoryLimit }) => keep(as, new ivm.Isolate({ memoryLimit })),
    context: (order) => keeping(order, call(item(order.id), 'createContext', order, [])),
    script: (order) => keeping(order, call(item(order.id), 'compileScript', order, [order.code])),
    module: (order) => keeping(order, call(item(order.id), 'compileModule', order, ['export const n = 42; export default null;'])),

    // References.
    get: (order) => call(item(order.id), 'get', order, [order.key]),
    child: (order) => keeping(order, call(item(order.id), 'get', order, ['nested'])),
    set: (order) => call(item(order.id), 'set', order, [order.key, order.value]),
    delete: (order) => call(item(order.id), 'delete', order, [order.key]),
    clone: (order) => call(item(order.id), 'copy', order, []),
    typeof: ({ id }) => item(id).typeof,
    deref: ({ id, release }) => item(id).deref({ release }),
    apply: (order) => call(item(order.id), 'apply', order, [undefined, [order.n], { result: order.copy ? { copy: true } : {} }]),
    promised: ({ id, how, what }) => item(id)[how](undefined, [promiseOf(what)], { arguments: { promise: true }, result: { promise: true } }),
    applySyncPromise: ({ id, n }) => item(id).applySyncPromise(undefined, [n]),
    call: ({ id, n, mode }) => {
      const result = item(id)(n);
      if (mode !== 'later' && result instanceof Promise) result.catch(() => {});
      return result;
    },

    // Copies.
    open: ({ id, transferIn, release }) => item(id).copy({ transferIn, release }),

    // Contexts and what runs in them.
    eval: (order) => call(item(order.id), 'eval', order, [order.code, { timeout: order.timeout }]),
    run: (order) => call(item(order.id), 'run', order, [item(order.context)]),
    link: (order) => call(item(order.id), 'instantiate', order, [item(order.context), () => undefined]),
    evaluate: ({ id, mode }) => item(id)[mode === 'later' ? 'evaluate' : 'evaluateSync'](),
    imports: ({ id }) => item(id).dependencySpecifiers.length,

    // Isolates.
    isDisposed: ({ id }) => item(id).isDisposed,
    cpuTime: ({ id }) => item(id).cpuTime,
    statistics: (order) => {
      const figures = call(item(order.id), 'getHeapStatistics', order, []);
      return order.mode === 'later' ? figures.then((found) => found.used_heap_size > 0) : figures.used_heap_size > 0;
    },
    dispose: ({ id }) => item(id).dispose(),
    spin: ({ id, code }) => item(id).evalIgnored(code),

    // Passing and releasing.
    give: ({ id }) => item(id),
    take: ({ as }, value) => keep(as, value),
    takeInside: ({ as }, value) => keep(as, value.inside),
    see: (_order, value) => value,
    fetch: (order) => {
      const { mode, from, copied } = order;
      const link = links.get(from);
      if (link === undefined) throw absent();
      const text = JSON.stringify({ depth: 0, path: [], raw: true, op: { do: 'give', id: order.id } });
      const value = call(link.reference, 'apply', { mode }, [undefined, [text], copied ? { result: { copy: true } } : undefined]);
      return keeping(order, value);
    },
    release: ({ id }) => item(id).release(),
    drop: ({ id }) => drop(id),
    collect: () => {
      if (typeof gc === 'function') gc();
    },
    allocate: ({ n }) => Array.from({ length: n * 50 }, (_, index) => ({ index })).length,

    // Orders of the test itself.
    link_to: ({ name }, reference, direct) => void links.set(name, { reference, direct }),
    introduce: ({ to, name }) => links.get(to).reference.applySync(undefined, [
      JSON.stringify({ depth: 0, path: [], op: { do: 'link_to', name } }), new ivm.Reference(run), run,
    ]),
    unlink: ({ name }) => links.delete(name),
    clear: ({ all }) => {
      items.clear();
      if (all) links.clear();
    },
  };

  function perform(op, value, direct) {
    try {
      const result = actions[op.do](op, value, direct);
      return op.mode === 'later' ? result.then(succeeded, failed) : succeeded(result);
    } catch (error) {
      return failed(error);
    }
  }

  function attached(hop) {
    if (hop.item === undefined) return undefined;
    const value = item(hop.item);
    switch (hop.way) {
      case 'derefInto':
        return value.derefInto({ release: hop.release });
      case 'copyInto':
        return value.copyInto({ transferIn: hop.transferIn, release: hop.release });
      case 'inside':
        return { inside: value };
      default:
        return value;
    }
  }

  function step({ depth, path: [hop, ...path], op }, value) {
    const refused = (error) => `^${depth} ${describe(error)}`;
    try {
      const link = links.get(hop.to);
      if (link === undefined) throw absent();
      const text = JSON.stringify({ depth: depth + 1, delayed: hop.delayed, path, op });
      const args = [text, attached(hop) ?? value];
      const options = { ...(hop.promise ? PROMISE : {}), ...(hop.way === 'inside' ? { arguments: { copy: true } } : {}) };
      switch (hop.how) {
        case 'sync': {
          const result = link.reference.applySync(undefined, args, options);
          return hop.promise ? result.then((outcome) => outcome, refused) : result;
        }
        case 'direct':
          return link.direct(...args);
        case 'async':
          return link.reference.apply(undefined, args, options).then((outcome) => outcome, refused);
        case 'wait':
          return link.reference.applySyncPromise(undefined, args);
        default:
          link.reference.applyIgnored(undefined, args, options);
          return '= undefined';
      }
    } catch (error) {
      return refused(error);
    }
  }

  function run(text, value, direct) {
    const order = JSON.parse(text);
    if (order.raw) return actions[order.op.do](order.op);
    const proceed = () => (order.path.length > 0 ? step(order, value) : perform(order.op, value, direct));
    return order.delayed ? later(proceed) : proceed();
  }

  return { run, items };
}
