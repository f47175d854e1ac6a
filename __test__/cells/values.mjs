// The values of the matrix: how each is made, and what arrives where. Every station evaluates this file for itself.

/* oxlint-disable no-sparse-arrays, unicorn/no-thenable -- such values travel, too */

const NOT_AN_ERROR = 'An object was thrown from supplied code within isolated-vm, but that object was not an instance of `Error`.';

/**
 * @typedef {object} Spec
 * @property {'primitive' | 'object' | 'function' | 'handle'} kind how it is transferred without an option
 * @property {() => any} make
 * @property {() => any} arrives the value that a copy is
 * @property {string} [refused] why there is no copy
 * @property {() => any} thrown the value that arrives if it is thrown
 */

/** @returns {Spec} */
export const primitive = (value) => ({ kind: 'primitive', make: () => value, arrives: () => value, thrown: () => value });
/** @returns {Spec} */
const object = (make, arrives = make, thrown = () => new Error(NOT_AN_ERROR)) => ({ kind: 'object', make, arrives, thrown });
/** @returns {Spec} */
const error = (make, arrives = make, thrown = arrives) => object(make, arrives, thrown);
/** @returns {Spec} */
const refused = (kind, make, message, thrown) => ({ ...object(make, make, thrown), kind, refused: message });

const assign = (target, ...sources) => Object.assign(target, ...sources);

