'use strict';
// Reads a JSON Schema of a host into a form that can be evaluated. Keywords that assert something and are not supported are refused, since
// without them values would pass that the schema does not permit.

const { invalid } = require('../../../core/error.js');
const { now } = require('../../clock.js');
const { costOf, MAX_TOTAL_COST } = require('../../wire/regexp-cost.js');
const { REGEXP_FLAG } = require('../../wire/tags.js');
const { bare, own } = require('../common/options.js');
const { Pattern } = require('./patterns.js');

/** Keywords that assert something and are not supported. */
const UNSUPPORTED = Object.freeze([
  '$dynamicRef', '$recursiveRef', 'unevaluatedItems', 'unevaluatedProperties', 'extends', 'disallow', 'divisibleBy',
]);
const TYPES = Object.freeze(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);
/** `costOf` counts tenths of a millisecond. */
const COST_PER_MILLISECOND = 10;
/** Most schemas inside each other. */
const MAX_DEPTH = 200;
/** Flags with which a pattern may be valid, and their bits. Some are valid only without the flag. */
const FLAGS = Object.freeze(/** @type {const} */ ([['u', REGEXP_FLAG.u], ['', 0]]));

/**
 * One schema. Absent members assert nothing.
 * @typedef {object} Node
 * @property {boolean} [isFalse] nothing is valid
 * @property {ReadonlySet<string>} [types]
 * @property {readonly (readonly unknown[])[]} [values] the value must equal one of each list
 * @property {Numbers} [numbers]
 * @property {Strings} [strings]
 * @property {Arrays} [arrays]
 * @property {Objects} [objects]
 * @property {readonly Node[]} [allOf] with `$ref`
 * @property {readonly Node[]} [anyOf]
 * @property {readonly Node[]} [oneOf]
 * @property {Node} [not]
 * @property {{ condition: Node, yes?: Node, no?: Node }} [conditional]
 */

/**
 * @typedef {{ multipleOf?: number, minimum?: number, maximum?: number, exclusiveMinimum?: number, exclusiveMaximum?: number }} Numbers
 * @typedef {{ minLength?: number, maxLength?: number, pattern?: import('./patterns.js').SchemaPattern }} Strings
 *
 * @typedef {object} Arrays
 * @property {number} [minItems]
 * @property {number} [maxItems]
 * @property {boolean} [isUnique]
 * @property {readonly Node[]} [prefix] schemas of the first items
 * @property {Node} [rest] schema of the others
 * @property {{ node: Node, least: number, most: number }} [contains]
 *
 * @typedef {object} Objects
 * @property {number} [minProperties]
 * @property {number} [maxProperties]
 * @property {readonly string[]} [required]
 * @property {ReadonlyMap<string, Node>} [properties]
 * @property {readonly { pattern: import('./patterns.js').SchemaPattern, node: Node }[]} [patterns]
 * @property {Node} [additional]
 * @property {Node} [names]
 * @property {readonly { name: string, required?: readonly string[], node?: Node }[]} [dependent] what the presence of a property demands
 */

/**
 * @template {object} T
 * @param {T} members
 * @returns {T | undefined} undefined if no member is set to anything
 */
const unlessEmpty = (members) => (Object.values(members).some((value) => value !== undefined) ? members : undefined);

/**
 * @template T
 * @param {T[]} list
 * @returns {T[] | undefined}
 */
const unlessNone = (list) => (list.length > 0 ? list : undefined);

/** @param {unknown} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {string} part of a JSON Pointer in a URL's fragment */
function unescaped(part) {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part;
  }
}

class Reader {
  /** What references of the current schema are relative to: the innermost schema with an `$id`. @type {unknown} */
  #base;
  #what;
  /** @type {Map<object, Node>} */
  #nodes = new Map();
  #depth = 0;
  /** What it costs to create the patterns so far: servers of tools choose their schemas. */
  #cost = 0;

  /**
   * @param {unknown} root
   * @param {string} what the schema is, for errors
   */
  constructor(root, what) {
    this.#base = root;
    this.#what = what;
  }

  /** @returns {Node} */
  read() {
    return this.#node(this.#base, '');
  }

