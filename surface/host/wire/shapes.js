'use strict';
// Engines keep a description (a shape) of each sequence of property names: hundreds of bytes for each object that has a sequence of its
// own. This file remembers which sequences were seen before, so that only new ones are charged.
//
// Both tables have a fixed size. A replaced entry counts as new again, so a guest can only increase what is charged, not reduce it.

const { define } = require('../../core/primordials.js');
const { malformed } = require('./refusal.js');

const { keys: ownEnumerableKeys } = Object;

/** Number of places for names, and the greatest length of a name. A name has two possible places; a new one takes the first. */
const NAMES = 4096;
const MAX_NAME = 127;
/** @type {string[]} */
const names = Array.from({ length: NAMES }, () => '');
/** The number of each name; 0 if the place is empty. */
const numbers = new Int32Array(NAMES);
let lastNumber = 0;

/** Bytes of a character of a name. */
const BYTES_PER_CHARACTER = 2;
/** An object with this many properties may be a table. */
const MIN_TABLE = 16;
/** An object with this many is a table in every host, and has no shape. */
const MAX_SHAPED = 128;

const SHAPES_LOG2 = 13;
/** A shape is a parent shape plus one name. A shape has two possible places, too. */
const parents = new Int32Array(2 ** SHAPES_LOG2).fill(-1);
const additions = new Int32Array(2 ** SHAPES_LOG2);
const shapes = new Int32Array(2 ** SHAPES_LOG2);
/** Whether the names of a shape are known to differ from one another. */
const distinct = new Uint8Array(2 ** SHAPES_LOG2);
/** In the place of a shape's added name, if that is long: equal to no one-byte name, and to no name of fewer than 64 characters. */
const WIDE = '\u0100'.repeat(64);
/** @type {string[]} */
const addedNames = Array.from({ length: 2 ** SHAPES_LOG2 }, () => '');
/** The place of the shape that followed last, by the place of its parent. */
const following = new Int32Array(2 ** SHAPES_LOG2);
/**
 * The shape of an object without names, and the bit that marks shapes of objects with indices. Other shapes combine a number of their own
 * and their place.
 */
const EMPTY = 0;
const INDEXED = 1;
let lastShape = 0;

/**
 * Remembers a name.
 * @param {number} place the first of its places
 * @param {string} name
 * @returns {number} its number, which no other name has had
 */
function learn(place, name) {
  lastNumber = (lastNumber + 1) | 0;
  if (name.length <= MAX_NAME) {
    names[place + 1] = names[place];
    numbers[place + 1] = numbers[place];
    names[place] = name;
    numbers[place] = lastNumber;
  }
  return lastNumber;
}

/**
 * @param {string} name
 * @returns {number} the first of its places
 */
function placeOf(name) {
  const { length } = name;
  return length === 0 ? 0 : ((length * 31 + name.charCodeAt(0) * 7 + name.charCodeAt(length >> 1) * 13 + name.charCodeAt(length - 1)) & (NAMES / 2 - 1)) * 2;
}

/**
 * @param {number} shape
 * @param {number} name the name's number
 * @returns {number} the first of two places
 */
const placeWith = (shape, name) => ((Math.imul(shape, 0x9e3779b1) + Math.imul(name, 0x85ebca6b)) >>> (33 - SHAPES_LOG2)) * 2;

/** @param {number} shape */
const ownPlace = (shape) => (shape >> 1) & (2 ** SHAPES_LOG2 - 1);

/**
 * @param {number} shape
 * @returns {number} the place of the shape that most likely follows; -1 if none has followed
 */
function likelyPlace(shape) {
  const place = following[ownPlace(shape)];
  return parents[place] === shape ? place : -1;
}

/**
 * @param {number} shape
 * @param {number} name the name's number
 * @returns {number} the shape with that name appended, 0 if it is not known
 */
function shapeWith(shape, name) {
  const first = placeWith(shape, name);
  const place = parents[first] === shape && additions[first] === name ? first : first + 1;
  if (parents[place] !== shape || additions[place] !== name) return 0;
  following[ownPlace(shape)] = place;
  return shapes[place];
}

/**
 * Remembers a shape.
 * @param {number} shape
 * @param {number} name the name's number
 * @param {string} text the name itself
 * @returns {number} the shape with that name appended
 */
