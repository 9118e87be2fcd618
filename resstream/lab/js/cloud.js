// @ts-check
// The cloud's room: tokens to drag, the stack they go through, the theorems' numbers, and a certificate.

import { heatmap, lineChart } from "./charts.js";
import { runCloud, valueMap } from "./cloud_model.js";
import { button, choice, copier, drawn, element, onceAFrame, shown, slider, still, toggle, whenQuiet } from "./dom.js";
import { encode } from "./fragment.js";
import { tokenHandle } from "./points.js";
import { certify, fraction, rounded, toNumber } from "./rational.js";

/** @typedef {import("./cloud_model.js").CloudSettings} CloudSettings */
/** @typedef {CloudSettings & { layer: number, fit: boolean, grain: number }} CloudState */

/** @typedef {{ name: string, title: string, about: string, settings: Partial<CloudState> }} Preset */

const DEEPEST = 24;
const REACH = 2; // half the width of the view, in the tokens' units
const GRAINS = [100, 1000, 1_000_000]; // a certificate's weights are whole multiples of 1/grain
const VIEW = 400; // pixels of the view's own coordinates
export const INKS = Array.from({ length: 10 }, (_, i) => `--token-${i + 1}`);

/** @param {number[][]} tokens @returns {CloudState} */
export function cloudDefaults(tokens) {
  return {
    tokens, beta: 4, depth: 18, step: 1, size: 1, angle: 0, stretch: 1, mask: false, skip: false, norm: "none",
    placement: "pre", layer: 0, fit: false, grain: 1000,
  };
}

/** Within the controls' ranges, whatever a link says. @param {CloudState} state @param {number[][]} usual tokens @returns {CloudState} */
export function saneCloud(state, usual) {
  const between = (/** @type {number} */ x, /** @type {number} */ low, /** @type {number} */ high) => Math.min(Math.max(x, low), high);
  const depth = Math.round(between(state.depth, 1, DEEPEST));
  return {
    ...state,
    tokens: (state.tokens[0].length === 2 ? state.tokens : usual).slice(0, 24).map((row) => row.map((x) => between(x, -REACH, REACH))),
    beta: between(state.beta, 0.05, 20),
    depth,
    step: between(state.step, 0, 2),
    size: between(state.size, 0, 2),
    angle: Math.round(between(state.angle, -180, 180)),
    stretch: between(state.stretch, -2, 2),
    norm: ["none", "rms", "layer"].includes(state.norm) ? state.norm : "none",
    placement: state.placement === "post" ? "post" : "pre",
    layer: Math.round(between(state.layer, 0, depth)),
    grain: GRAINS.includes(state.grain) ? state.grain : 1000,
  };
}

/**
 * Build the room in `root`. `changed` is called with the state after every change of it.
 * @param {HTMLElement} root
 * @param {{ state: CloudState, presets: Preset[], defaults: CloudState, changed: (state: CloudState) => void,
 *   link?: (state: CloudState) => string }} options
 */