  /**
   * @param {string} at a JSON Pointer
   * @param {string} problem
   */
  #wrong(at, problem) {
    return invalid(`${this.#what} is not supported: \`#${at}\` ${problem}`);
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {Node}
   */
  #node(schema, at) {
    if (typeof schema === 'boolean') {
      return bare(schema ? {} : { isFalse: true });
    }
    if (!isObject(schema)) {
      throw this.#wrong(at, 'must be an object or a boolean');
    }
    const known = this.#nodes.get(schema);
    if (known !== undefined) {
      return known;
    }
    const unsupported = UNSUPPORTED.find((name) => own(schema, name) !== undefined);
    if (unsupported !== undefined) {
      throw this.#wrong(at, `has the keyword \`${unsupported}\``);
    }
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) {
      throw this.#wrong(at, `is nested more than ${MAX_DEPTH} times`);
    }
    /** @type {Node} */
    const node = bare({});
    // Set first: it may refer to itself.
    this.#nodes.set(schema, node);
    const base = this.#base;
    const id = own(schema, '$id');
    this.#base = typeof id === 'string' && !id.startsWith('#') ? schema : base;
    Object.assign(node, {
      types: this.#types(schema, at),
      values: this.#values(schema, at),
      numbers: this.#numbers(schema, at),
      strings: this.#strings(schema, at),
      arrays: this.#arrays(schema, at),
      objects: this.#objects(schema, at),
      allOf: this.#allOf(schema, at),
      anyOf: this.#nodesOf(schema, 'anyOf', at),
      oneOf: this.#nodesOf(schema, 'oneOf', at),
      not: this.#nodeOf(schema, 'not', at),
      conditional: this.#conditional(schema, at),
    });
    this.#base = base;
    this.#depth -= 1;
    return node;
  }

  /**
   * @param {any} schema
   * @param {string} name
   * @param {string} at
   * @returns {Node | undefined}
   */
  #nodeOf(schema, name, at) {
    const value = own(schema, name);
    return value === undefined ? undefined : this.#node(value, `${at}/${name}`);
  }

  /**
   * @param {any} schema
   * @param {string} name
   * @param {string} at
   * @returns {Node[] | undefined}
   */
  #nodesOf(schema, name, at) {
    const value = own(schema, name);
    if (value === undefined) {
      return undefined;
    }
    if (!Array.isArray(value) || value.length === 0) {
      throw this.#wrong(`${at}/${name}`, 'must be an array of schemas');
    }
    return value.map((each, index) => this.#node(each, `${at}/${name}/${index}`));
  }

  /**
   * The entries of a keyword that is an object.
   * @param {any} schema
   * @param {string} name
   * @param {string} at
   * @returns {[string, any][]}
   */
  #entries(schema, name, at) {
    const value = own(schema, name);
    if (value === undefined) {
      return [];
    }
    if (!isObject(value)) {
      throw this.#wrong(`${at}/${name}`, 'must be an object');
    }
    return Object.entries(value);
  }

  /**
   * @param {any} schema
   * @param {string} name
   * @param {string} at
   * @param {number} [least]
   * @returns {number | undefined}
   */
  #number(schema, name, at, least = -Infinity) {
    const value = own(schema, name);
    if (value !== undefined && (typeof value !== 'number' || !(value >= least))) {
      throw this.#wrong(`${at}/${name}`, least === 0 ? 'must be a number of at least 0' : 'must be a number');
    }
    return value;
  }

  /**
   * @param {unknown} value
   * @param {string} at
   * @returns {string[]}
   */
  #names(value, at) {
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) {
      throw this.#wrong(at, 'must be an array of strings');
    }
    return [...value];
  }

  /**
   * @param {unknown} value
   * @param {string} at
   */
  #pattern(value, at) {
    if (typeof value !== 'string') {
      throw this.#wrong(at, 'must be a string');
    }
    for (const [flags, bits] of FLAGS) {
      const cost = costOf(value, bits);
      if (this.#cost + cost > MAX_TOTAL_COST) {
        throw this.#wrong(at, 'makes the patterns take too long to create');
      }
      const start = now();
      try {
        const regexp = new RegExp(value, flags);
        this.#cost += cost;
        return new Pattern(regexp, cost);
      } catch {
        // It may be valid without the flag. Engines stop at the first error, so this attempt counts only the time that it took.
        this.#cost += Math.min(cost, (now() - start) * COST_PER_MILLISECOND);
      }
    }
    throw this.#wrong(at, 'must be a regular expression');
  }

  /**
   * @param {any} schema
   * @param {string} at
   */
  #types(schema, at) {
    const value = own(schema, 'type');
    if (value === undefined) {
      return undefined;
    }
    const types = Array.isArray(value) ? value : [value];
    if (!types.every((type) => TYPES.includes(type))) {
      throw this.#wrong(`${at}/type`, `must be one or some of ${TYPES.join(', ')}`);
    }
    return new Set(types);
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {unknown[][] | undefined}
   */
  #values(schema, at) {
    const values = own(schema, 'enum');
    if (values !== undefined && !Array.isArray(values)) {
      throw this.#wrong(`${at}/enum`, 'must be an array');
    }
    const constant = own(schema, 'const');
    return unlessNone([...(values === undefined ? [] : [values]), ...(constant === undefined ? [] : [[constant]])]);
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {Numbers | undefined}
   */
  #numbers(schema, at) {
    const multipleOf = this.#number(schema, 'multipleOf', at, 0);
    if (multipleOf === 0) {
      throw this.#wrong(`${at}/multipleOf`, 'must be more than 0');
    }
    return unlessEmpty({
      multipleOf,
      minimum: this.#number(schema, 'minimum', at),
      maximum: this.#number(schema, 'maximum', at),
      exclusiveMinimum: this.#number(schema, 'exclusiveMinimum', at),
      exclusiveMaximum: this.#number(schema, 'exclusiveMaximum', at),
    });
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {Strings | undefined}
   */
  #strings(schema, at) {
    const pattern = own(schema, 'pattern');
    return unlessEmpty({
      minLength: this.#number(schema, 'minLength', at, 0),
      maxLength: this.#number(schema, 'maxLength', at, 0),
      pattern: pattern === undefined ? undefined : this.#pattern(pattern, `${at}/pattern`),
    });
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {Arrays | undefined}
   */
  #arrays(schema, at) {
    // Before 2020-12, a list in `items` was what `prefixItems` is now, and `additionalItems` what `items` is.
    const items = own(schema, 'items');
    const isList = Array.isArray(items);
    const contained = this.#nodeOf(schema, 'contains', at);
    const least = this.#number(schema, 'minContains', at, 0) ?? 1;
    const most = this.#number(schema, 'maxContains', at, 0) ?? Infinity;
    return unlessEmpty({
      minItems: this.#number(schema, 'minItems', at, 0),
      maxItems: this.#number(schema, 'maxItems', at, 0),
      isUnique: own(schema, 'uniqueItems') === true || undefined,
      prefix: isList && items.length === 0 ? undefined : this.#nodesOf(schema, isList ? 'items' : 'prefixItems', at),
      rest: this.#nodeOf(schema, isList ? 'additionalItems' : 'items', at),
      contains: contained && { node: contained, least, most },
    });
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {Objects | undefined}
   */
  #objects(schema, at) {
    const required = own(schema, 'required');
    const properties = this.#entries(schema, 'properties', at).map(([name, each]) => (
      /** @type {const} */ ([name, this.#node(each, `${at}/properties/${name}`)])));
    const patterns = this.#entries(schema, 'patternProperties', at).map(([pattern, each]) => {
      const place = `${at}/patternProperties/${pattern}`;
      return { pattern: this.#pattern(pattern, place), node: this.#node(each, place) };
    });
    return unlessEmpty({
      minProperties: this.#number(schema, 'minProperties', at, 0),
      maxProperties: this.#number(schema, 'maxProperties', at, 0),
      required: required === undefined ? undefined : this.#names(required, `${at}/required`),
      properties: unlessNone(properties) && new Map(properties),
      patterns: unlessNone(patterns),
      additional: this.#nodeOf(schema, 'additionalProperties', at),
      names: this.#nodeOf(schema, 'propertyNames', at),
      dependent: unlessNone(this.#dependent(schema, at)),
    });
  }

  /**
   * @param {any} schema
   * @param {string} at
   */
  #dependent(schema, at) {
    return ['dependentRequired', 'dependentSchemas', 'dependencies'].flatMap((keyword) =>
      this.#entries(schema, keyword, at).map(([name, each]) => {
        const place = `${at}/${keyword}/${name}`;
        const isList = keyword === 'dependentRequired' || (keyword === 'dependencies' && Array.isArray(each));
        return { name, required: isList ? this.#names(each, place) : undefined, node: isList ? undefined : this.#node(each, place) };
      }));
  }

  /**
   * @param {any} schema
   * @param {string} at
   * @returns {Node[] | undefined}
   */
  #allOf(schema, at) {
    const reference = own(schema, '$ref');
    const all = this.#nodesOf(schema, 'allOf', at);
    return reference === undefined ? all : [this.#node(this.#referred(reference, `${at}/$ref`), `${at}/$ref`), ...all ?? []];
  }

  /**
   * @param {any} schema
   * @param {string} at
   */
  #conditional(schema, at) {
    const condition = this.#nodeOf(schema, 'if', at);
    return condition && { condition, yes: this.#nodeOf(schema, 'then', at), no: this.#nodeOf(schema, 'else', at) };
  }

  /**
   * The schema that `$ref` refers to.
   * @param {unknown} reference
   * @param {string} at
   * @returns {unknown}
   */
  #referred(reference, at) {
    const found = typeof reference === 'string' ? referred(this.#base, reference) : undefined;
    if (found === undefined) {
      throw this.#wrong(at, 'must be `#`, or a JSON Pointer such as `#/$defs/name` to a part of the same schema');
    }
    return found;
  }
}

/**
 * @param {any} root
 * @param {string} reference
 * @returns {unknown} undefined if it refers to nothing in `root`
 */
function referred(root, reference) {
  if (reference === '#' || reference === '') {
    return root;
  }
  if (!reference.startsWith('#/')) {
    return undefined;
  }
  let found = root;
  for (const part of reference.slice(2).split('/').map(unescaped)) {
    found = typeof found === 'object' && found !== null ? own(found, part) : undefined;
  }
  return found;
}

/**
 * @param {unknown} schema
 * @param {string} what the schema is, for errors
 * @returns {Node}
 * @throws {TypeError} if the schema is invalid, or has keywords that are not supported
 */
const readJsonSchema = (schema, what) => new Reader(schema, what).read();

module.exports = { isObject, readJsonSchema, referred };
