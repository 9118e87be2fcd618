// @ts-check
// The room of the trained model: a sequence to type, and all that two layers of two heads do with it, live.

import { heatmap, lineChart } from "./charts.js";
import { button, copier, element, onceAFrame, shown, toggle, whenQuiet } from "./dom.js";
import { dobrushin, seeded } from "./mathematics.js";
import { contentFreeKernel, evaluate, loadModel, logitLens, logProbabilities, pathExpansion, previousWeight, runModel } from "./model.js";

/** @typedef {import("./model.js").Head} Head */
/** @typedef {import("./model.js").Reads} Reads */
/** @typedef {{ text: string, filing: number, place: number, keys0: boolean, keys1: boolean, queries0: boolean, queries1: boolean, seed: number }} InductionState */
/** @typedef {{ words: string[], symbols: number[], answer: string, symbol: number }} Filing */

const LONGEST = 48;
const SAMPLE = 60;

/** @type {InductionState} */
export const INDUCTION = {
  text: "kmzqwhgxrtkmzqwhgxrtkmzqwhgxrtkmzqwhgxrtkmzqwhgx", filing: -1, place: 47,
  keys0: true, keys1: true, queries0: true, queries1: true, seed: 0,
};

/** @param {InductionState} state @returns {InductionState} */
export function saneInduction(state) {
  const text = bytesOf(state.text).length ? state.text.slice(0, LONGEST) : INDUCTION.text;
  return { ...state, text, filing: Math.round(state.filing), place: Math.max(0, Math.round(state.place)), seed: Math.round(state.seed) };
}

/** The symbols of a text are its bytes: the model has 256. @param {string} text */
function bytesOf(text) {
  return [...new TextEncoder().encode(text)].slice(0, LONGEST);
}

/** @param {number} symbol */
function glyph(symbol) {
  if (symbol === 32) return "␣";
  return symbol > 32 && symbol < 127 ? String.fromCharCode(symbol) : symbol.toString(16).padStart(2, "0");
}

/** Random letters in a block that is repeated, as in training. */
function shuffled() {
  const random = (/** @type {number} */ count) => Math.floor(Math.random() * count);
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const block = Array.from({ length: 6 + random(19) }, () => letters[random(26)]);
  return Array.from({ length: LONGEST }, (_, i) => block[i % block.length]).join("");
}

/** Sequences of the task: uniform symbols in a block of 6 to 24, repeated; scored from the second block on. @param {number} seed */
function sampleSequences(seed) {
  const below = seeded(seed);
  return Array.from({ length: SAMPLE }, () => {
    const period = 6 + below(19);
    const block = Array.from({ length: period }, () => below(256));
    const whole = Array.from({ length: LONGEST + 1 }, (_, i) => block[i % period]);
    return { inputs: whole.slice(0, -1), targets: whole.slice(1), scored: whole.slice(1).map((_, i) => i >= period) };
  });
}

/**
 * @param {HTMLElement} root
 * @param {{ state: InductionState, data: { model: any, filings: Filing[] }, changed: (state: InductionState) => void,
 *   link: (state: InductionState) => string }} options
 */
