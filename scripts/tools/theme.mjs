// The theme of the site: typedoc's own, with navigation by task. The groups, their order and their pages are those of the list under
// "Documentation" in README.md; the last group has the modules.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { DefaultTheme, JSX, ReflectionKind, Renderer } from 'typedoc';

const README = new URL('../../README.md', import.meta.url);
const PACKAGE = 'isolated-v8';
/** Groups that are open until the reader closes them. */
const OPEN = ['Guides', 'Sandboxes', 'Operation'];
/** Before the handlers of typedoc, which write names. */
const FIRST = 1_000;

/** The text of a link as a title; names such as `createSandbox` stay as they are. */
const titleOf = (text) => (/^[a-z]+[A-Z]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));

/** The groups of pages in README. */
function groupsOf(markdown) {
  const [, list = ''] = /\n## Documentation\n([\s\S]*?)\n## /.exec(markdown) ?? [];
  return list.split(/^- /m).slice(1).map((entry) => {
    const text = entry.replaceAll(/\s+/g, ' ');
    const pages = [...text.matchAll(/\[([^\]]+)\]\(([^)]+)\.md\)/g)].map(([, link, page]) => ({ text: titleOf(link), page }));
    return { text: text.slice(0, text.indexOf(':')), pages };
  });
}

const isModule = ({ kind }) => kind === ReflectionKind.Module;

class ByTask extends DefaultTheme {
  buildNavigation(project) {
    const documents = new Map(project.documents?.map((document) => [pages.get(document), document]));
    const leaf = (text, document) => ({ text, path: this.router.getFullUrl(document), kind: document.kind });
    const groups = groupsOf(readFileSync(README, 'utf8')).flatMap((group) => {
      const children = group.pages.filter(({ page }) => documents.has(page)).map(({ text, page }) => leaf(text, documents.get(page)));
      for (const { page } of group.pages) documents.delete(page);
      if (children.length === 0) return [];
      return [children.length === 1 ? { ...children[0], text: group.text } : { text: group.text, children }];
    });
    if (documents.size > 0) throw new Error(`README.md does not list ${[...documents.keys()].join(', ')} under "Documentation"`);
    return [...groups, { text: 'API reference', children: super.buildNavigation(project).filter(isModule) }];
  }
}

/** The path of each document without its extension, which is its name until it gets its title. */
const pages = new Map();

/** Gives documents their titles and modules the names that programs import. The URLs of pages are made before. */
function rename({ project }) {
  for (const document of project.documents ?? []) {
    pages.set(document, document.name);
    const [, heading] = /^# (.*)$/m.exec(document.content.map(({ text }) => text).join('')) ?? [];
    if (heading !== undefined) document.name = heading.replaceAll('`', '');
  }
  for (const module of project.children?.filter(isModule) ?? []) {
    module.name = module.name === 'index' ? PACKAGE : `${PACKAGE}/${basename(module.name)}`;
  }
  // The page has a heading of its own.
  const [first] = project.readme ?? [];
  if (first?.kind === 'text') first.text = first.text.replace(/^# .*\n+/, '');
}

export function load(app) {
  app.renderer.defineTheme('by-task', ByTask);
  app.renderer.on(Renderer.EVENT_BEGIN, rename, FIRST);
  const script = OPEN.map((group) => `localStorage["tsd-accordion-${group}"] ??= "true";`).join('');
  app.renderer.hooks.on('body.begin', () => JSX.createElement('script', null, JSX.createElement(JSX.Raw, { html: `try { ${script} } catch {}` })));
}
