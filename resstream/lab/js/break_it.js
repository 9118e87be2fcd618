// @ts-check
// The room of false claims: an instance to drag until the margin turns negative, beside the package's certified one.

import { INKS } from "./cloud.js";
import { button, choice, copier, drawn, element, onceAFrame, shown, slider } from "./dom.js";
import { ExpressionError, mathML, parse, relativeMargin, valueOf } from "./expressions.js";
import { multiply } from "./mathematics.js";
import { tokenHandle } from "./points.js";
import { fraction, ofFloat, rounded, toNumber } from "./rational.js";

/** @typedef {import("./mathematics.js").Matrix} Matrix */
/** @typedef {import("./mathematics.js").NormKind} NormKind */
/** @typedef {"A" | "B" | "X" | "W" | "S" | "x" | "y"} VariableName */
/**
 * @typedef {object} Statement
 * @property {string} id
 * @property {string} headline
 * @property {string} source
 * @property {string} expect
 * @property {string} lhs
 * @property {string} relation  "<=" or ">="
 * @property {string} rhs
 * @property {string} typed  the right side that the room opens with, where it is not the claim's
 * @property {Record<string, "weights" | "matrix" | "norm">} over
 * @property {string[]} sizes  the names of its sizes: d is the width, every other one is n here
 * @property {{ arrays: Record<string, string[][]>, values: Record<string, any>, lhs: string, rhs: string, largest: number }} found
 */
/** @typedef {Record<VariableName, Matrix> & { claim: string, rhs: string, n: number, d: number, norm: NormKind }} BreakState */

const VARIABLES = /** @type {VariableName[]} */ (["A", "B", "X", "W", "S", "x", "y"]);
const SPREAD = 4; // half the width of the view
const SIDE = 300;

/** Every statement holds there but one, which holds nowhere with room to spare: the search is the visitor's. @type {BreakState} */
export const BREAK = {
  claim: "contraction.diameter_squared", rhs: "", n: 3, d: 2, norm: "l2",
  A: [[2, 7, 3], [0, 9, 1], [6, 2, 7]],
  B: [[4, 2, 2], [7, 6, 6], [4, 7, 7]],
  X: [[-2, -2.5], [1, -1.5], [3, 0.5]],
  W: [[1, 0.5], [0.2, 1]],
  S: [[4, 0, 0], [4, 0, 1], [3, 0, 0]],
  x: [[2, -1]],
  y: [[-2, 3]],
};

/** @param {BreakState} state @returns {BreakState} */
export function saneBreak(state) {
  const n = Math.round(Math.min(Math.max(state.n, 2), 5));
  const d = Math.round(Math.min(Math.max(state.d, 1), 4));
  /** @type {Record<VariableName, [number, number]>} */
  const shapes = { A: [n, n], B: [n, n], X: [n, d], W: [d, d], S: [n, n], x: [1, d], y: [1, d] };
  const found = /** @type {BreakState} */ ({ ...state, n, d, rhs: state.rhs.slice(0, 200), norm: ["l1", "l2", "linf"].includes(state.norm) ? state.norm : "l2" });
  for (const name of VARIABLES) {
    const [rows, columns] = shapes[name];
    const low = name === "A" || name === "B" ? 0 : -1e4;
    const entry = (/** @type {number} */ i, /** @type {number} */ j) => state[name][i]?.[j] ?? BREAK[name][i]?.[j] ?? Number(i === j);
    found[name] = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => Math.min(Math.max(entry(i, j), low), 1e4)));
  }
  return found;
}

/** Weights over their row sums; a row without weight is uniform, as in the package. @param {Matrix} weights @returns {Matrix} */
export function builtStochastic(weights) {
  return weights.map((row) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((w) => (sum > 0 ? w / sum : 1 / row.length));
  });
}