export function inductionRoom(root, { state: given, data, changed, link }) {
  let state = given;
  const model = loadModel(data.model);
  const layers = model.W_Q.length;
  const heads = model.W_Q[0].length;
  const everyHead = Array.from({ length: layers * heads }, (_, k) => /** @type {Head} */ ([Math.floor(k / heads), k % heads]));
  let sample = sampleSequences(state.seed);

  // ---- what is shown

  /** The symbols, their labels and the target after each one. */
  function sequence() {
    const filing = data.filings[state.filing];
    if (filing)
      return { inputs: filing.symbols, labels: filing.words, targets: [...filing.symbols.slice(1), filing.symbol], answer: filing.answer };
    const inputs = bytesOf(state.text);
    return { inputs, labels: inputs.map(glyph), targets: inputs.slice(1), answer: "" };
  }

  /** @returns {{ keys?: Reads, queries?: Reads }} */
  function reads() {
    const chosen = (/** @type {boolean[]} */ on) => /** @type {Head[]} */ (on.flatMap((yes, head) => (yes ? [[0, head]] : [])));
    const keys = [state.keys0, state.keys1];
    const queries = [state.queries0, state.queries1];
    return {
      ...(keys.every(Boolean) ? {} : { keys: { 1: chosen(keys) } }),
      ...(queries.every(Boolean) ? {} : { queries: { 1: chosen(queries) } }),
    };
  }

  // ---- the parts

  const field = element("input", {
    type: "text", id: "induction-text", spellcheck: "false", autocomplete: "off", autocapitalize: "off", maxlength: LONGEST,
    oninput: () => field.value && update({ text: field.value, filing: -1, place: bytesOf(field.value).length - 1 }),
  });
  const strip = element("div", { class: "strip", role: "listbox", "aria-label": "The sequence; choose the place to read", tabindex: 0 });
  strip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -LONGEST, End: LONGEST }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    update({ place: state.place + by });
  });
  const summary = element("p", { class: "readout", role: "status" });
  const input = element(
    "div",
    { class: "card typing" },
    element(
      "div",
      { class: "buttons" },
      element("label", { for: "induction-text" }, "type a sequence (48 bytes are read)"),
      field,
      button("Shuffle", () => update({ text: shuffled(), filing: -1, place: LONGEST - 1 })),
      button("A filing", () => {
        const filing = (state.filing + 1) % data.filings.length;
        update({ filing, place: data.filings[filing].symbols.length - 1 });
      }),
      copier("Copy link", () => link(state)),
      copier("Python", () => inductionPython(sequence().inputs, reads())),
    ),
    strip,
    summary,
  );

  const grid = element("div", { class: "heads" });
  const maps = everyHead.map(([layer, head]) => {
    const title = element("h3");
    const box = element("div", { class: "card" }, title);
    const heat = heatmap(box, `attention pattern of head ${layer}.${head}`);
    const marker = element("div", { class: "marker", "aria-hidden": "true" });
    const frame = element("div", { class: "framed" }, heat.canvas, marker);
    const note = element("p", { class: "note looks-at" });
    box.append(frame, note);
    frame.addEventListener("click", (event) => {
      const bounds = frame.getBoundingClientRect();
      update({ place: Math.floor(((event.clientY - bounds.top) / bounds.height) * sequence().inputs.length) });
    });
    grid.append(box);
    return { heat, note, title, marker };
  });

  const lens = element("div", { class: "card" }, element("h3", {}, "Logit lens: what the stream says next"));
  const lensTable = element("div", { class: "lens" });
  lens.append(lensTable);
  const pathsCard = element("div", { class: "card" }, element("h3", {}, "Nine paths to the logit"));
  const pathsNote = element("p", { class: "note" });
  const pathsList = element("div", { class: "bars" });
  pathsCard.append(pathsNote, pathsList);

  const cutsCard = element("div", { class: "card cuts" }, element("h3", {}, "Cuts: what layer 1 may read of layer 0"));
  const cuts = {
    keys0: toggle({ label: "keys read head 0.0", value: state.keys0, input: (keys0) => update({ keys0 }) }),
    keys1: toggle({ label: "keys read head 0.1", value: state.keys1, input: (keys1) => update({ keys1 }) }),
    queries0: toggle({ label: "queries read head 0.0", value: state.queries0, input: (queries0) => update({ queries0 }) }),
    queries1: toggle({ label: "queries read head 0.1", value: state.queries1, input: (queries1) => update({ queries1 }) }),
  };
  const losses = element("tbody");
  const fresh = button("Draw others", () => update({ seed: state.seed + 1 }));
  cutsCard.append(
    element("div", { class: "switches" }, ...Object.values(cuts).map((one) => one.root)),
    element(
      "table",
      { class: "losses" },
      element("thead", {}, element("tr", {}, ...[`${SAMPLE} random repeated blocks`, "loss", "accuracy"].map((name) => element("th", { scope: "col" }, name)))),
      losses,
    ),
    fresh,
  );

  const kernelCard = element("div", { class: "card" }, element("h3", {}, "Content-free kernels: what the biases alone say, in nats"));
  const kernelChart = lineChart(kernelCard, {
    label: "Content-free score of every head by offset", x: "offset back",
    series: everyHead.map(([layer, head], k) => ({
      label: `head ${layer}.${head}`, ink: ["--one", "--two", "--three", "--four"][k % 4], dash: layer ? [5, 4] : undefined, points: false,
    })),
  });
  const offsets = Array.from({ length: LONGEST }, (_, k) => k);
  kernelChart.show(offsets, everyHead.map((head) => contentFreeKernel(model, head, offsets)));

  root.append(input, grid, element("div", { class: "two" }, lens, pathsCard), element("div", { class: "two" }, cutsCard, kernelCard));

  // ---- showing

  /** @type {{ shown: string, chips: HTMLElement[] }} */
  let made = { shown: "", chips: [] };

  function draw() {
    const { inputs, labels, targets, answer } = sequence();
    const place = state.place;
    const trace = runModel(model, inputs, reads());
    const logits = logitLens(model, trace.states[layers]);
    const best = logits.map((row) => row.indexOf(Math.max(...row)));
    const nameOf = names(inputs, labels, targets, answer);
    if (made.shown !== labels.join(" ")) {
      const chips = labels.map((label, i) =>
        element("div", { class: `chip${label.length > 2 ? " word" : ""}`, role: "option", id: `chip-${i}`, onclick: () => update({ place: i }) }, element("span", {}, label), element("span", { class: "guess" })),
      );
      strip.replaceChildren(...chips);
      made = { shown: labels.join(" "), chips };
    }
    strip.setAttribute("aria-activedescendant", `chip-${place}`);
    const top = maps.map((_, k) => strongest(trace.patterns[everyHead[k][0]][everyHead[k][1]][place]));
    made.chips.forEach((chip, i) => {
      chip.setAttribute("aria-selected", String(i === place));
      const right = targets[i] === best[i];
      const known = i < targets.length;
      chip.classList.toggle("right", known && right);
      chip.classList.toggle("looked", top.slice(-heads).includes(i));
      /** @type {HTMLElement} */ (chip.lastChild).textContent = `→ ${nameOf(best[i])}`;
      chip.setAttribute("aria-label", `${i}: ${labels[i]}, predicts ${nameOf(best[i])}${known ? (right ? ", right" : ", wrong") : ""}`);
    });
    const hits = targets.filter((target, i) => target === best[i]).length;
    const chance = Math.exp(logProbabilities(logits[place])[best[place]]);
    summary.textContent =
      `After “${labels[place]}” at place ${place} the model says “${nameOf(best[place])}” with probability ${chance.toFixed(3)}` +
      `${place < targets.length ? (targets[place] === best[place] ? ", which is right" : `; “${nameOf(targets[place])}” follows`) : ""}. ` +
      `Of ${targets.length} places with a successor, ${hits} are right.`;

    maps.forEach(({ heat, note, title, marker }, k) => {
      const [layer, head] = everyHead[k];
      const A = trace.patterns[layer][head];
      heat.show(A);
      title.textContent = `Head ${layer}.${head}`;
      const at = top[k];
      note.textContent = `At place ${place} it looks at ${at}, “${labels[at]}”, with ${A[place][at].toFixed(2)}; on the place before, ${previousWeight(A).toFixed(2)} on average; τ = ${dobrushin(A).toFixed(2)}.`;
      marker.style.top = `${(100 * place) / inputs.length}%`;
      marker.style.height = `${100 / inputs.length}%`;
    });

    drawLens(trace, place, targets[place], nameOf);
    drawPaths(trace, place, targets[place] ?? best[place], targets[place] === undefined, nameOf);
    if (document.activeElement !== field) field.value = state.filing >= 0 ? "" : state.text;
    field.placeholder = state.filing >= 0 ? "a filing is shown" : "";
  }

  /** Names of symbols: the words of a filing, where they are there. @param {number[]} inputs @param {string[]} labels @param {number[]} targets @param {string} answer */
  function names(inputs, labels, targets, answer) {
    const known = new Map(inputs.map((symbol, i) => [symbol, labels[i]]));
    if (answer) known.set(targets[targets.length - 1], answer);
    return (/** @type {number} */ symbol) => known.get(symbol) ?? (state.filing >= 0 ? `#${symbol}` : glyph(symbol));
  }

  /** @param {import("./model.js").Trace} trace @param {number} place @param {number | undefined} target @param {(s: number) => string} nameOf */
  function drawLens(trace, place, target, nameOf) {
    lensTable.replaceChildren(
      ...trace.states.map((x, depth) => {
        const chances = logProbabilities(logitLens(model, [x[place]])[0]).map(Math.exp);
        const order = chances.map((_, symbol) => symbol).sort((a, b) => chances[b] - chances[a]).slice(0, 5);
        return element(
          "div",
          {},
          element("p", { class: "note" }, depth ? `after layer ${depth - 1}` : "embedding"),
          element("ol", {}, ...order.map((symbol) => bar(nameOf(symbol), chances[symbol], chances[symbol].toFixed(3), symbol === target))),
        );
      }),
    );
  }

  /** @param {string} label @param {number} share @param {string} text @param {boolean} right */
  function bar(label, share, text, right) {
    const filled = element("span", { class: "fill" });
    filled.style.width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
    return element("li", { class: right ? "bar right" : "bar" }, filled, element("span", { class: "name" }, label), element("span", { class: "value" }, text));
  }

  /** @param {import("./model.js").Trace} trace @param {number} place @param {number} target @param {boolean} guessed @param {(s: number) => string} nameOf */
  function drawPaths(trace, place, target, guessed, nameOf) {
    const parts = pathExpansion(model, trace, place).map(({ path, logits }) => ({
      path, part: logits[target] - logits.reduce((sum, x) => sum + x, 0) / logits.length,
    }));
    const whole = parts.reduce((sum, { part }) => sum + part, 0);
    const most = Math.max(...parts.map(({ part }) => Math.abs(part)), 1e-300);
    pathsNote.textContent = `The logit of “${nameOf(target)}”${guessed ? ", the model’s own guess," : ""} above the mean is ${shown(whole)}; given the patterns, it is a sum of nine.`;
    pathsList.replaceChildren(
      ...parts.map(({ path, part }) => {
        const name = path.length ? path.map(([layer, head]) => `${layer}.${head}`).join(" → ") : "direct";
        const filled = element("span", { class: part < 0 ? "signed minus" : "signed" });
        filled.style.width = `${(50 * Math.abs(part)) / most}%`;
        return element(
          "div",
          { class: "path" },
          element("span", { class: "name" }, name),
          element("span", { class: "axis" }, filled),
          element("span", { class: "value" }, part.toFixed(2).replace("-", "−")),
          element("span", { class: "value share" }, `${String(Math.round((100 * part) / whole) + 0).replace("-", "−")} %`),
        );
      }),
    );
  }

  // Every cut that was tried stays in the table, measured on the same sequences.
  /** @type {Map<string, { loss: number, accuracy: number }>} */
  const measured = new Map();

  /** @param {boolean[]} keys @param {boolean[]} queries */
  function cutName(keys, queries) {
    const say = (/** @type {boolean[]} */ on) => (on.every(Boolean) ? "all" : on.some(Boolean) ? `x₀ and head 0.${on.indexOf(true)}` : "x₀ alone");
    if ([...keys, ...queries].every(Boolean)) return "as trained";
    return [keys.every(Boolean) ? "" : `keys read ${say(keys)}`, queries.every(Boolean) ? "" : `queries read ${say(queries)}`].filter(Boolean).join(", ");
  }

  const measure = whenQuiet(120, () => {
    const now = cutName([state.keys0, state.keys1], [state.queries0, state.queries1]);
    if (!measured.has("as trained")) measured.set("as trained", evaluate(model, sample, {}));
    if (!measured.has(now)) measured.set(now, evaluate(model, sample, reads()));
    losses.replaceChildren(
      ...[...measured].map(([name, { loss, accuracy }]) =>
        element(
          "tr",
          name === now ? { class: "now" } : {},
          element("th", { scope: "row" }, name),
          element("td", {}, loss.toFixed(3)),
          element("td", {}, accuracy.toFixed(3)),
        ),
      ),
    );
  });

  const refresh = onceAFrame(draw);

  /** @param {Partial<InductionState>} changes */
  function update(changes) {
    set({ ...state, ...changes });
    changed(state);
  }

  /** @param {InductionState} next */
  function set(next) {
    const before = state.seed;
    state = saneInduction(next);
    if (state.seed !== before) {
      sample = sampleSequences(state.seed);
      measured.clear();
    }
    if (state.filing >= data.filings.length || state.filing < 0) state.filing = -1;
    state.place = Math.min(state.place, sequence().inputs.length - 1);
    for (const name of /** @type {(keyof typeof cuts)[]} */ (Object.keys(cuts))) cuts[name].set(state[name]);
    measure();
    refresh();
  }

  set(state);
  return {
    set,
    redraw() {
      maps.forEach(({ heat }) => heat.redraw());
      kernelChart.redraw();
    },
  };
}

/** @param {number[]} row */
function strongest(row) {
  return row.indexOf(Math.max(...row));
}

/** The same with the package. @param {number[]} tokens @param {{ keys?: Reads, queries?: Reads }} reads */
function inductionPython(tokens, reads) {
  const cut = (/** @type {string} */ name, /** @type {Reads | undefined} */ some) =>
    some ? `, ${name}_read={1: [${some[1].map(([l, h]) => `(${l}, ${h})`).join(", ")}]}` : "";
  return [
    "from importlib.resources import files",
    "import numpy as np",
    "from resstream.induction.weights import load_model",
    "",
    'model, settings, _ = load_model(files("resstream.induction") / "data" / "two_layers.npz")',
    `tokens = np.array([${tokens.join(", ")}])`,
    `trace = model.run(model.embed(tokens)${cut("keys", reads.keys)}${cut("queries", reads.queries)})`,
    "print(trace.logits.argmax(-1))",
    "",
  ].join("\n");
}
