// Walks, inside a guest, over everything that is reachable from the values that it was given, and reports what is not the guest's own.

import { join } from 'node:path';
import { root } from '../harness.mjs';

/** Texts that reveal the location of the host. */
export const PLACES = [root, 'file:', 'node:', 'ext:', process.execPath, '/surface/', '__test__', 'index.mjs'].filter((place) => place !== '/' && place !== join('/'));

/**
 * Code whose value is `walk(roots, options)`: the findings, as lines. It must run before anything that tampers with built-ins.
 * - a function belongs to this realm if its prototype chain and the results of its constructor do
 * - an object does if its prototype chain ends in this realm's Object.prototype, or in null
 * - a text must not reveal the location of the host
 * Getters are called, and with `calls` also functions, except those that `spare` names. Their results and errors are walked too.
 */
export const WALKER = `(() => {
  const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { apply, ownKeys } = Reflect;
  const stop = Object.prototype;
  const functions = new Set([Function, async function () {}.constructor, function* () {}.constructor, async function* () {}.constructor]);
  const global = (0, eval)('this');
  const places = ${JSON.stringify(PLACES)};
  return (roots, { calls = false, spare = [], max = 20000, tells = 20 } = {}) => {
    const seen = new Set();
    const queue = [];
    const findings = [];
    const find = (what) => { if (findings.length < tells) findings.push(what); };
    const put = (path, value) => {
      const type = typeof value;
      if (type === 'string') {
        const place = places.find((each) => value.includes(each));
        if (place !== undefined) find(path + ' tells ' + value.slice(Math.max(0, value.indexOf(place) - 20), value.indexOf(place) + 60));
      } else if (type === 'symbol') {
        put(path + '.description', value.description);
      } else if ((type === 'object' && value !== null || type === 'function') && !seen.has(value)) {
        seen.add(value);
        queue.push([path, value]);
      }
    };
    const look = (path, value) => {
      let last = value;
      let steps = 0;
      for (let next = getPrototypeOf(value); next !== null && steps < 100; next = getPrototypeOf(next)) {
        last = next;
        steps += 1;
        put(path + '.__proto__' + steps, next);
      }
      if (steps > 0 && last !== stop) find(path + ' is of another realm');
      if (typeof value === 'function') {
        const { constructor } = value;
        if (steps > 0 && typeof constructor === 'function' && ownKeys(getPrototypeOf(value)).includes('constructor')) {
          if (!functions.has(constructor) && getPrototypeOf(constructor) !== Function.prototype && constructor !== Function) find(path + ' has a constructor of another realm');
        }
        try {
          const made = (constructor === Function ? constructor : Function)('return this')();
          if (made !== global) find(path + ' leads to another global');
        } catch (error) { put(path + ' as a constructor', error); }
        if (calls && !spare.includes(value.name)) {
          try { const given = value(); put(path + '()', given); if (given instanceof Promise) given.catch(() => {}); } catch (error) { put(path + '() thrown', error); }
        }
        for (const poison of ['caller', 'arguments', 'callee']) {
          try { put(path + '.' + poison, value[poison]); } catch (error) { put(path + '.' + poison + ' thrown', error); }
        }
      }
      for (const key of ownKeys(value)) {
        const at = path + '.' + String(key);
        put(at + ' as a key', key);
        let found;
        try { found = getOwnPropertyDescriptor(value, key); } catch (error) { put(at + ' thrown', error); }
        if (found === undefined) continue;
        if ('value' in found) {
          put(at, found.value);
        } else {
          put(at + ' getter', found.get);
          put(at + ' setter', found.set);
          if (found.get !== undefined) {
            try { put(at, apply(found.get, value, [])); } catch (error) { put(at + ' thrown', error); }
          }
        }
      }
      if (value instanceof Map) for (const [key, each] of value) { put(path + ' key', key); put(path + ' value', each); }
      if (value instanceof Set) for (const each of value) put(path + ' element', each);
    };
    for (const [name, value] of Object.entries(roots)) put(name, value);
    let count = 0;
    while (queue.length > 0 && count < max) {
      const [path, value] = queue.shift();
      count += 1;
      try { look(path, value); } catch (error) { put(path + ' as looked at', error); }
    }
    return { findings, count };
  };
})()`;