function newShape(shape, name, text) {
  const place = placeWith(shape, name);
  parents[place + 1] = parents[place];
  additions[place + 1] = additions[place];
  shapes[place + 1] = shapes[place];
  addedNames[place + 1] = addedNames[place];
  distinct[place + 1] = distinct[place];
  parents[place] = shape;
  additions[place] = name;
  distinct[place] = 0;
  addedNames[place] = text.length <= MAX_NAME ? text : WIDE;
  lastShape = (lastShape + 1) % 2 ** (30 - SHAPES_LOG2);
  // Numbers are given out again.
  if (lastShape === 0) distinct.fill(0);
  shapes[place] = ((lastShape + 1) << (SHAPES_LOG2 + 1)) | (place << 1) | (shape & INDEXED);
  following[ownPlace(shape)] = place;
  return shapes[place];
}

/**
 * V8 makes an object a dictionary when so many properties are added to it by assignment. It does not if they are defined, nor if another object
 * with the same properties exists. So the first object of a shape gets the rest of its properties defined, and another object is kept that has
 * the same properties.
 */
const FEW_KEYS = 12;
const MAX_KEPT = 16;
/** Objects without values. @type {Set<object>} */
const kept = new Set();
/** Their shapes, and those with fewer names. @type {Set<number>} */
const keptShapes = new Set();

/**
 * An object with this many properties most likely becomes a table if the next name is a new one, or if an object that began with the same names
 * became one.
 */
const MANY_KEYS = 32;
/** In place of the shape of an object that is a table, with INDEXED if it has indices. */
const TABLE = -2;
const MAX_TABLES = 1024;
/** Shapes of MANY_KEYS names. @type {Set<number>} */
const tables = new Set();

/**
 * Whether assigning properties may make an object of this shape a dictionary.
 * @param {number} shape of more than FEW_KEYS names
 */
const isNew = (shape) => !(shape & INDEXED) && !keptShapes.has(shape);

/**
 * Keeps a shape.
 * @param {number} shape
 * @param {string[]} keys
 */
function keep(shape, keys) {
  const object = {};
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    if (key.length > MAX_NAME) return;
    define(object, key, undefined, true, true);
  }
  if (kept.size === MAX_KEPT) {
    kept.clear();
    keptShapes.clear();
  }
  kept.add(object);
  let each = shape;
  for (let count = keys.length; count > FEW_KEYS; count--) {
    keptShapes.add(each);
    each = parents[placeIn(each)];
  }
}

/**
 * Remembers that an object of this shape became a table.
 * @param {number} shape of MANY_KEYS names
 */
function noteTable(shape) {
  if (tables.size === MAX_TABLES) tables.clear();
  tables.add(shape);
}

/** @param {number} shape */
const hasShape = (shape) => (shape & ~INDEXED) !== TABLE;

const firstKey = Symbol('first');
const secondKey = Symbol('second');

/** JavaScriptCore adds properties to a table more slowly than to any other object. */
const canMakeTables = process.versions.bun === undefined;

/**
 * Makes an object a table. V8 takes several times as long to add properties to an object that becomes one only because of them.
 * @param {any} object
 */
function makeTable(object) {
  if (!canMakeTables) return;
  object[firstKey] = undefined;
  object[secondKey] = undefined;
  // V8 only takes back a property that was added last. After any other is deleted, the object is a table.
  delete object[firstKey];
  delete object[secondKey];
}

/** @param {number} shape of MANY_KEYS names */
const isTable = (shape) => tables.has(shape);

/**
 * @param {number} shape
 * @returns {number} its place; any place if it is not known any more
 */
function placeIn(shape) {
  const first = ownPlace(shape) & ~1;
  return shapes[first] === shape ? first : first + 1;
}

/**
 * Whether the names of a shape are known to differ from one another.
 * @param {number} shape
 */
function isDistinct(shape) {
  const place = placeIn(shape);
  return distinct[place] === 1 && shapes[place] === shape;
}

/**
 * Remembers that the names of a shape differ from one another.
 * @param {number} shape
 */
function noteDistinct(shape) {
  const place = placeIn(shape);
  if (!(shape & INDEXED) && shapes[place] === shape) distinct[place] = 1;
}

/**
 * Throws if a name occurs twice.
 * @param {object} object
 * @param {number} count of the properties that it got, at most MAX_SHAPED
 * @param {number} shape
 */
function checkCount(object, count, shape) {
  if (isDistinct(shape)) return;
  if (ownEnumerableKeys(object).length !== count) throw malformed('a property twice');
  noteDistinct(shape);
}

module.exports = {
  addedNames, BYTES_PER_CHARACTER, checkCount, EMPTY, FEW_KEYS, hasShape, INDEXED, isNew, isTable, keep, learn, likelyPlace, makeTable, MANY_KEYS, MAX_SHAPED, MIN_TABLE, NAMES, names, newShape, noteTable, numbers, placeOf, shapes,
  shapeWith, TABLE,
};
