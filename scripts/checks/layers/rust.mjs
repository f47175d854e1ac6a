// The modules of a crate: what they import, and their structs and functions.

import { blank, closing, count, lineCount } from './text.mjs';

/** Comments, strings and characters. */
const NOT_CODE = /\/\/[^\n]*|\/\*[^]*?\*\/|\bb?r(#*)"[^]*?"\1|"(?:[^"\\]|\\[^])*"|'(?:[^'\\\n]|\\(?:x..|u\{[^}]*\}|.))'/g;
const FOR_TESTS = /#\[cfg\((?:any\(|all\()?test\b[^\]]*\)\]\s*(?:#\[[^\]]*\]\s*)*/;

/** Blanks the items that exist only in tests. Returns their modules in files of their own, too. */
function withoutTests(code) {
  const modules = [];
  for (let found = FOR_TESTS.exec(code); found !== null; found = FOR_TESTS.exec(code)) {
    const start = found.index + found[0].length;
    const item = code.slice(start).match(/^[^;{]*[;{]/)?.[0] ?? '';
    const end = item.endsWith('{') ? closing(code, start + item.length - 1) + 1 : start + item.length;
    const module = item.match(/\bmod\s+(\w+)\s*;/);
    if (module) modules.push(module[1]);
    code = code.slice(0, found.index) + blank(code.slice(found.index, end)) + code.slice(end);
  }
  return { code, modules };
}

/** The paths of a `use`, with the name that each gets: `a::{b, c as d}`. */
function* paths(tree, before = []) {
  const open = tree.indexOf('{');
  const split = (path) => path.split('::').map((name) => name.trim()).filter((name) => name !== '');
  if (open < 0) {
    const [path, name] = tree.trim().split(/\s+as\s+/);
    const whole = [...before, ...split(path)];
    if (whole.at(-1) === 'self') whole.pop();
    if (whole.length > 0) yield { path: whole, name: name ?? whole.at(-1) };
    return;
  }
  const inside = tree.slice(open + 1, closing(tree, open));
  let [start, depth] = [0, 0];
  for (let position = 0; position <= inside.length; position++) {
    if (inside[position] === '{') depth++;
    else if (inside[position] === '}') depth--;
    else if (depth === 0 && (inside[position] === ',' || position === inside.length)) {
      yield* paths(inside.slice(start, position), [...before, ...split(tree.slice(0, open))]);
      start = position + 1;
    }
  }
}

/** Removes `super` from paths inside modules that are part of a file, where it leads to the file or to one of these modules. */
function flatten(code) {
  const inner = /\bmod\s+\w+\s*\{/.exec(code);
  if (inner === null) return code;
  const open = inner.index + inner[0].length - 1;
  const end = closing(code, open);
  const body = flatten(code.slice(open + 1, end)).replaceAll(/(?<![\w:])super::(?!super\b)/g, 'self::').replaceAll(/(?<![\w:])super::super\b/g, 'super');
  return `${code.slice(0, inner.index)}${blank(inner[0])}${body} ${flatten(code.slice(end + 1))}`;
}

class Module {
  constructor(file, text) {
    this.file = file;
    this.lines = lineCount(text);
    const { code, modules } = withoutTests(text.replace(NOT_CODE, blank));
    this.testModules = modules;
    /** Names that it imports, and those of them that it only passes on. @type {Map<string, string[]>} */
    this.names = new Map();
    this.passedOn = new Set();
    this.globs = [];
    this.body = flatten(code).replace(/^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);/gm, (whole, isPublic, tree) => {
      for (const { path, name } of paths(tree)) {
        if (name === '*') this.globs.push(path.slice(0, -1));
        else this.names.set(name, path);
        if (isPublic) this.passedOn.add(name);
      }
      return blank(whole);
    });
  }

  defines(name) {
    return new RegExp(`\\b(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\\s+(?:mut\\s+)?${name}\\b`).test(this.body);
  }

  uses(name) {
    return new RegExp(`(?<!\\bmod\\s+)\\b${name}\\b`).test(this.body);
  }

  /** The paths in its code, and the imports that are not just passed on. */
  * imports() {
    for (const [name, path] of this.names) if (!this.passedOn.has(name) || this.uses(name)) yield path;
    yield* this.globs.map((path) => [...path, '*']);
    for (const [path] of this.body.matchAll(/(?<![\w:])[a-z_]\w*(?:::\w+)+/g)) yield path.split('::');
  }
}

/** The blocks of methods: of which type, and their code. */
function* implementations(body) {
  for (const found of body.matchAll(/^[ \t]*(?:unsafe\s+)?impl\b([^{;]*)\{/gm)) {
    const open = found.index + found[0].length - 1;
    const head = found[1].replace(/\bwhere\b[^]*/, '');
    const type = head.match(/(?:^|\bfor\s+|>\s*|\s)&?(?:'\w+\s+)?((?:\w+::)*[A-Z]\w*)\s*(?:<[^{]*>)?\s*$/)?.[1];
    if (type !== undefined) yield { type: type.split('::'), code: body.slice(open + 1, closing(body, open)) };
  }
}

const parent = (module) => module.split('::').slice(0, -1).join('::');
const join = (module, name) => (module === '' ? name : `${module}::${name}`);

class Crate {
  /** @type {Map<string, Module>} */ modules = new Map();

  /**
   * @param {string} from the module that has the path
   * @param {string[]} path
   * @param {Set<string>} [seen] what is being resolved
   * @returns {string | undefined} the module that defines what the path leads to; `undefined` for other crates, and for a module as a whole
   */
  definer(from, path, seen = new Set()) {
    const key = `${from} ${path.join('::')}`;
    if (seen.has(key)) return undefined;
    seen.add(key);
    let at = from;
    const rest = [...path];
    if (rest[0] === 'crate') {
      at = '';
      rest.shift();
    } else if (rest[0] === 'self' || rest[0] === 'super') {
      while (rest[0] === 'self' || rest[0] === 'super') if (rest.shift() === 'super') at = parent(at);
    } else if (!this.modules.has(join(from, rest[0]))) {
      const imported = this.modules.get(from)?.names.get(rest[0]);
      return imported === undefined ? undefined : this.definer(from, [...imported, ...rest.slice(1)], seen);
    }
    while (rest.length > 0 && this.modules.has(join(at, rest[0]))) at = join(at, /** @type {string} */ (rest.shift()));
    if (rest.length === 0) return undefined;
    if (rest[0] === '*') return at;
    const module = /** @type {Module} */ (this.modules.get(at));
    const imported = module.names.get(rest[0]);
    if (imported !== undefined) return this.definer(at, [...imported, ...rest.slice(1)], seen);
    if (!module.defines(rest[0])) {
      for (const glob of module.globs) {
        const found = this.definer(at, [...glob, ...rest], seen);
        if (found !== undefined) return found;
      }
    }
    return at;
  }
}

/**
 * Methods of one type that are in several files. A call of one of them counts as an import of its file, if the code says of which type its
 * receiver is: `self`, `Self`, the type itself, or a variable that has the type somewhere in the file.
 * @param {Crate} crate
 */
function* callsOfMethods(crate) {
  /** For each type, by its module and name: the files of its methods. @type {Map<string, Map<string, Set<string>>>} */
  const types = new Map();
  const blocks = [];
  for (const [name, module] of crate.modules) {
    for (const { type, code } of implementations(module.body)) {
      const key = `${crate.definer(name, type) ?? name}::${type.at(-1)}`;
      const methods = types.get(key) ?? new Map();
      types.set(key, methods);
      for (const [, method] of code.matchAll(/\bfn\s+(\w+)/g)) methods.set(method, (methods.get(method) ?? new Set()).add(module.file));
      blocks.push({ file: module.file, methods, code, receivers: 'self|Self' });
    }
  }
  for (const [key, methods] of types) {
    const type = key.split('::').at(-1);
    if (new Set([...methods.values()].flatMap((files) => [...files])).size < 2) continue;
    for (const [name, { file, body }] of crate.modules) {
      if (!new RegExp(`\\b${type}\\b`).test(body) || `${crate.definer(name, [type]) ?? name}::${type}` !== key) continue;
      const variables = body.matchAll(new RegExp(`\\b([a-z_]\\w*)\\s*:\\s*&?(?:'\\w+\\s+)?(?:mut\\s+)?(?:(?:Arc|Rc|Weak|Option|Box)<)*${type}\\b`, 'g'));
      blocks.push({ file, methods, code: body, receivers: [type, ...new Set([...variables].map(([, variable]) => variable))].join('|') });
    }
  }
  for (const { file, methods, code, receivers } of blocks) {
    for (const [, called, named] of code.matchAll(new RegExp(`\\b(?:${receivers})\\s*(?:\\.\\s*(\\w+)(?=\\(|::<)|::\\s*(\\w+)\\b)`, 'g'))) {
      const files = methods.get(called ?? named);
      // A name that several traits have in common leads nowhere.
      if (files?.size === 1 && !files.has(file)) yield { file, imported: [...files][0] };
    }
  }
}

/**
 * Structs whose fields are the arguments of a macro: the macro repeats a pattern inside the braces of the struct.
 * @param {Map<string, Module>} modules
 */
function* structsOfMacros(modules) {
  for (const { body: defining } of modules.values()) {
    for (const found of defining.matchAll(/\bmacro_rules!\s+(\w+)\s*\{/g)) {
      const open = found.index + found[0].length - 1;
      const name = defining.slice(open, closing(defining, open)).match(/\bstruct\s+(\w+)\s*\{\s*\$\(/)?.[1];
      if (name === undefined) continue;
      for (const { file, body } of modules.values()) {
        for (const call of body.matchAll(new RegExp(`\\b${found[1]}!\\s*[({[]`, 'g'))) {
          const begin = call.index + call[0].length - 1;
          const fields = body.slice(begin + 1, closing(body, begin)).replaceAll(/#\[[^\]]*\]/g, '').replaceAll(';', ',');
          yield { file, name, fields: count(fields) };
        }
      }
    }
  }
}

const moduleOf = (file) => file.replace(/^src\//, '').replace(/\.rs$/, '').replace(/(?:^|\/)(?:mod|lib)$/, '').replaceAll('/', '::');

/**
 * @param {string[]} files
 * @param {(file: string) => string} read
 */
export function readRust(files, read) {
  const crate = new Crate();
  for (const file of files) crate.modules.set(moduleOf(file), new Module(file, read(file)));
  const tests = [...crate.modules].flatMap(([name, module]) => module.testModules.map((test) => join(name, test)));
  for (const name of crate.modules.keys()) {
    if (tests.some((test) => name === test || name.startsWith(`${test}::`))) crate.modules.delete(name);
  }
  const graph = new Map();
  for (const { file } of crate.modules.values()) graph.set(file, new Set());
  for (const { file, imported } of callsOfMethods(crate)) graph.get(file).add(imported);
  const structs = [...structsOfMacros(crate.modules)];
  const functions = [];
  for (const [name, { file, body }] of crate.modules) {
    const definers = [.../** @type {Module} */ (crate.modules.get(name)).imports()].map((path) => crate.definer(name, path));
    const imported = definers.filter((definer) => definer !== undefined && definer !== name).map((definer) => crate.modules.get(definer)?.file);
    for (const path of imported) if (path !== undefined) graph.get(file).add(path);
    for (const found of body.matchAll(/\bstruct\s+(\w+)[^{;(]*\{/g)) {
      const open = found.index + found[0].length - 1;
      const fields = body.slice(open + 1, closing(body, open)).replaceAll(/#\[[^\]]*\]/g, '');
      structs.push({ file, name: found[1], fields: count(fields) });
    }
    for (const found of body.matchAll(/\bfn\s+(\w+)\s*(?:<[^(]*>)?\s*\(/g)) {
      const open = found.index + found[0].length - 1;
      const parameters = body.slice(open + 1, closing(body, open)).replace(/^\s*&?(?:'\w+\s+)?(?:mut\s+)?self\b[^,]*,?/, '');
      functions.push({ file, name: found[1], parameters: count(parameters) });
    }
  }
  return { graph, structs, functions, lines: new Map([...crate.modules.values()].map(({ file, lines }) => [file, lines])) };
}