export function cloudRoom(root, { state: given, presets, defaults, changed, link }) {
  let state = saneCloud(given, defaults.tokens);
  let run = runCloud(state);
  /** @type {number | null} where the animation is, between layers; null when it is still */
  let playing = null;
  let watched = -1;

  // ---- the stage: the cloud itself

  const trails = drawn("g", { class: "trails" });
  const looks = drawn("g", { class: "looks" });
  const dots = drawn("g", { class: "dots" });
  const handles = drawn("g", { class: "handles" });
  const grid = drawn("g", { class: "grid", "aria-hidden": "true" });
  for (let k = -REACH; k <= REACH; k++) {
    const at = toView(k);
    grid.append(drawn("path", { d: `M${at} 0V${VIEW}M0 ${at}H${VIEW}`, class: k === 0 ? "zero" : "" }));
  }
  const stage = drawn(
    "svg",
    { viewBox: `0 0 ${VIEW} ${VIEW}`, class: "stage", role: "group", "aria-label": "The cloud of tokens" },
    grid, trails, looks, dots, handles,
  );
  /** @type {{ trail: SVGPathElement, dot: SVGCircleElement, place: (view: number, grip: number) => void, look: SVGLineElement }[]} */
  let marks = [];

  function makeMarks() {
    for (const group of [trails, looks, dots, handles]) group.replaceChildren();
    marks = state.tokens.map((_, i) => {
      const ink = `var(${INKS[i % INKS.length]})`;
      const trail = drawn("path", { stroke: ink, fill: "none" });
      const look = drawn("line", { stroke: ink });
      const dot = drawn("circle", { r: 6, fill: ink });
      const { handle, place } = tokenHandle(stage, {
        index: i, ink, reach: REACH, at: () => state.tokens[i], grasped: stop,
        move: (x, y) => update({ tokens: state.tokens.map((row, k) => (k === i ? [x, y] : row)) }),
      });
      const watch = (/** @type {number} */ who) => () => {
        watched = who;
        draw();
      };
      handle.addEventListener("pointerenter", watch(i));
      handle.addEventListener("focus", watch(i));
      handle.addEventListener("pointerleave", watch(-1));
      handle.addEventListener("blur", watch(-1));
      trails.append(trail);
      looks.append(look);
      dots.append(dot);
      handles.append(handle);
      return { trail, dot, place, look };
    });
  }

  const scaleNote = element("p", { class: "note scale-note" });
  const patternTitle = element("h3");
  const pattern = element("div", { class: "card pattern" }, patternTitle);
  const heat = heatmap(pattern, "attention weights of this layer, a row for each query");

  const play = button("▶ Play", () => (playing === null ? start() : stop()), { class: "play" });
  const layerSlider = slider({
    label: "layer", min: 0, max: state.depth, step: 1, value: state.layer, digits: 0,
    input: (layer) => {
      stop();
      update({ layer });
    },
  });
  const player = element("div", { class: "player" }, play, layerSlider.root);

  // ---- the controls

  const presetAbout = element("p", { class: "note about" });
  const preset = choice({
    label: "preset",
    options: [...presets.map((p) => /** @type {[string, string]} */ ([p.name, p.title])), ["", "your own"]],
    value: "",
    input: (name) => {
      const found = presets.find((p) => p.name === name);
      if (!found) return;
      stop();
      set({ ...defaults, ...found.settings, tokens: defaults.tokens });
    },
  });
  preset.root.classList.add("tall"); // its titles are long
  const sliders = {
    beta: slider({ label: "score scale β", min: 0.05, max: 20, step: 0.01, value: state.beta, logarithmic: true, input: (beta) => update({ beta }) }),
    depth: slider({ label: "depth L", min: 1, max: DEEPEST, step: 1, value: state.depth, digits: 0, input: (depth) => update({ depth, layer: Math.min(state.layer, depth) }) }),
    step: slider({ label: "step η", min: 0, max: 2, step: 0.05, value: state.step, input: (step) => update({ step }) }),
    size: slider({ label: "size of W", min: 0, max: 2, step: 0.05, value: state.size, input: (size) => update({ size }) }),
    angle: slider({ label: "turn of W", min: -180, max: 180, step: 5, value: state.angle, digits: 0, unit: "°", input: (angle) => update({ angle }) }),
    stretch: slider({ label: "stretch of W", min: -2, max: 2, step: 0.05, value: state.stretch, input: (stretch) => update({ stretch }) }),
  };
  const toggles = {
    skip: toggle({ label: "skip connection", value: state.skip, input: (skip) => update({ skip }) }),
    mask: toggle({ label: "causal mask", value: state.mask, input: (mask) => update({ mask }) }),
    fit: toggle({ label: "fit every layer to its frame", value: state.fit, input: (fit) => update({ fit }) }),
  };
  const norm = choice({
    label: "norm",
    options: [["none", "none"], ["rms", "RMSNorm"], ["layer", "LayerNorm"]],
    value: state.norm,
    input: (name) => update({ norm: name }),
  });
  const placement = choice({
    label: "placed",
    options: [["pre", "before attention"], ["post", "after the sum"]],
    value: state.placement,
    input: (name) => update({ placement: name }),
  });
  const formula = element("p", { class: "formula" });
  const controls = element(
    "div",
    { class: "card controls" },
    preset.root, presetAbout, formula,
    ...Object.values(sliders).map((one) => one.root),
    element("div", { class: "pair" }, norm.root, placement.root),
    ...Object.values(toggles).map((one) => one.root),
    element(
      "div",
      { class: "buttons" },
      button("Random cloud", () => update({ tokens: state.tokens.map(() => [gauss(), gauss()]) })),
      ...(link ? [copier("Copy link", () => /** @type {any} */ (link)(state))] : []),
    ),
    element(
      "div",
      { class: "buttons" },
      element("span", { class: "note" }, "copy as"),
      copier("Python", () => cloudPython(state)),
      copier("LaTeX", () => cloudLatex(state)),
      copier("JSON", () => replayJson(state, run.patterns[Math.min(state.layer, state.depth - 1)], run.states[Math.min(state.layer, state.depth - 1)])),
    ),
  );

  // ---- small multiples and charts

  const multiples = element("div", { class: "multiples", role: "group", "aria-label": "The cloud after every layer" });
  /** @type {{ frame: HTMLButtonElement, dots: SVGCircleElement[], note: HTMLElement }[]} */
  let frames = [];

  function makeFrames() {
    multiples.replaceChildren();
    frames = run.states.map((_, layer) => {
      const few = state.tokens.map((_, i) => drawn("circle", { r: 7, fill: `var(${INKS[i % INKS.length]})` }));
      const note = element("span", { class: "note" });
      const frame = button("", () => update({ layer }), { class: "frame" });
      frame.append(
        element("span", { class: "which" }, String(layer)),
        drawn("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, ...few),
        note,
      );
      multiples.append(frame);
      return { frame, dots: few, note };
    });
  }

  const width = element("div", { class: "card" }, element("h3", {}, "How wide the cloud is"));
  const widthChart = lineChart(width, {
    label: "Diameter, bound and relative spread by layer, logarithmic", logarithmic: true, floor: 1e-12, x: "layer",
    series: [
      { label: "diameter of X", ink: "--one" },
      { label: "bound: diam X₀ · Π(τ‖ηW‖)", ink: "--two", dash: [6, 4] },
      { label: "relative spread", ink: "--three", dash: [2, 3] },
    ],
  });
  const shrink = element("div", { class: "card" }, element("h3", {}, "How far a layer must shrink it"));
  const shrinkChart = lineChart(shrink, {
    label: "Dobrushin coefficient and its two bounds by layer, logarithmic", logarithmic: true, floor: 1e-6, x: "layer",
    series: [
      { label: "τ(A)", ink: "--one" },
      { label: "tanh(r/2)", ink: "--two", dash: [6, 4] },
      { label: "1 − e⁻ʳ", ink: "--three", dash: [2, 3] },
    ],
  });
  const readout = element("p", { class: "readout", role: "status" });
  const table = element("tbody");
  const numbers = element(
    "details",
    { class: "card", ontoggle: () => draw() },
    element("summary", {}, "The numbers, layer by layer"),
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "The numbers, layer by layer" },
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, ...["layer", "diameter", "bound", "relative spread", "τ(A)", "r", "tanh(r/2)", "1 − e⁻ʳ"].map((name) => element("th", { scope: "col" }, name)))),
        table,
      ),
    ),
  );

  // ---- the certificate

  const certificate = element("div", { class: "certificate", "aria-live": "polite" });
  const grains = choice({
    label: "weights rounded to",
    options: GRAINS.map((grain) => /** @type {[string, string]} */ ([String(grain), `1/${grain}`])),
    value: String(state.grain),
    input: (value) => update({ grain: Number(value) }),
  });
  const certified = element(
    "div",
    { class: "card certify" },
    element("h3", {}, "Certify this layer"),
    element(
      "p",
      { class: "note" },
      "Theorem 1 (i) in exact rational arithmetic, in this page: the layer’s weights are rounded, divided by their exact row sums, and both sides are computed as fractions.",
    ),
    element("div", { class: "buttons" }, button("Certify", showCertificate, { class: "primary" }), grains.root),
    certificate,
  );

  function staleCertificate() {
    if (!certificate.hasChildNodes()) return;
    certificate.classList.add("stale");
    certifyAgain();
  }

  const certifyAgain = whenQuiet(200, showCertificate);

  function showCertificate() {
    certificate.classList.remove("stale");
    const layer = Math.min(state.layer, state.depth - 1);
    const found = certifyLayer(run.patterns[layer], run.states[layer], state.grain);
    const rows = found.sides.map((side) => {
      const name = { l1: "ℓ₁", "l2 squared": "ℓ₂, squared", linf: "maximum" }[side.norm];
      const verdict = !side.holds ? "violated" : side.tie ? "holds, with equality" : "holds";
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, name),
        element("td", {}, exactCell(side.lhs)),
        element("td", { class: "relation" }, side.tie ? "=" : side.holds ? "<" : ">"),
        element("td", {}, exactCell(side.rhs)),
        element("td", { class: side.holds ? "good" : "bad" }, verdict),
      );
    });
    certificate.replaceChildren(
      element("p", {}, `Layer ${layer + 1}: τ(A) = `, exactCell(found.tau)),
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Both sides in three norms" },
        element(
          "table",
          { class: "exact" },
          element("thead", {}, element("tr", {}, ...["norm", "diam(AX)", "", "τ(A) diam(X)", ""].map((name) => element("th", { scope: "col" }, name)))),
          element("tbody", {}, ...rows),
        ),
      ),
    );
  }

  // ---- showing

  let shownFormula = "";
  let shownTokens = 0;
  let shownDepth = 0;

  // A ring keeps its size on the screen, however narrow the view is.
  let grip = 1;
  new ResizeObserver(() => {
    grip = Math.min(Math.max(VIEW / (stage.clientWidth || VIEW), 0.8), 1.5);
    draw();
  }).observe(stage);

  function draw() {
    if (shownTokens !== state.tokens.length) makeMarks();
    if (shownTokens !== state.tokens.length || shownDepth !== state.depth) makeFrames();
    [shownTokens, shownDepth] = [state.tokens.length, state.depth];
    const at = playing ?? state.layer;
    const low = Math.min(Math.floor(at), state.depth);
    const high = Math.min(low + 1, state.depth);
    const between = at - low;
    const factors = run.states.map(factorOf);
    const factor = factors[low] + (factors[high] - factors[low]) * between;
    const now = run.states[low].map((row, i) => row.map((x, k) => (x + (run.states[high][i][k] - x) * between) * factor));
    const layer = Math.min(Math.round(at), state.depth);
    const A = run.patterns[Math.min(layer, state.depth - 1)];
    marks.forEach(({ trail, dot, place, look }, i) => {
      place(VIEW, grip);
      dot.setAttribute("cx", toView(now[i][0]).toFixed(2));
      dot.setAttribute("cy", toView(-now[i][1]).toFixed(2));
      const path = run.states.slice(0, low + 1).map((X, l) => [X[i][0] * factors[l], X[i][1] * factors[l]]);
      path.push(now[i]);
      trail.setAttribute("d", "M" + path.map(([a, b]) => `${toView(a).toFixed(2)} ${toView(-b).toFixed(2)}`).join("L"));
      const looked = watched >= 0 && watched < A.length;
      look.setAttribute("stroke-opacity", looked ? String(Math.sqrt(A[watched][i])) : "0");
      if (looked) {
        for (const [name, value] of [["x1", now[watched][0]], ["y1", -now[watched][1]], ["x2", now[i][0]], ["y2", -now[i][1]]])
          look.setAttribute(String(name), toView(Number(value)).toFixed(2));
      }
    });
    scaleNote.textContent =
      factors[layer] < 0.999 ? `rings: X₀ · dots: X${subscript(layer)}, drawn ${shown(1 / factors[layer])} times smaller` : `rings: X₀, to drag · dots: X${subscript(layer)}`;
    const reach = Math.max(...run.states.flat(2).map(Math.abs), 1e-300) * 1.15;
    frames.forEach(({ frame, dots: few, note }, l) => {
      const own = state.fit ? Math.max(...run.states[l].flat().map(Math.abs), 1e-300) * 1.15 : reach;
      few.forEach((dot, i) => {
        dot.setAttribute("cx", (50 + (run.states[l][i][0] / own) * 50).toFixed(2));
        dot.setAttribute("cy", (50 - (run.states[l][i][1] / own) * 50).toFixed(2));
      });
      note.textContent = shown(run.diameters[l]);
      frame.setAttribute("aria-pressed", String(l === layer));
      frame.setAttribute("aria-label", `layer ${l}, diameter ${shown(run.diameters[l])}`);
    });
    patternTitle.textContent = `A${subscript(Math.min(layer, state.depth - 1))}: who looks at whom`;
    heat.show(A);
  }

  function drawNumbers() {
    const layers = run.states.map((_, l) => l);
    const late = (/** @type {number[]} */ values) => [null, ...values];
    widthChart.show(layers, [run.diameters, run.bounds, run.spreads]);
    shrinkChart.show(layers, [late(run.taus), late(run.ranges.map((r) => Math.tanh(r / 2))), late(run.ranges.map((r) => -Math.expm1(-r)))]);
    const last = state.depth;
    const bounded = Number.isNaN(run.bounds[last]) ? "no bound by the product: a norm stretches what is narrow" : `bound ${shown(run.bounds[last])}`;
    const spread = `relative spread ${shown(run.spreads[last])}`;
    readout.textContent = `After ${last} layers: diameter ${shown(run.diameters[last])}, ${bounded}, ${spread}.`;
    if (numbers.open)
      table.replaceChildren(
        ...layers.map((l) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, String(l)),
            ...[
              run.diameters[l], run.bounds[l], run.spreads[l],
              ...(l ? [run.taus[l - 1], run.ranges[l - 1], Math.tanh(run.ranges[l - 1] / 2), -Math.expm1(-run.ranges[l - 1])] : [NaN, NaN, NaN, NaN]),
            ].map((x) => element("td", {}, shown(x))),
          ),
        ),
      );
    const key = [state.skip, state.norm, state.placement, state.beta, state.mask].join();
    if (shownFormula !== key) formula.replaceChildren(...layerFormula(state));
    shownFormula = key;
    // Every preset is of the room's own tokens: while one is dragged there is nothing to compare.
    const match = encode({ tokens: state.tokens }, { tokens: defaults.tokens }) ? undefined : presets.find((p) => encode(plain({ ...defaults, ...p.settings }), plain(defaults)) === encode(plain(state), plain(defaults)));
    preset.set(match ? match.name : "");
    presetAbout.textContent = match ? match.about : "Drag the rings, or move them with the arrow keys; hover one to see where it looks.";
  }

  /** What a preset decides: not where the viewer stands. @param {CloudState} some */
  function plain(some) {
    return { ...some, layer: 0, grain: defaults.grain };
  }

  const refresh = onceAFrame(() => {
    draw();
    drawNumbers();
  });

  /** @param {Partial<CloudState>} changes */
  function update(changes) {
    set({ ...state, ...changes });
  }

  /** @param {CloudState} next @param {boolean} [quietly] */
  function set(next, quietly = false) {
    const before = state;
    state = saneCloud(next, defaults.tokens);
    if (encode(plain(before), plain(state)) !== "") {
      run = runCloud(state);
      staleCertificate();
    } else if (before.layer !== state.layer || before.grain !== state.grain) staleCertificate();
    for (const name of /** @type {(keyof typeof sliders)[]} */ (Object.keys(sliders))) sliders[name].set(state[name]);
    for (const name of /** @type {(keyof typeof toggles)[]} */ (Object.keys(toggles))) toggles[name].set(state[name]);
    norm.set(state.norm);
    placement.set(state.placement);
    grains.set(String(state.grain));
    placement.list.disabled = state.norm === "none";
    layerSlider.root.querySelector("input")?.setAttribute("max", String(state.depth));
    layerSlider.set(state.layer);
    refresh();
    if (!quietly) changed(state);
  }

  // ---- the animation

  const SECONDS_A_LAYER = 0.45;

  function start() {
    if (still()) {
      // No motion was asked for: step instead.
      update({ layer: state.layer >= state.depth ? 0 : state.layer + 1 });
      return;
    }
    playing = state.layer >= state.depth ? 0 : state.layer;
    play.textContent = "❚❚ Pause";
    // A frame is stamped with when it began, which may be before the press: the first one moves nothing.
    let before = Infinity;
    /** @param {number} now */
    const tick = (now) => {
      if (playing === null) return;
      playing += Math.max(now - before, 0) / 1000 / SECONDS_A_LAYER;
      before = now;
      if (playing >= state.depth) {
        const layer = state.depth;
        stop();
        update({ layer });
        return;
      }
      layerSlider.set(Math.floor(playing));
      draw();
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  function stop() {
    if (playing === null) return;
    const layer = Math.min(Math.round(playing), state.depth);
    playing = null;
    play.textContent = "▶ Play";
    update({ layer });
  }

  root.append(
    element(
      "div",
      { class: "bench" },
      element("div", { class: "card stage-card" }, stage, scaleNote, player, readout),
      controls,
      element("div", { class: "charts" }, width, shrink),
    ),
    element("div", { class: "card" }, element("h3", {}, "Layer by layer"), multiples),
    element("div", { class: "beside" }, certified, pattern),
    numbers,
  );
  set(state, true);
  return {
    set: (/** @type {CloudState} */ next) => set(next, true),
    redraw() {
      heat.redraw();
      widthChart.redraw();
      shrinkChart.redraw();
    },
    stop,
  };
}

// ---- small pieces -----------------------------------------------------------

/** @param {number} x */
function toView(x) {
  return (x / REACH + 1) * (VIEW / 2);
}

/** What brings a state into view; 1 where it fits. @param {number[][]} X */
function factorOf(X) {
  return Math.min(1, (0.95 * REACH) / Math.max(...X.flat().map(Math.abs), 1e-300));
}

/** @param {number} k */
function subscript(k) {
  return [...String(k)].map((c) => "₀₁₂₃₄₅₆₇₈₉"[Number(c)]).join("");
}

/** A draw of a normal distribution, to two decimals, within view. */
function gauss() {
  const x = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random()) * 0.75;
  return Math.round(Math.min(Math.max(x, -1.9), 1.9) * 100) / 100 + 0;
}

