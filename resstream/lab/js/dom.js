// @ts-check
// The page's controls, made once here so that every one of them has a label, a keyboard and one look.

/** @typedef {Record<string, string | number | boolean | EventListener | undefined>} Attributes */

/**
 * An HTML element; "on..." attributes are listeners, booleans are present or absent.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Attributes} [attributes] @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  dress(made, attributes);
  made.append(...children);
  return made;
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag @param {Attributes} [attributes] @param {Node[]} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(made, attributes);
  made.append(...children);
  return made;
}

/** @param {Element} made @param {Attributes} attributes */
function dress(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else if (value !== undefined) made.setAttribute(name, String(value));
  }
}

let labels = 0;

/** A number that is no other element's on this page. */
export function fresh() {
  labels += 1;
  return `lab-${labels}`;
}

/**
 * A slider with its value beside it. `logarithmic` sliders move by factors.
 * @param {{ label: string, min: number, max: number, step: number, value: number, logarithmic?: boolean,
 *   digits?: number, unit?: string, input: (value: number) => void }} options
 */
export function slider({ label, min, max, step, value, logarithmic = false, digits = 2, unit = "", input }) {
  const id = fresh();
  const toSlider = logarithmic ? Math.log10 : Number;
  const fromSlider = (/** @type {number} */ x) => (logarithmic ? Number((10 ** x).toPrecision(3)) : x);
  const output = element("output", { for: id });
  const range = element("input", {
    type: "range", id, min: toSlider(min), max: toSlider(max), step: logarithmic ? "any" : step,
    oninput: () => {
      show(fromSlider(Number(range.value)));
      input(fromSlider(Number(range.value)));
    },
  });
  // Arrow keys on a range whose step is "any" move by a hundredth of it in some browsers and not at all in others.
  if (logarithmic)
    range.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      range.value = String(Number(range.value) + by * 0.02);
      range.dispatchEvent(new Event("input"));
    });
  /** @param {number} x */
  function show(x) {
    const text = x.toFixed(digits).replace("-", "−") + unit;
    if (output.textContent === text) return;
    output.textContent = text;
    range.setAttribute("aria-valuetext", `${x.toFixed(digits)}${unit}`);
  }
  /** @param {number} x */
  function set(x) {
    if (Math.abs(Number(range.value) - toSlider(x)) > 1e-12) range.value = String(toSlider(x));
    show(x);
  }
  set(value);
  const root = element("div", { class: "control slider" }, element("label", { for: id }, label), range, output);
  return { root, set, disable: (/** @type {boolean} */ off) => range.toggleAttribute("disabled", off) };
}

/**
 * @param {{ label: string, value: boolean, input: (value: boolean) => void }} options
 */
export function toggle({ label, value, input }) {
  const id = fresh();
  const box = element("input", { type: "checkbox", role: "switch", id, onchange: () => input(box.checked) });
  box.checked = value;
  const root = element("div", { class: "control toggle" }, box, element("label", { for: id }, label));
  return { root, set: (/** @type {boolean} */ on) => void (box.checked = on) };
}

/**
 * @template {string} T
 * @param {{ label: string, options: [T, string][], value: T, input: (value: T) => void }} options
 */
export function choice({ label, options, value, input }) {
  const id = fresh();
  const list = element("select", { id, onchange: () => input(/** @type {T} */ (list.value)) });
  for (const [name, text] of options) list.append(element("option", { value: name }, text));
  list.value = value;
  const root = element("div", { class: "control choice" }, element("label", { for: id }, label), list);
  return { root, list, set: (/** @type {T} */ name) => void (list.value = name) };
}

/** @param {string} label @param {() => void} press @param {Attributes} [more] */
export function button(label, press, more = {}) {
  return element("button", { type: "button", onclick: press, ...more }, label);
}

/** A button that copies a text and says so. @param {string} label @param {() => string} text */
export function copier(label, text) {
  const made = button(label, async () => {
    const copied = await copy(text());
    made.textContent = copied ? "copied ✓" : "not allowed";
    setTimeout(() => (made.textContent = label), 1200);
  });
  made.style.minWidth = `${Math.max(label.length, 9) + 2}ch`;
  return made;
}

/** @param {string} text @returns {Promise<boolean>} */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page opened from a file may have no clipboard: the older way needs a selection.
    const area = element("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Runs at most once a frame, with the last call's work. @param {() => void} work */
export function onceAFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

/** Runs when it has been quiet for a while. @param {number} milliseconds @param {() => void} work */
export function whenQuiet(milliseconds, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

/** @type {Map<string, string>} */
const colours = new Map();

/** A custom property as a colour for a canvas; kept until the theme changes. @param {Element} root @param {string} name */
export function colour(root, name) {
  let found = colours.get(name);
  if (found === undefined) {
    const probe = element("span");
    probe.style.color = `var(${name})`;
    root.append(probe);
    found = getComputedStyle(probe).color;
    probe.remove();
    colours.set(name, found);
  }
  return found;
}

export function forgetColours() {
  colours.clear();
}

/** Four significant digits, powers of ten where they help. @param {number} x */
export function shown(x) {
  if (Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e-3 && size < 1e5) return x.toPrecision(4).replace("-", "−");
  const [mantissa, exponent] = x.toExponential(2).split("e");
  const powers = [...String(Number(exponent))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  return `${mantissa.replace("-", "−")}·10${powers}`;
}

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
