'use strict';
// Validates a guest's data by a JSON Schema. The guest chooses the data, so the work is done in slices, and ends with the call that it is for.
// No schema evaluates a value twice: alternatives inside alternatives would otherwise take exponential time. Where several schemas look at a
// value, what they find is kept only until that value is done.

const { Work } = require('../../work.js');
const { inOrder } = require('./in-order.js');
const { isObject } = require('./json-schema.js');
const { accessOf, listOf, pathOf, withArticle } = require('./issues.js');
const { equals, hasCharacters, Identities, isMultiple, Keys, MAX_KNOWN, tooDeep, tooLarge, typeOf } = require('./json-values.js');

/** @typedef {import('./json-schema.js').Node} Node */
/** @typedef {(() => Promise<boolean>) | undefined} Wanted what a judgement waits for; undefined for a turn of the event loop */
/** @typedef {Generator<Wanted, boolean, any>} Judging */

/** @typedef {import('./issues.js').Place} Place */

/**
 * When a validation ends early.
 * @typedef {object} Ending
 * @property {number} until the deadline, as a value of `now()` in clock.js
 * @property {() => Error | undefined} stopped returns an error when the call is over
 * @property {(pattern: import('./patterns.js').SchemaPattern, text: string) => Promise<boolean>} match elsewhere, since it may take long
 */

/** Steps that need no look at the clock. */
const MAX_FREE_STEPS = 500;
/** Characters of a text that count as one step. */
const CHARACTERS_PER_STEP = 64;
/** Most schemas inside each other that are evaluated. A schema that refers to itself can be as deep as the data. */
const MAX_DEPTH = 400;
/** Issues that are reported. */
const MAX_ISSUES = 10;

/**
 * Whether a value, or a part of it, is looked at by several of a schema's parts.
 * @param {Node} node
 */
function isFork({ arrays, objects, allOf = [], anyOf = [], oneOf = [], not, conditional }) {
  const own = arrays === undefined && objects === undefined ? 0 : 1;
  const others = allOf.length + anyOf.length + oneOf.length + (not === undefined ? 0 : 1) + (conditional === undefined ? 0 : 2);
  return own + others > 1 || arrays?.contains !== undefined || objects?.patterns !== undefined || objects?.dependent !== undefined;
}

/** One validation. The generators yield when the event loop should get a turn. */
class Validation {
  /** @type {string[]} */
  issues = [];
  #ending;
  #steps = 0;
  /** @type {import('../../work.js').WorkBudget | undefined} */
  #work;
  /** How many evaluations are under way of which only the result matters, not the issues. */
  #quiet = 0;
  /** Whether several schemas look at a value around the current one. */
  #isForked = false;
  /** What was evaluated outside of values at which several schemas look: each part of a value by few schemas. @type {Map<Node, Map<object, boolean>>[]} */
  #outer = [new Map(), new Map()];
  /** What was evaluated inside the outermost value at which several schemas look, with and without issues. @type {Map<Node, Map<object, boolean>>[]} */
  #known = [new Map(), new Map()];
  #knownCount = 0;
  /** @type {InstanceType<typeof Identities> | undefined} */
  #identities;
  #keys = new Keys();

  /** @param {Ending} ending */
  constructor(ending) {
    this.#ending = ending;
  }

  /**
   * @param {Node} node
   * @param {unknown} value
   * @returns {boolean | Promise<boolean>}
   */
  run(node, value) {
    const evaluation = this.#evaluate(node, value, undefined, 0);
    const { done, value: isValid } = evaluation.next();
    return done === true ? isValid : inOrder(this.#ending, (hasWaited) => this.#continue(evaluation, isValid, hasWaited));
  }

  /**
   * @param {Judging} evaluation
   * @param {Wanted} wanted
   * @param {boolean} hasWaited for others: then the call may have ended, as may thousands of others, and each of them gets a turn
   */
  async #continue(evaluation, wanted, hasWaited) {
    if (hasWaited) {
      this.#work ??= new Work(this.#ending);
      await this.#work.turn();
    }
    for (;;) {
      const found = await (wanted === undefined ? this.#work?.turn() : wanted());
      const { done, value } = evaluation.next(found);
      if (done === true) {
        return value;
      }
      wanted = value;
    }
  }

  /**
   * Counts steps.
   * @param {number} [steps]
   * @returns {boolean} whether the event loop should get a turn
   */
  isDue(steps = 1) {
    this.#steps += steps;
    if (this.#steps <= MAX_FREE_STEPS) {
      return false;
    }
    this.#work ??= new Work(this.#ending);
    this.#work.spend(steps);
    return this.#work.isSliceOver;
  }

  /**
   * @param {Place | undefined} at
   * @param {string} problem
   */
  #fail(at, problem) {
    if (this.#quiet === 0 && this.issues.length < MAX_ISSUES) {
      this.issues.push(`params${pathOf(at)} ${problem}`);
    }
    return false;
  }