/** @param {import("./rational.js").Rational} value */
function exactCell(value) {
  const text = fraction(value);
  const about = shown(toNumber(value));
  const whole = element("span", { class: "fraction", title: text }, text);
  return element("span", { class: "exact-value" }, whole, value.d === 1n ? "" : element("span", { class: "note" }, ` ≈ ${about}`));
}

/** The certificate of one layer: weights rounded to 1/grain, tokens to a millionth. @param {number[][]} A @param {number[][]} X @param {number} grain */
export function certifyLayer(A, X, grain) {
  return certify(
    A.map((row) => row.map((a) => rounded(a, grain))),
    X.map((row) => row.map((x) => rounded(x, 1_000_000))),
  );
}

/** The layer's formula. @param {CloudSettings} state @returns {Node[]} */
function layerFormula({ skip, norm, placement, beta, mask }) {
  const N = norm === "rms" ? "RMS" : "LN";
  const inner = norm !== "none" && placement === "pre";
  const outer = norm !== "none" && placement === "post";
  const X = "<msub><mi>X</mi><mi>ℓ</mi></msub>";
  const read = inner ? `<mrow><mi mathvariant="normal">${N}</mi><mo>(</mo>${X}<mo>)</mo></mrow>` : X;
  const written = `<mi>η</mi><msub><mi>A</mi><mi>ℓ</mi></msub>${read}<mi>W</mi>`;
  const sum = skip ? `${X}<mo>+</mo>${written}` : written;
  const next = outer ? `<mi mathvariant="normal">${N}</mi><mo>(</mo>${sum}<mo>)</mo>` : sum;
  const transposed = inner ? `${read}<mi>N</mi>` : X;
  const scores = inner
    ? `<mi>N</mi><msup><mi>N</mi><mi>T</mi></msup>`
    : `${transposed}<msubsup><mi>X</mi><mi>ℓ</mi><mi>T</mi></msubsup>`;
  const name = mask ? "softmax</mi><mo>↓</mo>" : "softmax</mi>";
  const math = document.createElement("div");
  math.innerHTML =
    `<math display="block"><msub><mi>X</mi><mrow><mi>ℓ</mi><mo>+</mo><mn>1</mn></mrow></msub><mo>=</mo>${next}</math>` +
    `<math display="block"><msub><mi>A</mi><mi>ℓ</mi></msub><mo>=</mo><mi mathvariant="normal">${name}<mo>(</mo>` +
    `<mn>${beta}</mn><mo>·</mo>${scores}<mo>)</mo>${inner ? `<mtext>, </mtext><mi>N</mi><mo>=</mo>${read}` : ""}</math>`;
  return [...math.childNodes];
}

