// @ts-check
// Line charts by uPlot, and heatmaps as pixels of a canvas: neither keeps any state but what it shows.

import { colour, element } from "./dom.js";

/** @typedef {{ label: string, ink: string, dash?: number[], width?: number, points?: boolean }} Series */

const FONT = "12px system-ui, sans-serif";

/**
 * A chart of several curves over layers or positions. `ink` names a custom property of the page's style.
 * @param {HTMLElement} root
 * @param {{ label: string, height?: number, logarithmic?: boolean, floor?: number, series: Series[], x?: string, range?: [number, number],
 *   domain?: [number, number] }} options
 */
export function lineChart(root, { label, height = 240, logarithmic = false, floor = 1e-17, series, x = "", range, domain }) {
  const place = element("div", { class: "chart", role: "img", "aria-label": label });
  const legend = element("ul", { class: "legend", "aria-hidden": "true" });
  for (const one of series) {
    const key = element("span", { class: "key" });
    key.style.borderTop = `${one.dash ? "2px dashed" : "3px solid"} var(${one.ink})`;
    legend.append(element("li", {}, key, one.label));
  }
  root.append(legend, place);
  /** @param {any} _ @param {number | null} low @param {number | null} high @returns {[number, number]} */
  const decades = (_, low, high) => [Math.max(low ?? floor, floor) / 1.5, Math.max(high ?? 1, 10 * floor) * 1.5];
  const soft = () => colour(root, "--soft");
  const grid = { stroke: () => colour(root, "--line"), width: 1 };
  const chart = new uPlot(
    {
      width: 320,
      height,
      legend: { show: false },
      cursor: { show: false },
      padding: [10, 12, 0, 0],
      scales: {
        x: { time: false, ...(domain ? { range: () => domain } : {}) },
        y: logarithmic
          ? { distr: /** @type {const} */ (3), log: /** @type {const} */ (10), range: decades }
          : { range: range ? () => range : undefined },
      },
      axes: [
        {
          stroke: soft, font: FONT, grid, ticks: { show: false }, label: x, labelFont: FONT, labelSize: x ? 18 : 0,
          size: 26, incrs: [1, 2, 3, 4, 6, 8, 12, 24, 48],
        },
        {
          stroke: soft, font: FONT, grid, ticks: { show: false }, size: 54,
          ...(logarithmic ? { grid: { ...grid, filter: powersAlone }, filter: powersAlone, values: powersOfTen } : {}),
        },
      ],
      series: [
        {},
        ...series.map((one) => ({
          label: one.label,
          stroke: () => colour(root, one.ink),
          width: one.width ?? 2,
          dash: one.dash,
          points: { show: one.points ?? true, size: 5, fill: () => colour(root, one.ink) },
        })),
      ],
    },
    [[0, 1], ...series.map(() => [null, null])],
    place,
  );
  // The size is the place's own, of which the style fixes the height: nothing jumps.
  new ResizeObserver(() => chart.setSize({ width: Math.max(place.clientWidth, 120), height })).observe(place);
  place.style.height = `${height}px`;
  return {
    /** @param {number[]} xs @param {(number | null)[][]} ys */
    show(xs, ys) {
      const shownYs = ys.map((values) => values.map((y) => (y !== null && Number.isFinite(y) && (!logarithmic || y > 0) ? y : null)));
      chart.setData([xs, ...shownYs]);
    },
    redraw: () => chart.redraw(),
    /** @param {string} text */
    describe: (text) => place.setAttribute("aria-label", text),
  };
}

/** Of the ticks of a logarithmic axis, powers of ten, and few of them. @param {any} _ @param {number[]} ticks */
function powersAlone(_, ticks) {
  const powers = ticks.map((tick) => Math.log10(tick)).map((p) => (Math.abs(p - Math.round(p)) < 1e-9 ? Math.round(p) : NaN));
  const whole = powers.filter((p) => !Number.isNaN(p));
  const every = Math.ceil((Math.max(...whole) - Math.min(...whole) + 1) / 7);
  return ticks.map((tick, i) => (powers[i] % every === 0 ? tick : null));
}

/** @param {any} _ @param {(number | null)[]} ticks */
function powersOfTen(_, ticks) {
  return ticks.map(powerOfTen);
}

/** @param {number | null} tick */
function powerOfTen(tick) {
  if (tick === null) return "";
  const power = Math.round(Math.log10(tick));
  if (power >= -2 && power <= 3) return String(Number(tick.toPrecision(1)));
  return "10" + [...String(power)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
}

/** @param {string} text "rgb(...)" @returns {number[]} */
function channels(text) {
  return (text.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

/**
 * A matrix as a heatmap: 0 is the paper, 1 the ink.
 * @param {HTMLElement} root @param {string} label
 */
export function heatmap(root, label) {
  const canvas = element("canvas", { class: "heat", role: "img", "aria-label": label });
  root.append(canvas);
  /** @type {number[][]} */
  let last = [];
  /** @param {number[][]} A @param {(a: number) => number} [curve] */
  function show(A, curve = Math.sqrt) {
    last = A;
    const [rows, columns] = [A.length, A[0].length];
    if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const image = context.createImageData(columns, rows);
    const [paper, ink] = [channels(colour(root, "--card")), channels(colour(root, "--accent"))];
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const weight = curve(Math.min(Math.max(A[i][j], 0), 1));
        for (let k = 0; k < 3; k++) image.data[4 * (i * columns + j) + k] = paper[k] + (ink[k] - paper[k]) * weight;
        image.data[4 * (i * columns + j) + 3] = 255;
      }
    context.putImageData(image, 0, 0);
  }
  return { canvas, show, redraw: () => last.length && show(last) };
}
