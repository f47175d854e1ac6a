'use strict';
// Writes TypeScript declarations of tools, for the model that writes the code.

const { jsonSchemaOf } = require('./schema.js');
const { isObject, referred } = require('./json-schema.js');
const { member, own } = require('../common/options.js');
const { namesOf, placesOf } = require('./calls.js');

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Words that cannot name a variable. */
const RESERVED = new Set(`arguments await break case catch class const continue debugger default delete do else enum eval export extends false
  finally for function if implements import in instanceof interface let new null package private protected public return static super switch
  this throw true try typeof undefined var void while with yield globalThis global`.split(/\s+/));
/** Most schemas inside each other. Deeper ones are `unknown`. */
const MAX_DEPTH = 20;
/** Most schemas that one side of a tool describes, since schemas may share others. Further ones are `unknown`. */
const MAX_SCHEMAS = 10_000;
const STEP = '  ';

/** @param {string} name */
const keyOf = (name) => (IDENTIFIER.test(name) ? name : JSON.stringify(name));

/**
 * A comment, or nothing.
 * @param {unknown} text
 * @param {string} indent
 */
function commentOf(text, indent) {
  if (typeof text !== 'string' || text.trim() === '') {
    return '';
  }
  const lines = text.trim().replaceAll('*/', '*\\/').split(/\r\n?|[\n\u2028\u2029]/);
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

/**
 * @param {string} type
 * @returns {string} as an operand of `[]`
 */
const operand = (type) => (/^[\w$."]+$/.test(type) || /^\{[^{}]*\}$/.test(type) ? type : `(${type})`);

/**
 * A set of texts. Texts that look like array indices could collide in it, since some engines do not seed the hashes of these. So all get a mark.
 * @param {readonly string[]} texts
 */
const marked = (texts) => new Set(texts.map((text) => `#${text}`));

/**
 * @param {string[]} types
 * @param {' | ' | ' & '} operator
 */
function joined(types, operator) {
  const all = Array.from(marked(types), (type) => type.slice(1));
  return all.length === 1 ? all[0] : all.map((type) => (/[|&]|=>/.test(type) ? `(${type})` : type)).join(operator);
}

/** Names of types and namespaces, each of which is given once. */
class Names {
  /** @type {Set<string>} */ #taken;
  /** The last number behind a name. @type {Map<string, number>} */ #last = new Map();

  /** @param {Iterable<string>} taken */
  constructor(taken) {
    this.#taken = new Set(taken);
  }

  /**
   * @param {string} base
   * @returns {string} the name, with a number behind it if it is taken
   */
  give(base) {
    let name = base;
    for (let number = this.#last.get(base) ?? 1; this.#taken.has(name); name = `${base}${number}`) {
      number += 1;
      this.#last.set(base, number);
    }
    this.#taken.add(name);
    return name;
  }
}

/** The types of one tool. Schemas that are referred to get names, since they may refer to themselves. */
class Types {
  #root;
  #prefix;
  /** @type {Map<string, string>} by reference */ #named = new Map();
  #names;
  /** The schemas around the current one. @type {Set<object>} */ #open = new Set();
  #described = 0;
  /** Schemas that have names, but no declarations yet. @type {{ name: string, schema: any }[]} */ #pending = [];

  /**
   * @param {unknown} root
   * @param {string} prefix of names
   * @param {Names} names
   */
  constructor(root, prefix, names) {
    this.#root = root;
    this.#prefix = prefix;
    this.#names = names;
  }

  /**
   * @param {any} schema
   * @param {string} indent
   * @param {number} [depth]
   * @returns {string}
   */
  typeOf(schema, indent, depth = 0) {
    if (schema === false) {
      return 'never';
    }
    if (!isObject(schema) || depth > MAX_DEPTH || this.#described === MAX_SCHEMAS || this.#open.has(schema)) {
      return 'unknown';
    }
    this.#described += 1;
    this.#open.add(schema);
    const type = this.#combined(schema, indent, depth);
    this.#open.delete(schema);
    return type;
  }

  /**
   * @param {any} schema
   * @param {string} indent
   * @param {number} depth
   * @returns {string}
   */
  #combined(schema, indent, depth) {
    const parts = [];
    const reference = own(schema, '$ref');
    if (typeof reference === 'string') {
      parts.push(this.#nameOf(reference));
    }
    const lists = ['allOf', 'anyOf', 'oneOf'].map((name) => /** @type {const} */ ([name, own(schema, name)]));
    for (const [name, list] of lists) {
      if (Array.isArray(list) && list.length > 0) {
        parts.push(joined(list.map((each) => this.typeOf(each, indent, depth + 1)), name === 'allOf' ? ' & ' : ' | '));
      }
    }
    const plain = this.#plain(schema, indent, depth);
    if (plain !== undefined) {
      parts.push(plain);
    }
    const known = parts.filter((part) => part !== 'unknown');
    return known.length === 0 ? 'unknown' : joined(known, ' & ');
  }

  /**
   * The type that the schema itself describes, without those that it combines.
   * @param {any} schema
   * @param {string} indent
   * @param {number} depth
   * @returns {string | undefined}
   */
  #plain(schema, indent, depth) {
    const constant = own(schema, 'const');
    const values = constant === undefined ? own(schema, 'enum') : [constant];
    if (Array.isArray(values)) {
      return joined(values.map(literalOf), ' | ');
    }
    const type = own(schema, 'type');
    const types = Array.isArray(type) ? type : [type ?? impliedType(schema)];
    const described = types.map((each) => this.#ofType(each, schema, indent, depth));
    return described.includes(undefined) ? undefined : joined(/** @type {string[]} */ (described), ' | ');
  }

  /**
   * @param {unknown} type
   * @param {any} schema
   * @param {string} indent
   * @param {number} depth
   */
  #ofType(type, schema, indent, depth) {
    switch (type) {
      case 'string': case 'number': case 'boolean': case 'null':
        return type;
      case 'integer':
        return 'number';
      case 'array':
        return this.#array(schema, indent, depth);
      case 'object':
        return this.#object(schema, indent, depth);
      default:
        return undefined;
    }
  }

  /**
   * @param {any} schema
   * @param {string} indent
   * @param {number} depth
   */
  #array(schema, indent, depth) {
    const items = own(schema, 'items');
    const isList = Array.isArray(items);
    const prefix = isList ? items : own(schema, 'prefixItems');
    const rest = own(schema, isList ? 'additionalItems' : 'items');
    /** @param {unknown} each */
    const typeOf = (each) => this.typeOf(each, indent, depth + 1);
    if (!Array.isArray(prefix) || prefix.length === 0) {
      return `${operand(typeOf(rest))}[]`;
    }
    const least = own(schema, 'minItems');
    const listed = prefix.map((each, index) => `${operand(typeOf(each))}${typeof least === 'number' && index < least ? '' : '?'}`);
    return `[${[...listed, ...(rest === false ? [] : [`...${operand(typeOf(rest))}[]`])].join(', ')}]`;
  }

  /**
   * @param {any} schema
   * @param {string} indent
   * @param {number} depth
   */
  #object(schema, indent, depth) {
    const inner = indent + STEP;
    const list = own(schema, 'required');
    const required = marked(Array.isArray(list) ? list.filter((name) => typeof name === 'string') : []);
    const properties = own(schema, 'properties');
    const members = Object.entries(isObject(properties) ? properties : {}).map(([name, each]) => {
      const mark = required.has(`#${name}`) ? '' : '?';
      const comment = commentOf(isObject(each) ? own(each, 'description') : undefined, inner);
      return `${comment}${inner}${keyOf(name)}${mark}: ${this.typeOf(each, inner, depth + 1)};\n`;
    });
    const additional = own(schema, 'additionalProperties');
    if (members.length === 0) {
      return additional === false ? '{}' : `Record<string, ${this.typeOf(additional, indent, depth + 1)}>`;
    }
    if (additional !== undefined && additional !== false) {
      members.push(`${inner}[name: string]: unknown;\n`);
    }
    return `{\n${members.join('')}${indent}}`;
  }

  /**
   * @param {string} reference
   * @returns {string}
   */
  #nameOf(reference) {
    const known = this.#named.get(reference);
    if (known !== undefined) {
      return known;
    }
    const schema = referred(this.#root, reference);
    if (schema === undefined) {
      return 'unknown';
    }
    const base = `${this.#prefix}_${(reference === '#' ? 'params' : reference.slice(reference.lastIndexOf('/') + 1)).replaceAll(/[^\w$]/g, '_')}`;
    const name = this.#names.give(base);
    this.#named.set(reference, name);
    this.#pending.push({ name, schema });
    return name;
  }

  /**
   * The declarations of the types that were referred to, one after the other: a chain of references needs no stack.
   * @returns {string[]}
   */
  declarations() {
    const declarations = [];
    for (const { name, schema } of this.#pending) {
      const comment = commentOf(isObject(schema) ? own(schema, 'description') : undefined, '');
      declarations.push(`${comment}type ${name} = ${this.typeOf(schema, '')};\n`);
    }
    return declarations;
  }
}

