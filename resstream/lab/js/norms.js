// @ts-check
// The room of LayerNorm and of gradients: the circle that LayerNorm leaves of three dimensions, and paths by length.

import { lineChart } from "./charts.js";
import { button, choice, copier, drawn, element, onceAFrame, shown, slider } from "./dom.js";
import { centre, layerNorm, layerNormJacobian, multiply, rmsNorm, rmsNormJacobian, rowNorm, singularValues } from "./mathematics.js";
import { gradientPaths } from "./paths.js";

/** @typedef {{ x1: number, x2: number, x3: number, norm: "layer" | "rms", yaw: number, pitch: number, layers: number, alpha: number, seed: number }} NormState */

/** @type {NormState} */
export const NORMS_STATE = { x1: 2.2, x2: 1.2, x3: 0.2, norm: "layer", yaw: 72, pitch: 12, layers: 16, alpha: 0.5, seed: 0 };

const SIZE = 400;
const UNIT = 74; // pixels of one unit
const WIDTH = 16; // of the random stack

/** @param {NormState} state @returns {NormState} */
export function saneNorms(state) {
  const between = (/** @type {number} */ x, /** @type {number} */ low, /** @type {number} */ high) => Math.min(Math.max(x, low), high);
  return {
    ...state,
    x1: between(state.x1, -3, 3), x2: between(state.x2, -3, 3), x3: between(state.x3, -3, 3),
    norm: state.norm === "rms" ? "rms" : "layer",
    yaw: Math.round(state.yaw % 360), pitch: Math.round(between(state.pitch, -90, 90)),
    layers: Math.round(between(state.layers, 1, 24)), alpha: between(state.alpha, 0, 2), seed: Math.round(state.seed),
  };
}

/**
 * @param {HTMLElement} root
 * @param {{ state: NormState, changed: (state: NormState) => void, link: (state: NormState) => string }} options
 */