// ---- copy as ----------------------------------------------------------------

/** @param {number[][]} X */
function pythonArray(X) {
  return "np.array([" + X.map((row) => `[${row.join(", ")}]`).join(", ") + "])";
}

/** Code that computes the same with the package. @param {CloudSettings} state */
export function cloudPython(state) {
  const { norm, placement, skip, mask, beta, depth, tokens, step } = state;
  const W = valueMap(state);
  const functions = ["diameter", "dobrushin", "softmax", ...(mask ? ["causal_mask"] : [])];
  if (norm !== "none") functions.push(norm === "rms" ? "rms_norm" : "layer_norm");
  const normed = norm === "layer" ? "(layer_norm({} @ plane, epsilon=1e-5) @ plane.T)" : "rms_norm({}, epsilon=1e-5)";
  const apply = (/** @type {string} */ text) => normed.replace("{}", text);
  const lines = ["import numpy as np", `from resstream.reference import ${functions.sort().join(", ")}`, "", `X = ${pythonArray(tokens)}`, `W = ${step} * ${pythonArray(W)}`];
  if (norm === "layer") lines.push("plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # vectors of mean zero in three dimensions");
  lines.push(`for layer in range(${depth}):`);
  lines.push(`    read = ${norm !== "none" && placement === "pre" ? apply("X") : "X"}`);
  lines.push(`    A = softmax(${beta} * read @ read.T${mask ? ", causal_mask(len(X))" : ""})`);
  const sum = skip ? "X + A @ read @ W" : "A @ read @ W";
  lines.push(`    X = ${norm !== "none" && placement === "post" ? apply(`(${sum})`) : sum}`);
  lines.push("    print(layer + 1, dobrushin(A).item(), diameter(X).item())");
  return lines.join("\n") + "\n";
}

