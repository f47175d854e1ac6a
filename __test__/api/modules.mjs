// Graphs of modules.

/** Modules by name, and a resolver that finds them and records its requests. */
export function graph(isolate, sources) {
  const asked = [];
  const modules = {};
  for (const [name, code] of Object.entries(sources)) modules[name] = isolate.compileModuleSync(code, { filename: `file:///${name}.js` });
  const nameOf = (module) => Object.keys(modules).find((name) => modules[name] === module);
  const resolve = (specifier, referrer) => {
    asked.push(`${nameOf(referrer)}>${specifier}`);
    return modules[specifier];
  };
  return { asked, modules, resolve };
}