/** @param {unknown} value */
const literalOf = (value) => (typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value) ?? 'unknown');

/** @param {any} schema */
function impliedType(schema) {
  const has = (/** @type {string[]} */ ...names) => names.some((name) => own(schema, name) !== undefined);
  return has('properties', 'additionalProperties', 'required') ? 'object' : has('items', 'prefixItems') ? 'array' : undefined;
}

/**
 * Whether a tool can be called without params, which then are `{}`.
 * @param {any} schema
 */
function permitsEmpty(schema) {
  if (!isObject(schema)) {
    return true;
  }
  const required = own(schema, 'required');
  const type = own(schema, 'type') ?? 'object';
  const isPlain = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const'].every((name) => own(schema, name) === undefined);
  return isPlain && (Array.isArray(type) ? type : [type]).includes('object') && (!Array.isArray(required) || required.length === 0);
}

/**
 * @param {any} tool
 * @param {string} key of the method; nothing for the namespace itself
 * @param {Names} typeNames
 * @param {string} prefix
 * @param {string} indent
 */
function signatureOf(tool, key, typeNames, prefix, indent) {
  const sides = /** @type {const} */ (['input', 'output']).map((side) => {
    const schema = jsonSchemaOf(member(tool, `${side}Schema`), side);
    const types = new Types(schema, prefix, typeNames);
    const type = types.typeOf(schema, indent);
    return { schema, type, declarations: types.declarations() };
  });
  const [input, output] = sides;
  const isOptional = permitsEmpty(input.schema);
  const text = `${commentOf(member(tool, 'description'), indent)}${indent}${key}(params${isOptional ? '?' : ''}: ${input.type}): Promise<${output.type}>;\n`;
  return { text, declarations: sides.flatMap(({ declarations }) => declarations) };
}