/** The tokens and the layer. @param {CloudSettings} state */
export function cloudLatex({ tokens, beta, skip, norm, placement, mask }) {
  const rows = tokens.map((row) => row.join(" & ")).join(" \\\\ ");
  const N = norm === "rms" ? "\\mathrm{RMS}" : "\\mathrm{LN}";
  const read = norm !== "none" && placement === "pre" ? `${N}(X_\\ell)` : "X_\\ell";
  const sum = `${skip ? "X_\\ell + " : ""}\\eta A_\\ell ${read} W`;
  const next = norm !== "none" && placement === "post" ? `${N}(${sum})` : sum;
  return (
    `X_0 = \\begin{pmatrix} ${rows} \\end{pmatrix}, \\quad\nX_{\\ell+1} = ${next}, \\quad\n` +
    `A_\\ell = \\mathrm{softmax}${mask ? "_{\\downarrow}" : ""}(${beta}\\, ${read} ${read}^{\\mathsf T})\n`
  );
}

/** An instance of Theorem 1 (i) that `resstream replay` judges. @param {CloudState} state @param {number[][]} A @param {number[][]} X */
export function replayJson({ grain }, A, X) {
  const n = X.length;
  const arrays = {
    A: A.map((row) => row.map((a) => fraction(rounded(a, grain)))),
    X: X.map((row) => row.map((x) => fraction(rounded(x, 1_000_000)))),
  };
  const data = {
    format: "resstream-counterexample-1", claim: "contraction.diameter", file: null, digest: null, named: true,
    changes: { sizes: { n: `${n}:${n}` } }, seed: 0, engine: "laboratory",
    raw: { sizes: { d: 2, n }, options: { "norm.kind": "l2", "norm.basis": "standard" }, arrays },
  };
  return JSON.stringify(data, null, 1) + "\n";
}