/**
 * Both sides and the margin of a statement at an instance; a typed right side may name the stated one, `rhs`.
 * @param {Pick<Statement, "lhs" | "rhs" | "relation" | "over">} statement @param {BreakState} state @param {string} typed
 */
export function marginOf(statement, state, typed) {
  /** @type {Record<string, any>} */
  const scope = {};
  for (const [name, kind] of Object.entries(statement.over))
    scope[name] = kind === "weights" ? builtStochastic(state[/** @type {VariableName} */ (name)]) : state[/** @type {"X"} */ (name)];
  const side = (/** @type {string} */ text) => {
    const value = valueOf(parse(text), scope);
    if (typeof value === "string") throw new ExpressionError("expected a matrix, got a norm", 0);
    return value;
  };
  const lhs = side(statement.lhs);
  scope.lhs = lhs;
  scope.rhs = side(statement.rhs);
  const rhs = typed ? side(typed) : scope.rhs;
  const found = statement.relation === "<=" ? relativeMargin(lhs, rhs) : relativeMargin(rhs, lhs);
  return statement.relation === "<=" ? found : { margin: found.margin, lhs: found.rhs, rhs: found.lhs };
}

/** A fraction's text as the nearest float. @param {string} text */
function ofText(text) {
  const [n, d = "1"] = text.split("/");
  return Number(n) / Number(d);
}

/**
 * @param {HTMLElement} root
 * @param {{ state: BreakState, statements: Statement[], changed: (state: BreakState) => void, link: (state: BreakState) => string }} options
 */
