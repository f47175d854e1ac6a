'use strict';
// Handles are useless outside their realm. `structuredClone`, `postMessage` and `workerData` would turn a plain object into an empty one. They
// throw a DataCloneError for an object with internal slots that the HTML standard gives no way to clone, such as a registry. So handles on
// hosts are registries that stay empty. `markAsUncloneable` would do the same, but loading `node:worker_threads` takes as long as starting V8.

const { construct } = Reflect;
const { versions } = process;
const Registry = FinalizationRegistry;

/** What a registry needs. It is never called, because nothing is registered. */
const REGISTRY = Object.freeze([() => {}]);
const OLDEST_NODE = 22;

/**
 * Creates an instance that the host refuses to clone, without calling the constructor.
 * @param {Function} Constructor
 * @returns {object}
 */
const uncloneable = (Constructor) => construct(Registry, REGISTRY, Constructor);

/** Node 20 would make a hidden class for each instance. */
const isSupported = Number.parseInt(versions.node, 10) >= OLDEST_NODE;

module.exports = { uncloneable: isSupported ? uncloneable : undefined };
