// Part of every page of the site: shows its Mermaid blocks as diagrams, with the copy of Mermaid beside this script. Only pages that have
// such blocks load Mermaid.

(() => {
  const blocks = [...document.querySelectorAll('pre > code.mermaid')];
  if (blocks.length === 0) return;
  const dark = globalThis.matchMedia('(prefers-color-scheme: dark)');
  const diagrams = blocks.map((block) => {
    const place = document.createElement('div');
    place.className = 'diagram';
    return { place, text: block.textContent, pre: block.parentElement };
  });

  async function draw() {
    const { theme } = document.documentElement.dataset;
    const isDark = theme === 'dark' || (theme !== 'light' && dark.matches);
    // A narrow diagram keeps its letters large.
    globalThis.mermaid.initialize({ startOnLoad: false, suppressErrorRendering: true, theme: isDark ? 'dark' : 'default', sequence: { wrap: true } });
    for (const [index, { place, text, pre }] of diagrams.entries()) {
      try {
        const { svg } = await globalThis.mermaid.render(`diagram-${index}`, text);
        place.innerHTML = svg;
        pre.replaceWith(place);
      } catch (error) {
        // A block that cannot be drawn stays as it was.
        console.error(error);
      }
    }
  }

  // One after another, because a drawing needs a place in the page while it is made.
  let drawn = Promise.resolve();
  const again = () => {
    drawn = drawn.then(draw);
  };
  const script = document.createElement('script');
  script.src = new URL('mermaid.js', document.currentScript.src).href;
  script.addEventListener('load', () => {
    again();
    dark.addEventListener('change', again);
    new MutationObserver(again).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  });
  document.head.append(script);
})();