export function breakRoom(root, { state: given, statements, changed, link }) {
  let state = given;
  const byId = new Map(statements.map((one) => [one.id, one]));
  const statement = () => byId.get(state.claim) ?? statements[0];
  const typed = () => state.rhs || statement().typed;

  const claimList = choice({
    label: "claim",
    options: statements.map((one) => /** @type {[string, string]} */ ([one.id, `${one.id} (${one.expect === "fails" ? "false as stated" : "true: break your own"})`])),
    value: state.claim,
    input: (claim) => update({ claim, rhs: "" }),
  });
  const headline = element("p", { class: "headline" });
  const source = element("p", { class: "note" });
  const formula = element("div", { class: "formula wide" });
  const field = element("input", {
    type: "text", id: "break-rhs", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    oninput: () => update({ rhs: field.value }),
  });
  const complaint = element("p", { class: "bad complaint", role: "alert" });
  const gauge = drawn("svg", { viewBox: "-100 -14 200 34", class: "gauge", "aria-hidden": "true" });
  const needle = drawn("path", { d: "M-5 -12H5L0 -3Z", class: "needle" });
  gauge.append(
    drawn("rect", { x: -100, y: -2, width: 100, height: 7, class: "negative" }),
    drawn("rect", { x: 0, y: -2, width: 100, height: 7, class: "positive" }),
    needle,
  );
  for (const [x, text, anchor] of /** @type {[number, string, string][]} */ ([[-100, "−1", "start"], [0, "0", "middle"], [100, "1", "end"]])) {
    const tick = drawn("text", { x, y: 17, "text-anchor": anchor });
    tick.textContent = text;
    gauge.append(tick);
  }
  const verdict = element("p", { class: "verdict-line", role: "status" });

  const stage = drawn("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "stage small", role: "group", "aria-label": "The tokens X" });
  const board = element("div", { class: "card" }, element("h3", {}, "The tokens"), stage, element("p", { class: "note" }, "rings: X, to drag · dots: AX"));
  const editors = element("div", { class: "editors" });
  const sizes = element("div", { class: "sizes" });
  const nSlider = slider({ label: "tokens n", min: 2, max: 5, step: 1, value: state.n, digits: 0, input: (n) => update({ n }) });
  const dSlider = slider({ label: "width d", min: 1, max: 4, step: 1, value: state.d, digits: 0, input: (d) => update({ d }) });
  const norm = choice({ label: "norm", options: [["l1", "ℓ₁"], ["l2", "ℓ₂"], ["linf", "maximum"]], value: state.norm, input: (name) => update({ norm: name }) });
  const instance = element("div", { class: "card" }, element("h3", {}, "The instance"), sizes, editors);

  const theirs = element("div", { class: "theirs" });
  const packageCard = element("div", { class: "card" }, element("h3", {}, "The package’s certified counterexample"), theirs);

  root.append(
    element(
      "div",
      { class: "card" },
      claimList.root, headline, source, formula,
      element("div", { class: "buttons typing" }, element("label", { for: "break-rhs" }, "another right side"), field),
      complaint, gauge, verdict,
      element(
        "div",
        { class: "buttons" },
        button("Start again", () => set({ ...BREAK, claim: state.claim, rhs: state.rhs })),
        copier("Copy link", () => link(state)),
        copier("Command", () => command(statement(), typed())),
        copier("JSON", () => instanceJson(statement(), state, typed())),
      ),
    ),
    element("div", { class: "breaking" }, board, instance, packageCard),
  );

  // ---- showing

  /** @type {{ key: string, tokens: ReturnType<typeof tokenHandle>[], dots: SVGCircleElement[], cells: Map<string, HTMLInputElement> }} */
  let made = { key: "", tokens: [], dots: [], cells: new Map() };

  function build() {
    const { over } = statement();
    const key = [state.claim, state.n, state.d].join();
    if (made.key === key) return;
    const grid = drawn("g", { class: "grid", "aria-hidden": "true" });
    for (let k = -SPREAD; k <= SPREAD; k++) {
      const at = (k / SPREAD + 1) * (SIDE / 2);
      grid.append(drawn("path", { d: `M${at} 0V${SIDE}M0 ${at}H${SIDE}`, class: k === 0 ? "zero" : "" }));
    }
    const planar = "X" in over && state.d === 2;
    board.hidden = !planar;
    const ink = (/** @type {number} */ i) => `var(${INKS[i % INKS.length]})`;
    const tokens = planar
      ? state.X.map((_, index) =>
          tokenHandle(stage, { index, ink: ink(index), reach: SPREAD, at: () => state.X[index], move: (x, y) => update({ X: state.X.map((row, i) => (i === index ? [x, y] : row)) }) }),
        )
      : [];
    const dots = planar && "A" in over ? state.X.map((_, i) => drawn("circle", { r: 5, fill: ink(i) })) : [];
    stage.replaceChildren(grid, ...dots, ...tokens.map((one) => one.handle));
    const cells = new Map();
    editors.replaceChildren();
    for (const [name, kind] of Object.entries(over)) {
      if (kind === "norm") continue;
      const rows = state[/** @type {VariableName} */ (name)].map((row, i) =>
        element("div", { class: "row" }, ...row.map((_, j) => cell(cells, /** @type {VariableName} */ (name), kind, i, j))),
      );
      const about = kind === "weights" ? `${name}: weights, divided by their row sums` : name;
      editors.append(element("div", { class: "editor" }, element("p", { class: "note" }, about), ...rows));
    }
    const matrices = Object.entries(over).filter(([, kind]) => kind !== "norm").map(([name]) => name);
    const tall = matrices.some((name) => "ABXS".includes(name));
    const wide = matrices.some((name) => "XWxy".includes(name));
    sizes.replaceChildren(...(tall ? [nSlider.root] : []), ...(wide ? [dSlider.root] : []), ...("norm" in over ? [norm.root] : []));
    made = { key, tokens, dots, cells };
    showPackage();
  }

  /** A number to type, or to change by dragging sideways. @param {Map<string, HTMLInputElement>} cells @param {VariableName} name @param {string} kind @param {number} i @param {number} j */
  function cell(cells, name, kind, i, j) {
    const step = 0.1;
    const put = (/** @type {number} */ value) => {
      if (!Number.isFinite(value)) return;
      const near = Math.round(Math.max(value, kind === "weights" ? 0 : -1e4) * 1000) / 1000 + 0;
      update({ [name]: state[name].map((row, a) => row.map((x, b) => (a === i && b === j ? near : x))) });
    };
    const box = element("input", {
      type: "number", step, class: "cell", "aria-label": `${name}, row ${i + 1}, column ${j + 1}`, inputmode: "decimal",
      ...(kind === "weights" ? { min: 0 } : {}),
      oninput: () => box.value.trim() !== "" && put(Number(box.value)),
      onblur: () => refresh(),
    });
    /** @type {{ x: number, value: number, moved: boolean } | null} */
    let held = null;
    box.addEventListener("pointerdown", (event) => {
      box.setPointerCapture(event.pointerId);
      held = { x: event.clientX, value: state[name][i][j], moved: false };
    });
    box.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons) return;
      const by = event.clientX - held.x;
      if (!held.moved && Math.abs(by) < 4) return;
      held.moved = true;
      put(held.value + Math.round(by / 3) * step);
      box.value = String(state[name][i][j]);
    });
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => (held = null));
    cells.set(`${name},${i},${j}`, box);
    return box;
  }

  function showPackage() {
    const { found, id, lhs, relation, rhs, typed: opened, over } = statement();
    const matrices = Object.entries(found.values).map(([name, value]) =>
      element("div", { class: "exact-matrix" }, element("span", { class: "name" }, `${name} =`), Array.isArray(value) ? fractions(value) : element("span", {}, value)),
    );
    theirs.replaceChildren(
      element("p", { class: "note" }, `Found, shrunk and certified by resstream falsify ${id}${opened ? ` --rhs "${opened}"` : ""} when this page was written.`),
      element("div", { class: "matrices" }, ...matrices),
      element("p", { class: "sides" }, `${lhs} = `, element("code", {}, enclosure(found.lhs))),
      element("p", { class: "sides" }, `${opened || rhs} = `, element("code", {}, enclosure(found.rhs))),
      element("p", {}, `So ${relation === "<=" ? "≤" : "≥"} fails; the largest relative violation seen is ${shown(found.largest)}.`),
      button("Show it here", () => {
        const sizesOf = /** @type {Partial<BreakState>} */ ({});
        for (const [name, kind] of Object.entries(over)) {
          if (kind === "norm") {
            if (typeof found.values[name] === "string") sizesOf.norm = /** @type {NormKind} */ (found.values[name]);
            continue;
          }
          const given = kind === "weights" ? found.arrays[name] : found.values[name];
          const rows = /** @type {string[][]} */ (given).map((row) => row.map(ofText));
          sizesOf[/** @type {VariableName} */ (name)] = rows;
          if ("ABXS".includes(name)) sizesOf.n = rows.length;
          if ("XWxy".includes(name)) sizesOf.d = rows[0].length;
        }
        set({ ...state, ...sizesOf, rhs: "" });
      }),
    );
  }

  function draw() {
    build();
    const one = statement();
    headline.textContent = one.headline;
    source.textContent = one.source;
    claimList.set(one.id);
    nSlider.set(state.n);
    dSlider.set(state.d);
    norm.set(state.norm);
    if (document.activeElement !== field) field.value = typed();
    for (const [key, box] of made.cells) {
      const [name, i, j] = key.split(",");
      const value = state[/** @type {VariableName} */ (name)][Number(i)][Number(j)];
      if (document.activeElement !== box) box.value = String(value);
      const row = state[/** @type {VariableName} */ (name)][Number(i)];
      if (one.over[name] === "weights") box.style.setProperty("--share", String(value / (row.reduce((a, b) => a + b, 0) || 1)));
    }
    made.tokens.forEach(({ place }) => place(SIDE, 0.95));
    if (made.dots.length) {
      const moved = multiply(builtStochastic(state.A), state.X);
      made.dots.forEach((dot, i) => {
        dot.setAttribute("cx", ((moved[i][0] / SPREAD + 1) * (SIDE / 2)).toFixed(2));
        dot.setAttribute("cy", ((-moved[i][1] / SPREAD + 1) * (SIDE / 2)).toFixed(2));
      });
    }
    try {
      const right = parse(typed() || one.rhs);
      formula.innerHTML = `<math display="block">${mathML(parse(one.lhs))}<mo>${one.relation === "<=" ? "≤" : "≥"}</mo>${mathML(right)}</math>`;
      const { margin, lhs, rhs } = marginOf(one, state, typed());
      complaint.textContent = "";
      needle.setAttribute("transform", `translate(${(Number.isFinite(margin) ? Math.max(-1, Math.min(1, margin)) : 0) * 100} 0)`);
      const broken = margin < -1e-9;
      verdict.className = `verdict-line ${broken ? "bad" : ""}`;
      verdict.textContent = Number.isNaN(margin)
        ? "Not defined at this instance."
        : `${shown(lhs)} ${one.relation === "<=" ? "≤" : "≥"} ${shown(rhs)} ${broken ? "fails" : Math.abs(margin) <= 1e-9 ? "is a tie, as far as floats can tell" : "holds"}; margin ${shown(margin)} in float64.`;
    } catch (failure) {
      if (!(failure instanceof ExpressionError)) throw failure;
      complaint.textContent = failure.message;
      verdict.textContent = "";
    }
  }

  const refresh = onceAFrame(draw);

  /** @param {Partial<BreakState>} changes */
  function update(changes) {
    set({ ...state, ...changes });
  }

  /** @param {BreakState} next @param {boolean} [quietly] */
  function set(next, quietly = false) {
    state = saneBreak(next);
    refresh();
    if (!quietly) changed(state);
  }

  set(state, true);
  return { set: (/** @type {BreakState} */ next) => set(next, true), redraw() {} };
}