/** @returns {Record<string, Spec>} */
export const valuesOf = (ivm) => ({
  'undefined': primitive(undefined),
  'null': primitive(null),
  'true': primitive(true),
  'zero': primitive(0),
  'minus zero': primitive(-0),
  'NaN': primitive(Number.NaN),
  'a fraction': primitive(1.5),
  'a large number': primitive(2 ** 53),
  'text': primitive('text'),
  'no text': primitive(''),
  'latin text': primitive('ÿ'),
  'wide text': primitive('ж😀'),
  'half a character': primitive('a\ud800'),
  'long text': primitive('long '.repeat(500)),
  'a BigInt': primitive(-5n),
  'a long BigInt': primitive(2n ** 200n),

  'an empty list': object(() => []),
  'a list of a number': object(() => [8]),
  'a list of numbers': object(() => [1, -0, Number.NaN, 2 ** 31, -1, 0.5]),
  'a list like a carrier': object(() => [3, 'text', null]),
  'integers of every size': object(() => [0, -1, 63, 64, 2 ** 27, 2 ** 28 - 1]),
  'the largest integers': object(() => [2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32]),
  'eight elements': object(() => Array.from({ length: 8 }, (_, index) => index)),
  'nine elements': object(() => Array.from({ length: 9 }, (_, index) => `${index}`)),
  '32 elements': object(() => Array.from({ length: 32 }, (_, index) => index)),
  '33 elements': object(() => Array.from({ length: 33 }, (_, index) => index)),
  'text of 127 characters': object(() => ['x'.repeat(127)]),
  'text of 128 characters': object(() => ['x'.repeat(128)]),
  'a list that was longer': object(() => {
    const list = [1, 2, 3, 4];
    list.length = 2;
    return list;
  }),
  'a list with doubles and holes': object(() => [1.5, , Number.NaN]),
  'a frozen list': object(() => Object.freeze(['a', 1]), () => ['a', 1]),
  'a list of a class': object(() => new (class List extends Array {})('a', 'b'), () => ['a', 'b']),
  'a list of texts': object(() => ['a', 'ÿ', 'ж', '\ud800', '']),
  'a list of primitives': object(() => [undefined, null, true, 5n, 'a', 1]),
  'lists in lists': object(() => [[1], [2, [3, ['a']]], []]),
  'objects in a list': object(() => [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }]),
  'a list with a hole': object(() => [1, , 3]),
  'a list of holes': object(() => [, , ]),
  'a list with a name': object(() => assign([1], { name: 'list' })),
  'a long list': object(() => Array.from({ length: 600 }, (_, index) => index)),
  'many objects': object(() => Array.from({ length: 40 }, (_, id) => ({ id, name: `name ${id}`, more: { list: [id, -id], flag: id % 2 === 0 } }))),

  'an empty object': object(() => ({})),
  'a small object': object(() => ({ id: 1, name: 'a' })),
  'the same names with other values': object(() => ({ id: 'one', name: { first: [1] } })),
  'the same names again': object(() => ({ id: 2, name: 'b' })),
  'the same names with numbers': object(() => ({ id: -0, name: 2 ** 31 })),
  'the same names with constants': object(() => ({ id: null, name: undefined })),
  'the same names with wide text': object(() => ({ id: true, name: 'ж\ud800' })),
  'the same names with a BigInt': object(() => ({ id: 5n, name: false })),
  'the same names with a date': object(() => ({ id: new Date(1), name: 'ÿ' })),
  'the same names in each other': object(() => ({ id: { id: { id: 1, name: 'a' }, name: 'b' }, name: { id: 2, name: [{ id: 3, name: 'c' }] } })),
  'one of the names': object(() => ({ id: 1 })),
  'the same names in another order': object(() => ({ name: 'a', id: 1 })),
  'some more names': object(() => ({ id: 1, name: 'a', more: -0 })),
  'objects in an object': object(() => ({ a: { b: { c: Number.NaN } }, d: [1, { e: 'ж' }] })),
  'keys like indices': object(() => ({ 'z': 1, '10': 2, '9': 3, '01': 4, '-1': 5, '1.5': 6, '4294967294': 7, '4294967295': 8, '-0': 9 })),
  'a key that begins with a digit': object(() => ({ '1a': 1, 'a1': 2 })),
  'only keys like indices': object(() => ({ 0: 8, 1: 'text' })),
  '16 keys': object(() => Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${index}`, index]))),
  '17 keys': object(() => Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, index]))),
  'keys of 256 characters': object(() => ({ ['a'.repeat(127)]: 1, ['b'.repeat(127)]: 2, c: 3 })),
  'objects four deep': object(() => ({ a: { a: { a: { a: 1 } } } })),
  'objects five deep': object(() => ({ a: { a: { a: { a: { a: 1 } } } } })),
  'an object that has lost a key': object(() => {
    const value = { id: 1, lost: 2, name: 'a' };
    delete value.lost;
    return value;
  }),
  'keys like members': object(() => ({ constructor: 1, toString: 2, length: 3, then: 4, hasOwnProperty: 5, valueOf: 6 })),
  'a key named __proto__': object(() => JSON.parse('{"a":1,"__proto__":{"b":2}}')),
  'keys of every width': object(() => ({ '': 0, 'ÿ': 1, 'ж': 2, '\ud800': 3, '😀': 4 })),
  'undefined values': object(() => ({ a: undefined, b: null, c: undefined })),
  'a long key': object(() => ({ ['key '.repeat(100)]: 1 })),
  'many keys': object(() => Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`key${index}`, index]))),

  'a shared object': object(() => {
    const one = { x: 1 };
    return { first: one, second: one, list: [one] };
  }),
  'a circle': object(() => {
    const self = { name: 'self' };
    return assign(self, { self });
  }),
  'a circle of lists': object(() => {
    const list = [1];
    list.push([list, list]);
    return list;
  }),

  'a date': object(() => new Date(5)),
  'dates': object(() => ({ at: new Date(Number.NaN), again: [new Date(8.64e15)] })),
  'a map': object(() => new Map([[1, { a: -0 }], ['two', new Map([[{}, []]])], [Number.NaN, undefined]])),
  'a set': object(() => new Set([1, 'two', { three: 3 }, [4], undefined])),
  'a regular expression': object(() => assign(/[/]\n/gi, { lastIndex: 3 }), () => /[/]\n/gi),
  'boxed primitives': object(() => [new Object(1), new Object('text'), new Object(true), new Object(5n)]),
  'a buffer': object(() => new Uint8Array([1, 2, 3]).buffer),
  'bytes': object(() => new Uint8Array([1, 2, 255])),
  'numbers': object(() => ({ doubles: new Float64Array([1.5, -0, Number.NaN]), big: new BigInt64Array([-1n]) })),
  'views of one buffer': object(() => {
    const buffer = new ArrayBuffer(8);
    return [new Uint8Array(buffer), new DataView(buffer, 4), new Uint16Array(buffer, 2, 1), buffer];
  }),

  'an error': error(() => new Error('message')),
  'a TypeError': error(() => new TypeError('ж\ud800')),
  'an error with a code': error(() => assign(new RangeError('m'), { code: 'E_CODE', extra: 1 }), () => new RangeError('m'), () => assign(new RangeError('m'), { code: 'E_CODE', extra: 1 })),
  'an error with a cause': error(() => new SyntaxError('m', { cause: 'why' })),
  'an error of a class': error(() => new (class Custom extends ReferenceError {})('m'), () => new ReferenceError('m'), () => assign(new Error('m'), { name: 'ReferenceError' })),
  'errors in an object': object(() => ({ error: new EvalError('m'), list: [new URIError('n')] })),

  'an instance': object(() => new (class A { a = 1; get b() { return 2; } })(), () => ({ a: 1 })),
  'a getter': object(() => ({ get a() { return 1; }, b: 2 }), () => ({ a: 1, b: 2 })),
  'a symbol as key': object(() => ({ a: 1, [Symbol('s')]: 2 }), () => ({ a: 1 })),
  'hidden properties': object(() => Object.defineProperty({ a: 1 }, 'b', { value: 2 }), () => ({ a: 1 })),
  'without a prototype': object(() => assign(Object.create(null), { a: 1 }), () => ({ a: 1 })),
  'a frozen object': object(() => Object.freeze({ a: 1, list: Object.freeze([1]) }), () => ({ a: 1, list: [1] })),

  'a function': refused('function', () => function named(_a, _b) {}, 'function named(_a, _b) {} could not be cloned.'),
  'a symbol': refused('object', () => Symbol('s'), 'Unsupported type'),
  'a promise': refused('object', () => Promise.resolve(1), '#<Promise> could not be cloned.'),
  'a function in an object': refused('object', () => ({ a: 1, f: () => 1 }), '() => 1 could not be cloned.'),
  'a symbol in a list': refused('object', () => [1, Symbol('s')], 'Symbol(s) could not be cloned.'),
  'a weak map': refused('object', () => ({ map: new WeakMap() }), '#<WeakMap> could not be cloned.'),

  'a Reference': { ...object(() => new ivm.Reference({ a: 1 })), kind: 'handle' },
  'an ExternalCopy': { ...object(() => new ivm.ExternalCopy({ list: [1, -0] })), kind: 'handle' },
  'handles in an object': object(() => ({ reference: new ivm.Reference(() => 1), list: [new ivm.ExternalCopy([1])] })),
});