  /**
   * Whether a value is valid, without issues.
   * @param {Node} node
   * @param {unknown} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#fits(node, value, at, depth) {
    this.#quiet += 1;
    try {
      return yield* this.#evaluate(node, value, at, depth);
    } finally {
      this.#quiet -= 1;
    }
  }

  /**
   * @param {Node} node
   * @param {unknown} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#evaluate(node, value, at, depth) {
    if (this.isDue(typeof value === 'string' ? 1 + value.length / CHARACTERS_PER_STEP : 1)) {
      yield;
    }
    if (depth > MAX_DEPTH) {
      throw tooDeep();
    }
    if (typeof value !== 'object' || value === null) {
      return yield* this.#judge(node, value, at, depth + 1);
    }
    const isOuter = !this.#isForked;
    const known = (isOuter ? this.#outer : this.#known)[this.#quiet > 0 ? 1 : 0];
    const results = known.get(node) ?? new Map();
    known.set(node, results);
    const found = results.get(value);
    if (found !== undefined) {
      return found;
    }
    if (!isOuter) {
      this.#knownCount += 1;
      if (this.#knownCount > MAX_KNOWN) {
        throw tooLarge();
      }
    }
    // A schema that refers to itself adds nothing.
    results.set(value, true);
    const isValid = isOuter && isFork(node) ? yield* this.#judgeFork(node, value, at, depth + 1) : yield* this.#judge(node, value, at, depth + 1);
    results.set(value, isValid);
    return isValid;
  }

  /**
   * Judges the outermost value that several schemas look at. What they find is not needed afterwards.
   * @param {Node} node
   * @param {object} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#judgeFork(node, value, at, depth) {
    this.#isForked = true;
    const isValid = yield* this.#judge(node, value, at, depth);
    this.#isForked = false;
    if (this.#knownCount > 0) {
      this.#knownCount = 0;
      this.#known.forEach((results) => results.clear());
    }
    return isValid;
  }

  /**
   * @param {Node} node
   * @param {any} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#judge(node, value, at, depth) {
    if (node.isFalse) {
      return this.#fail(at, 'is not permitted');
    }
    if (!this.#hasType(node, value, at) || !this.#hasValue(node, value, at)) {
      return false;
    }
    let isValid = true;
    if (typeof value === 'number' && node.numbers !== undefined) {
      isValid = this.#judgeNumber(node.numbers, value, at);
    } else if (typeof value === 'string' && node.strings !== undefined) {
      isValid = yield* this.#judgeString(node.strings, value, at);
    } else if (Array.isArray(value) && node.arrays !== undefined) {
      isValid = yield* this.#judgeArray(node.arrays, value, at, depth);
    } else if (isObject(value) && node.objects !== undefined) {
      isValid = yield* this.#judgeObject(node.objects, value, at, depth);
    }
    return (yield* this.#combine(node, value, at, depth)) && isValid;
  }

  /**
   * @param {Node} node
   * @param {unknown} value
   * @param {Place | undefined} at
   */
  #hasType({ types }, value, at) {
    const type = typeOf(value);
    if (types === undefined || types.has(type) || (types.has('integer') && Number.isInteger(value))) {
      return true;
    }
    return this.#fail(at, `must be ${[...types].map(withArticle).join(' or ')}`);
  }

  /**
   * @param {Node} node
   * @param {unknown} value
   * @param {Place | undefined} at
   */
  #hasValue({ values = [] }, value, at) {
    const missed = values.find((list) => {
      this.isDue(list.length);
      return !list.some((each) => equals(value, each, this.#keys));
    });
    if (missed === undefined) {
      return true;
    }
    return this.#fail(at, `must be ${listOf(missed)}`);
  }

  /**
   * @param {import('./json-schema.js').Numbers} numbers
   * @param {number} value
   * @param {Place | undefined} at
   */
  #judgeNumber({ multipleOf, minimum, maximum, exclusiveMinimum, exclusiveMaximum }, value, at) {
    if (minimum !== undefined && value < minimum) {
      return this.#fail(at, `must be at least ${minimum}`);
    }
    if (maximum !== undefined && value > maximum) {
      return this.#fail(at, `must be at most ${maximum}`);
    }
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
      return this.#fail(at, `must be more than ${exclusiveMinimum}`);
    }
    if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) {
      return this.#fail(at, `must be less than ${exclusiveMaximum}`);
    }
    return multipleOf === undefined || isMultiple(value, multipleOf) || this.#fail(at, `must be a multiple of ${multipleOf}`);
  }

  /**
   * @param {import('./json-schema.js').Strings} strings
   * @param {string} value
   * @param {Place | undefined} at
   * @returns {Judging}
   */
  *#judgeString({ minLength = 0, maxLength = Infinity, pattern }, value, at) {
    if (!hasCharacters(value, minLength)) {
      return this.#fail(at, `must have at least ${minLength} characters`);
    }
    if (maxLength < Infinity && hasCharacters(value, maxLength + 1)) {
      return this.#fail(at, `must have at most ${maxLength} characters`);
    }
    return pattern === undefined || (yield* this.#matches(pattern, value)) || this.#fail(at, `must match ${pattern}`);
  }

  /**
   * @param {import('./patterns.js').SchemaPattern} pattern
   * @param {string} text
   * @returns {Judging}
   */
  *#matches(pattern, text) {
    const steps = pattern.stepsFor(text);
    if (steps === undefined) {
      return yield () => this.#ending.match(pattern, text);
    }
    if (this.isDue(1 + steps / CHARACTERS_PER_STEP)) {
      yield;
    }
    return pattern.test(text);
  }

  /**
   * @param {import('./json-schema.js').Arrays} arrays
   * @param {unknown[]} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#judgeArray({ minItems = 0, maxItems = Infinity, isUnique = false, prefix = [], rest, contains }, value, at, depth) {
    const { length } = value;
    if (length < minItems) {
      return this.#fail(at, `must have at least ${minItems} items`);
    }
    if (length > maxItems) {
      return this.#fail(at, `must have at most ${maxItems} items`);
    }
    if (isUnique && !(yield* this.#isUnique(value))) {
      return this.#fail(at, 'must not have equal items');
    }
    const judged = rest === undefined ? Math.min(length, prefix.length) : length;
    let isValid = true;
    for (let index = 0; index < judged && this.#goesOn(isValid); index += 1) {
      const node = /** @type {Node} */ (index < prefix.length ? prefix[index] : rest);
      isValid = (yield* this.#evaluate(node, value[index], { above: at, key: index }, depth)) && isValid;
    }
    if (contains === undefined) {
      return isValid;
    }
    const { node, least, most } = contains;
    let count = 0;
    for (let index = 0; index < length && count <= most; index += 1) {
      count += (yield* this.#fits(node, value[index], at, depth)) ? 1 : 0;
    }
    const isWithin = count >= least && count <= most;
    return (isWithin || this.#fail(at, `must contain ${count < least ? `at least ${least}` : `at most ${most}`} items of a certain kind`)) && isValid;
  }

  /**
   * Whether to look for more issues.
   * @param {boolean} isValid so far
   */
  #goesOn(isValid) {
    return isValid || (this.#quiet === 0 && this.issues.length < MAX_ISSUES);
  }

  /**
   * @param {unknown[]} items
   * @returns {Judging}
   */
  *#isUnique(items) {
    this.#identities ??= new Identities(this, this.#keys, MAX_DEPTH);
    const found = new Set();
    for (const item of items) {
      const identity = yield* this.#identities.of(item, 0);
      if (found.has(identity)) {
        return false;
      }
      found.add(identity);
    }
    return true;
  }

  /**
   * @param {import('./json-schema.js').Objects} objects
   * @param {Record<string, unknown>} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#judgeObject(objects, value, at, depth) {
    const { minProperties = 0, maxProperties = Infinity, required = [], dependent = [] } = objects;
    const keys = this.#keys.of(value);
    if (keys.length < minProperties) {
      return this.#fail(at, `must have at least ${minProperties} properties`);
    }
    if (keys.length > maxProperties) {
      return this.#fail(at, `must have at most ${maxProperties} properties`);
    }
    let isValid = true;
    this.isDue(required.length + dependent.length);
    for (const name of required) {
      isValid = (Object.hasOwn(value, name) || this.#fail({ above: at, key: name }, 'is required')) && isValid;
    }
    for (const { name, required: others = [], node } of dependent) {
      if (Object.hasOwn(value, name)) {
        this.isDue(others.length);
        for (const other of others) {
          isValid = (Object.hasOwn(value, other) || this.#fail({ above: at, key: other }, `is required with ${accessOf(name)}`)) && isValid;
        }
        isValid = (node === undefined || (yield* this.#evaluate(node, value, at, depth))) && isValid;
      }
    }
    for (let index = 0; index < keys.length && this.#goesOn(isValid); index += 1) {
      const key = String(keys[index]);
      isValid = (yield* this.#judgeProperty(objects, key, value[key], { above: at, key }, depth)) && isValid;
    }
    return isValid;
  }

  /**
   * @param {import('./json-schema.js').Objects} objects
   * @param {string} key
   * @param {unknown} value
   * @param {Place} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#judgeProperty({ properties, patterns = [], additional, names }, key, value, at, depth) {
    if (this.isDue()) {
      yield;
    }
    if (names !== undefined && !(yield* this.#fits(names, key, at, depth))) {
      return this.#fail(at, 'does not have a permitted name');
    }
    const own = properties?.get(key);
    let isKnown = own !== undefined;
    let isValid = own === undefined || (yield* this.#evaluate(own, value, at, depth));
    for (const { pattern, node } of patterns) {
      if (yield* this.#matches(pattern, key)) {
        isKnown = true;
        isValid = (yield* this.#evaluate(node, value, at, depth)) && isValid;
      }
    }
    return (isKnown || additional === undefined || (yield* this.#evaluate(additional, value, at, depth))) && isValid;
  }

  /**
   * @param {Node} node
   * @param {unknown} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @returns {Judging}
   */
  *#combine({ allOf = [], anyOf, oneOf, not, conditional }, value, at, depth) {
    let isValid = true;
    for (const each of allOf) {
      isValid = (yield* this.#evaluate(each, value, at, depth)) && isValid;
    }
    if (anyOf !== undefined && (yield* this.#fitting(anyOf, value, at, depth, 1)) === 0) {
      isValid = this.#fail(at, `matches none of ${anyOf.length} permitted forms`);
    }
    if (oneOf !== undefined) {
      const count = yield* this.#fitting(oneOf, value, at, depth, 2);
      isValid = (count === 1 || this.#fail(at, `matches ${count === 0 ? 'none' : 'more than one'} of ${oneOf.length} permitted forms`)) && isValid;
    }
    if (not !== undefined && (yield* this.#fits(not, value, at, depth))) {
      isValid = this.#fail(at, 'matches a form that is not permitted');
    }
    if (conditional !== undefined) {
      const { condition, yes, no } = conditional;
      const next = (yield* this.#fits(condition, value, at, depth)) ? yes : no;
      isValid = (next === undefined || (yield* this.#evaluate(next, value, at, depth))) && isValid;
    }
    return isValid;
  }

  /**
   * How many schemas a value fits.
   * @param {readonly Node[]} nodes
   * @param {unknown} value
   * @param {Place | undefined} at
   * @param {number} depth
   * @param {number} most where to stop
   * @returns {Generator<Wanted, number, any>}
   */
  *#fitting(nodes, value, at, depth, most) {
    let count = 0;
    for (let index = 0; index < nodes.length && count < most; index += 1) {
      count += (yield* this.#fits(nodes[index], value, at, depth)) ? 1 : 0;
    }
    return count;
  }
}

/**
 * @param {Node} node
 * @param {unknown} params
 * @param {Ending} ending
 * @returns {readonly string[] | Promise<readonly string[]>} what is wrong with them
 */
function issuesOf(node, params, ending) {
  const validation = new Validation(ending);
  const isValid = validation.run(node, params);
  /** @param {boolean} answer */
  const issues = (answer) => (answer ? [] : validation.issues);
  return typeof isValid === 'boolean' ? issues(isValid) : isValid.then(issues);
}

module.exports = { issuesOf, MAX_ISSUES };