/** A ball with twelve digits: the rest of its midpoint says nothing to a reader. @param {string} text */
function enclosure(text) {
  const found = /^\[(-?\d*\.\d{12})\d* \+\/- (\S+)\]$/.exec(text);
  return (found ? `${found[1]}… ± ${found[2]}` : text).replace(/^-/, "−");
}

/** @param {string[][]} rows */
function fractions(rows) {
  return element("table", { class: "bracketed" }, element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text) => element("td", {}, text.replace("-", "−")))))));
}

/** @param {Statement} statement @param {string} typed */
function command(statement, typed) {
  return `resstream falsify ${statement.id}${typed ? ` --rhs "${typed}"` : ""}\n`;
}

/** A number as it is written, exactly: decimals are fractions of a million, others dyadic. @param {number} x */
function exactText(x) {
  const decimal = rounded(x, 1_000_000);
  return fraction(toNumber(decimal) === x ? decimal : ofFloat(x));
}

/** The instance for `resstream replay`. @param {Statement} statement @param {BreakState} state @param {string} typed */
function instanceJson(statement, state, typed) {
  /** @type {Record<string, string[][]>} */
  const arrays = {};
  for (const [name, kind] of Object.entries(statement.over))
    if (kind !== "norm") arrays[name] = state[/** @type {VariableName} */ (name)].map((row) => row.map(exactText));
  const sizes = Object.fromEntries(statement.sizes.map((name) => [name, name === "d" ? state.d : state.n]));
  const options = "norm" in statement.over ? { "norm.kind": state.norm, "norm.basis": "standard" } : {};
  const data = {
    format: "resstream-counterexample-1", claim: statement.id, file: null, digest: null, named: true,
    changes: typed ? { rhs: typed } : {}, seed: 0, engine: "laboratory", raw: { sizes, options, arrays },
  };
  return JSON.stringify(data, null, 1) + "\n";
}