export function normsRoom(root, { state: given, changed, link }) {
  let state = given;

  // ---- the sphere

  const scene = drawn("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`, class: "stage sphere", role: "img", tabindex: 0,
    "aria-label": "Three dimensions: x, its image under the norm, and the directions that the Jacobian sends to zero. Arrow keys turn the view.",
  });
  scene.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    scene.focus();
    scene.setPointerCapture(event.pointerId);
  });
  scene.addEventListener("pointermove", (event) => {
    if (scene.hasPointerCapture(event.pointerId)) update({ yaw: state.yaw + event.movementX * 0.5, pitch: state.pitch + event.movementY * 0.5 });
  });
  scene.addEventListener("keydown", (event) => {
    const turn = { ArrowLeft: [-5, 0], ArrowRight: [5, 0], ArrowUp: [0, -5], ArrowDown: [0, 5] }[event.key];
    if (!turn) return;
    event.preventDefault();
    update({ yaw: state.yaw + turn[0], pitch: state.pitch + turn[1] });
  });
  const coordinates = /** @type {const} */ (["x1", "x2", "x3"]).map((name, i) => ({
    name,
    ...slider({ label: `x${"₁₂₃"[i]}`, min: -3, max: 3, step: 0.05, value: state[name], input: (value) => update({ [name]: value }) }),
  }));
  const norm = choice({ label: "norm", options: [["layer", "LayerNorm"], ["rms", "RMSNorm"]], value: state.norm, input: (name) => update({ norm: name }) });
  const said = element("p", { class: "readout sphere-readout", role: "status" });
  const jacobian = element("div", { class: "jacobian" });
  const legend = element("ul", { class: "legend", "aria-hidden": "true" });
  root.append(
    element(
      "div",
      { class: "two norms" },
      element("div", { class: "card" }, element("h3", {}, "The sphere, the circle and the fibres"), legend, scene, element("p", { class: "note scale-note" }, "drag to turn; arrow keys turn too")),
      element(
        "div",
        { class: "card controls" },
        element("h3", {}, "A token in three dimensions"),
        ...coordinates.map((one) => one.root), norm.root, said, jacobian,
        element("div", { class: "buttons" }, copier("Copy link", () => link(state)), copier("Python", () => normPython(state))),
      ),
    ),
  );

  /** The view's coordinates of a point. @param {number[]} p @returns {[number, number, number]} */
  function seen([x, y, z]) {
    const [yaw, pitch] = [(state.yaw * Math.PI) / 180, (state.pitch * Math.PI) / 180];
    const [a, b] = [x * Math.cos(yaw) + y * Math.sin(yaw), -x * Math.sin(yaw) + y * Math.cos(yaw)];
    const [up, toward] = [z * Math.cos(pitch) - b * Math.sin(pitch), z * Math.sin(pitch) + b * Math.cos(pitch)];
    return [SIZE / 2 + UNIT * a, SIZE / 2 - UNIT * up, -toward];
  }

  /** @param {number[][]} points @param {string} kind */
  function curve(points, kind) {
    // What lies behind the sphere's middle is drawn thinner.
    const pieces = [];
    for (let k = 0; k + 1 < points.length; k++) {
      const [a, b] = [seen(points[k]), seen(points[k + 1])];
      pieces.push(drawn("path", { d: `M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`, class: a[2] + b[2] < 0 ? `${kind} behind` : kind }));
    }
    return pieces;
  }

  /** @param {(t: number) => number[]} at @param {number} steps */
  const circle = (at, steps = 48) => Array.from({ length: steps + 1 }, (_, k) => at((2 * Math.PI * k) / steps));

  /** @param {number[]} from @param {number[]} direction @param {string} kind */
  function arrow(from, direction, kind) {
    const [a, b] = [seen(from), seen(from.map((x, k) => x + direction[k]))];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const size = Math.hypot(dx, dy);
    const made = [drawn("path", { d: `M${a[0]} ${a[1]}L${b[0]} ${b[1]}`, class: kind })];
    if (size > 4) {
      const [ux, uy] = [(dx / size) * 9, (dy / size) * 9];
      made.push(drawn("path", { d: `M${b[0]} ${b[1]}l${-ux - uy * 0.5} ${-uy + ux * 0.5}l${uy} ${-ux}Z`, class: `${kind} head` }));
    }
    return made;
  }

  function drawSphere() {
    const x = [state.x1, state.x2, state.x3];
    const layer = state.norm === "layer";
    const radius = Math.sqrt(3);
    const [c] = layer ? centre([x]) : [x];
    const size = rowNorm(c);
    const defined = size > 1e-9;
    const ones = [1, 1, 1].map((a) => a / radius);
    const [e1, e2] = [[1, -1, 0].map((a) => a / Math.SQRT2), [1, 1, -2].map((a) => a / Math.sqrt(6))];
    const around = (/** @type {number[]} */ a, /** @type {number[]} */ b) => circle((t) => a.map((_, k) => radius * (a[k] * Math.cos(t) + b[k] * Math.sin(t))));
    scene.replaceChildren(
      drawn("circle", { cx: SIZE / 2, cy: SIZE / 2, r: UNIT * radius, class: "ball" }),
      ...curve(around([1, 0, 0], [0, 1, 0]), "mesh"),
      ...curve(around([1, 0, 0], [0, 0, 1]), "mesh"),
      ...curve(around([0, 1, 0], [0, 0, 1]), "mesh"),
      ...(layer ? curve(around(e1, e2), "image-set") : []),
      ...(layer ? curve([ones.map((a) => -3 * a), ones.map((a) => 3 * a)], "axis-line") : []),
    );
    if (defined) {
      const [y] = layer ? layerNorm([x]) : rmsNorm([x]);
      const J = layer ? layerNormJacobian(x) : rmsNormJacobian(x);
      const unit = c.map((a) => a / size);
      const kept = layer ? [ones[1] * unit[2] - ones[2] * unit[1], ones[2] * unit[0] - ones[0] * unit[2], ones[0] * unit[1] - ones[1] * unit[0]] : [];
      const mean = x.reduce((a, b) => a + b, 0) / 3;
      // The fibre: all that has the same image. For LayerNorm a half plane, of which the two lines through x are shown.
      const along = (/** @type {number} */ t) => c.map((a) => a * t + (layer ? mean : 0));
      scene.append(
        ...curve([along(0), along(Math.max(3 / size, 1.2))], "fibre"),
        ...(layer ? curve([x.map((a) => a - 1.2), x.map((a) => a + 1.2)], "fibre") : []),
        ...(layer ? arrow(x, ones, "null-one") : []),
        ...arrow(x, unit, "null-two"),
        ...(layer ? arrow(y, kept, "kept") : []),
        ...point(x, "point"),
        ...point(y, "image"),
      );
      const zero = (/** @type {number[]} */ v) => shown(rowNorm(multiply([v], J)[0]));
      const values = singularValues(J).map((s) => (s < 1e-12 ? "0" : shown(s)));
      said.textContent = layer
        ? `LN(x) = (${y.map(twoDigits).join(", ")}), of length √3. Along 1 and along x − mean nothing moves: ‖1 J‖ = ${zero([1, 1, 1])}, ‖(x − mean) J‖ = ${zero(c)} in float64.`
        : `RMS(x) = (${y.map(twoDigits).join(", ")}), of length √3. Along x nothing moves: ‖x J‖ = ${zero(x)} in float64; along 1 it does: ${zero([1, 1, 1])}.`;
      jacobian.replaceChildren(
        element("p", { class: "note" }, `Jacobian, singular values ${values.join(", ")}`),
        element("table", { class: "bracketed" }, element("tbody", {}, ...J.map((row) => element("tr", {}, ...row.map((a) => element("td", {}, (Math.abs(a) < 5e-4 ? 0 : a).toFixed(3).replace("-", "−"))))))),
      );
    } else {
      scene.append(...point(x, "point"));
      said.textContent = layer ? "x is a constant row: LayerNorm is not defined there." : "x is zero: RMSNorm is not defined there.";
      jacobian.replaceChildren();
    }
    const entries = layer
      ? [["--one", "x and LN(x)"], ["--three", "all images: a circle"], ["--two", "null: x − mean"], ["--four", "null: 1"], ["--soft", "same image"]]
      : [["--one", "x and RMS(x)"], ["--two", "null: x"], ["--soft", "same image"]];
    legend.replaceChildren(
      ...entries.map(([ink, text]) => {
        const key = element("span", { class: "key" });
        key.style.borderTop = `3px solid var(${ink})`;
        return element("li", {}, key, text);
      }),
    );
  }

  /** @param {number[]} p @param {string} kind */
  function point(p, kind) {
    const [x, y] = seen(p);
    return [drawn("circle", { cx: x, cy: y, r: 6, class: kind })];
  }

  // ---- gradient paths

  const sliders = {
    alpha: slider({ label: "scale α", min: 0, max: 2, step: 0.05, value: state.alpha, input: (alpha) => update({ alpha }) }),
    layers: slider({ label: "layers L", min: 1, max: 24, step: 1, value: state.layers, digits: 0, input: (layers) => update({ layers }) }),
  };
  const paths = element("div", { class: "card" }, element("h3", {}, "Which paths carry the gradient, by their length"));
  const chart = lineChart(paths, {
    label: "Share of the squared gradient by path length", x: "layers on the path",
    series: [{ label: "one draw", ink: "--one" }, { label: "expected: binomial", ink: "--two", dash: [6, 4], points: false }],
  });
  const gains = element("tbody");
  const pathsSaid = element("p", { class: "readout", role: "status" });
  root.append(
    element(
      "h2",
      { class: "second" },
      "A gradient through a residual stack is a sum over paths",
    ),
    element(
      "div",
      { class: "two" },
      paths,
      element(
        "div",
        { class: "card controls" },
        element("h3", {}, "A random stack"),
        sliders.alpha.root, sliders.layers.root,
        button("Draw another", () => update({ seed: state.seed + 1 })),
        element(
          "table",
          { class: "losses" },
          element("thead", {}, element("tr", {}, ...["a gradient’s length grows by", "this draw", "expected"].map((name) => element("th", { scope: "col" }, name)))),
          gains,
        ),
        pathsSaid,
      ),
    ),
  );

  function drawPaths() {
    const found = gradientPaths(state.layers, WIDTH, state.alpha, state.seed);
    chart.show(found.shares.map((_, s) => s), [found.shares, found.expected]);
    gains.replaceChildren(
      ...[["with the skip", found.residual, found.residualExpected], ["without it", found.plain, found.plainExpected]].map(([name, here, usual]) =>
        element("tr", {}, element("th", { scope: "row" }, String(name)), element("td", {}, shown(Number(here))), element("td", {}, shown(Number(usual)))),
      ),
    );
    pathsSaid.textContent = `Of ${(2 ** state.layers).toLocaleString("en")} paths, the ones that matter have about ${found.meanLength.toFixed(1)} of ${state.layers} layers: L α²/(1 + α²).`;
  }

  // ---- state

  const refresh = onceAFrame(() => {
    drawSphere();
    drawPaths();
  });

  /** @param {Partial<NormState>} changes */
  function update(changes) {
    set({ ...state, ...changes });
    changed(state);
  }

  /** @param {NormState} next */
  function set(next) {
    state = saneNorms(next);
    for (const one of coordinates) one.set(state[one.name]);
    norm.set(state.norm);
    sliders.alpha.set(state.alpha);
    sliders.layers.set(state.layers);
    refresh();
  }

  set(state);
  return { set, redraw: () => chart.redraw() };
}

/** @param {number} a */
function twoDigits(a) {
  return (Math.round(a * 100) / 100 + 0).toFixed(2).replace("-", "−");
}

/** @param {NormState} state */
function normPython({ x1, x2, x3, norm }) {
  const name = norm === "layer" ? "layer_norm" : "rms_norm";
  return [
    "import numpy as np",
    `from resstream.reference import ${name}, ${name}_jacobian`,
    "",
    `x = np.array([[${x1}, ${x2}, ${x3}]])`,
    `print(${name}(x))`,
    `print(np.linalg.svd(${name}_jacobian(x), compute_uv=False))`,
    "",
  ].join("\n");
}
