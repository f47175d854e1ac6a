// Charts with logarithmic axes, as SVG that is legible on light and dark pages.

const WIDTH = 640;
const HEIGHT = 300;
const MARGIN = { left: 70, right: 150, top: 34, bottom: 44 };
const COLORS = ['#3b82f6', '#f97316', '#10b981', '#a855f7'];
const TEXT = 'font-family="sans-serif" font-size="12" fill="#7c8591"';

const text = (at, down, anchor, content, extra = '') => `<text x="${at}" y="${down}" text-anchor="${anchor}" ${TEXT}${extra}>${content}</text>`;
const line = (x1, y1, x2, y2, extra = ' stroke-opacity="0.3"') => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#7c8591"${extra}/>`;
const svg = (title, height, parts) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">\n${parts.join('\n')}\n</svg>\n`;

const powers = (least, most) => {
  const [from, to] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  return Array.from({ length: Math.max(to, from + 1) - from + 1 }, (_, i) => 10 ** (from + i));
};
const number = (value) => (value >= 1 ? value.toLocaleString('en') : String(Number(value.toPrecision(2))));

/**
 * @param {{ title: string, x: string, y: string, series: Record<string, [number, number][]> }} chart
 * @returns {string}
 */
export function lineChart({ title, x, y, series }) {
  const points = Object.values(series).flat();
  const [xs, ys] = [0, 1].map((axis) => powers(Math.min(...points.map((point) => point[axis])), Math.max(...points.map((point) => point[axis]))));
  const place = (ticks, from, to) => {
    const [least, most] = [Math.log10(ticks[0]), Math.log10(ticks.at(-1))];
    return (value) => Math.round(10 * (from + ((Math.log10(value) - least) / (most - least)) * (to - from))) / 10;
  };
  const atX = place(xs, MARGIN.left, WIDTH - MARGIN.right);
  const atY = place(ys, HEIGHT - MARGIN.bottom, MARGIN.top);
  const parts = [
    text(MARGIN.left, 18, 'start', title, ' font-weight="bold"'),
    ...xs.flatMap((value) => [line(atX(value), MARGIN.top, atX(value), HEIGHT - MARGIN.bottom), text(atX(value), HEIGHT - MARGIN.bottom + 16, 'middle', number(value))]),
    ...ys.flatMap((value) => [line(MARGIN.left, atY(value), WIDTH - MARGIN.right, atY(value)), text(MARGIN.left - 6, atY(value) + 4, 'end', number(value))]),
    text((MARGIN.left + WIDTH - MARGIN.right) / 2, HEIGHT - 8, 'middle', x),
    `<text transform="rotate(-90)" x="${-(MARGIN.top + HEIGHT - MARGIN.bottom) / 2}" y="14" text-anchor="middle" ${TEXT}>${y}</text>`,
    ...Object.entries(series).flatMap(([name, each], i) => {
      const color = COLORS[i % COLORS.length];
      const path = each.map(([px, py]) => `${atX(px)},${atY(py)}`).join(' ');
      const dots = each.map(([px, py]) => `<circle cx="${atX(px)}" cy="${atY(py)}" r="3" fill="${color}"/>`);
      const down = MARGIN.top + 12 + i * 18;
      const label = `<text x="${WIDTH - MARGIN.right + 12}" y="${down}" font-family="sans-serif" font-size="12" fill="${color}">${name}</text>`;
      return [`<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`, ...dots, label];
    }),
  ];
  return svg(title, HEIGHT, parts);
}

const BAR = { left: 280, right: 40, height: 22, top: 52 };
const RATIOS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/**
 * Bars from 1: to the left where we are faster, to the right where we are slower.
 * @param {{ title: string, bars: [label: string, ratio: number][] }} chart
 * @returns {string}
 */
export function ratioChart({ title, bars }) {
  const bottom = BAR.top + bars.length * BAR.height;
  const [least, most] = [RATIOS[0], RATIOS.at(-1)].map(Math.log10);
  const at = (ratio) => Math.round(BAR.left + ((Math.log10(ratio) - least) / (most - least)) * (WIDTH - BAR.left - BAR.right));
  const parts = [
    text(10, 18, 'start', title, ' font-weight="bold"'),
    ...RATIOS.flatMap((ratio) => [
      line(at(ratio), BAR.top - 6, at(ratio), bottom, ratio === 1 ? '' : undefined), text(at(ratio), BAR.top - 12, 'middle', number(ratio)),
    ]),
    ...bars.flatMap(([label, ratio], i) => {
      const [from, to] = [Math.min(at(ratio), at(1)), Math.max(at(ratio), at(1))];
      const down = BAR.top + i * BAR.height;
      const color = COLORS[ratio <= 1 ? 2 : 1];
      return [
        text(BAR.left - 16, down + 14, 'end', label),
        `<rect x="${from}" y="${down + 3}" width="${Math.max(to - from, 1)}" height="${BAR.height - 8}" fill="${color}"/>`,
        text(ratio <= 1 ? from - 4 : to + 4, down + 14, ratio <= 1 ? 'end' : 'start', ratio.toFixed(2)),
      ];
    }),
  ];
  return svg(title, bottom + 12, parts);
}
