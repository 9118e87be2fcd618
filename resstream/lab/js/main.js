// @ts-check
// The page: its rooms, the address that keeps their state, and the theme. The data lies in the page as JSON.

import { BREAK, breakRoom, saneBreak } from "./break_it.js";
import { cloudDefaults, cloudRoom, saneCloud } from "./cloud.js";
import { button, forgetColours, whenQuiet } from "./dom.js";
import { decode, encode, parts } from "./fragment.js";
import { INDUCTION, inductionRoom, saneInduction } from "./induction.js";
import { NORMS_STATE, normsRoom, saneNorms } from "./norms.js";

/** @typedef {{ set: (state: any) => void, redraw: () => void, stop?: () => void }} Room */
/**
 * @typedef {object} RoomKind
 * @property {any} defaults
 * @property {(state: any) => any} sane
 * @property {(root: HTMLElement, state: any, changed: (state: any) => void) => Room} build
 */

/** @param {string} id @returns {any} */
function data(id) {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

function openLaboratory() {
  const { tokens, presets } = data("cloud-data");
  const cloud = cloudDefaults(tokens);
  /** @type {Record<string, RoomKind>} */
  const kinds = {
    cloud: {
      defaults: cloud,
      sane: (state) => saneCloud(state, tokens),
      build: (root, state, changed) =>
        cloudRoom(root, { state, presets, defaults: cloud, changed, link: (now) => addressOf("cloud", now) }),
    },
    break: {
      defaults: BREAK,
      sane: saneBreak,
      build: (root, state, changed) =>
        breakRoom(root, { state, statements: data("break-data"), changed, link: (now) => addressOf("break", now) }),
    },
    induction: {
      defaults: INDUCTION,
      sane: saneInduction,
      build: (root, state, changed) =>
        inductionRoom(root, { state, data: data("induction-data"), changed, link: (now) => addressOf("induction", now) }),
    },
    norms: {
      defaults: NORMS_STATE,
      sane: saneNorms,
      build: (root, state, changed) => normsRoom(root, { state, changed, link: (now) => addressOf("norms", now) }),
    },
  };
  /** @type {Record<string, Room>} */
  const built = {};
  /** @type {Record<string, any>} */
  const states = {};
  const names = Object.keys(kinds);
  let open = "";
  let written = "";

  /** @param {string} name @param {any} state */
  function addressOf(name, state) {
    const query = encode(state, kinds[name].defaults);
    return `${location.href.split("#")[0]}#${name}${query ? `?${query}` : ""}`;
  }

  // Browsers limit how often the address may change, and a drag changes the state sixty times a second.
  const writeAddress = whenQuiet(250, () => {
    const address = addressOf(open, states[open]);
    written = new URL(address).hash;
    history.replaceState(null, "", address);
  });

  /** @param {string} name */
  function show(name) {
    if (open && open !== name) built[open].stop?.();
    open = name;
    for (const other of names) {
      const room = /** @type {HTMLElement} */ (document.getElementById(other));
      room.hidden = other !== name;
      const link = document.querySelector(`nav a[href="#${other}"]`);
      if (other === name) {
        link?.setAttribute("aria-current", "page");
        // On a narrow screen the tabs scroll sideways. (scrollIntoView would move the page as well.)
        if (link instanceof HTMLElement && link.parentElement) link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.clientWidth / 3;
      } else link?.removeAttribute("aria-current");
    }
    if (!built[name]) {
      const root = /** @type {HTMLElement} */ (document.querySelector(`#${name} .room`));
      built[name] = kinds[name].build(root, states[name], (state) => {
        states[name] = state;
        writeAddress();
      });
    }
  }

  /** Go where the address says; a room that it does not describe keeps its state. */
  function follow() {
    if (location.hash && location.hash === written) return;
    const [given, query] = parts(location.hash);
    const name = names.includes(given) ? given : names[0];
    if (query || !states[name]) {
      states[name] = kinds[name].sane(decode(query, kinds[name].defaults));
      built[name]?.set(states[name]);
    }
    show(name);
    writeAddress();
  }

  for (const link of document.querySelectorAll("nav a[href^='#']"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const name = /** @type {HTMLAnchorElement} */ (link).hash.slice(1);
      states[name] ??= kinds[name].sane(kinds[name].defaults);
      show(name);
      writeAddress();
    });
  addEventListener("hashchange", follow);

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const redraw = () => {
    forgetColours();
    Object.values(built).forEach((room) => room.redraw());
  };
  dark.addEventListener("change", redraw);
  const theme = button("◐", () => {
    const now = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    redraw();
  }, { class: "theme", "aria-label": "light or dark", title: "light or dark" });
  document.querySelector("header .top")?.append(theme);
  follow();
}

if (typeof document !== "undefined" && document.getElementById("cloud-data")) openLaboratory();