/**
 * TypeScript declarations of tools, as code in a sandbox calls them.
 * @param {unknown} tools
 * @returns {string}
 */
function describeTools(tools) {
  /** @type {Map<string, Map<string, string>>} */
  const namespaces = new Map();
  const declarations = [];
  const places = placesOf(namesOf(tools));
  const typeNames = new Names(places.map(({ namespace }) => namespace));
  for (const [index, { namespace, method, isFunction }] of places.entries()) {
    const indent = isNameable(namespace) ? STEP : STEP + STEP;
    const signature = signatureOf(/** @type {any[]} */ (tools)[index], isFunction ? '' : keyOf(method), typeNames, `${namespace}_${method}`.replace(/^\d/, '_$&'), indent);
    declarations.push(...signature.declarations);
    const methods = namespaces.get(namespace) ?? new Map();
    // As in the sandbox, the last one of a name counts.
    methods.set(method, signature.text);
    namespaces.set(namespace, methods);
  }
  const all = [...namespaces].map(([namespace, methods]) => ({ namespace, members: [...methods.values()].join('') }));
  const others = all.filter(({ namespace }) => !isNameable(namespace)).map(({ namespace, members }) => `${STEP}${keyOf(namespace)}: {\n${members}${STEP}};\n`);
  return [
    ...declarations,
    ...all.filter(({ namespace }) => isNameable(namespace)).map(({ namespace, members }) => `declare const ${namespace}: {\n${members}};\n`),
    // What cannot be named is a property of the global object.
    ...(others.length === 0 ? [] : [`declare const global: {\n${others.join('')}};\n`]),
  ].join('\n');
}

/** @param {string} name */
const isNameable = (name) => IDENTIFIER.test(name) && !RESERVED.has(name);

module.exports = { describeTools };
