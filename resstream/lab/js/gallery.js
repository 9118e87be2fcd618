// @ts-check
// Search and filters of the gallery's list. Without this script the list is whole.

import { choice, element, fresh, whenQuiet } from "./dom.js";
import { decode, encode } from "./fragment.js";

/** @typedef {{ id: string, family: string, expect: string, status: string, statement: string, source: string, sharpness: string }} Entry */

const EVERYTHING = { text: "", status: "", family: "", source: "" };

function openGallery() {
  /** @type {Entry[]} */
  const entries = JSON.parse(document.getElementById("gallery-data")?.textContent ?? "[]");
  const cards = new Map([...document.querySelectorAll("li[data-id]")].map((card) => [card.getAttribute("data-id"), /** @type {HTMLElement} */ (card)]));
  let state = { ...EVERYTHING };

  const id = fresh();
  const field = element("input", { type: "search", id, placeholder: "words, all of which must occur", oninput: () => update({ text: field.value }) });
  /** @param {(entry: Entry) => string} of @param {string} all @returns {[string, string][]} */
  const counted = (of, all) => {
    const counts = new Map();
    for (const entry of entries) counts.set(of(entry), (counts.get(of(entry)) ?? 0) + 1);
    return [["", all], ...[...counts].sort().map(([name, count]) => /** @type {[string, string]} */ ([name, `${name} (${count})`]))];
  };
  const status = choice({ label: "verdict", options: counted((e) => e.status, "every verdict"), value: "", input: (value) => update({ status: value }) });
  const family = choice({ label: "family", options: counted((e) => e.family, "every family"), value: "", input: (value) => update({ family: value }) });
  document.getElementById("filters")?.append(
    element("div", { class: "filters" }, element("div", { class: "control choice" }, element("label", { for: id }, "search"), field), status.root, family.root),
  );
  const count = document.getElementById("count");

  const remember = whenQuiet(250, () => {
    const query = encode(state, EVERYTHING);
    history.replaceState(null, "", location.href.split("#")[0] + (query ? `#?${query}` : ""));
  });

  function show() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const entry of entries) {
      const text = `${entry.id} ${entry.statement} ${entry.source}`.toLowerCase();
      const fits = words.every((word) => text.includes(word)) && (!state.status || entry.status === state.status) && (!state.family || entry.family === state.family);
      cards.get(entry.id)?.toggleAttribute("hidden", !fits);
      shown += Number(fits);
    }
    if (count) count.textContent = `${shown} of ${entries.length} claims`;
  }

  /** @param {Partial<typeof EVERYTHING>} changes */
  function update(changes) {
    state = { ...state, ...changes };
    show();
    remember();
  }

  function follow() {
    state = decode(location.hash.replace(/^#\??/, ""), EVERYTHING);
    field.value = state.text;
    status.set(state.status);
    family.set(state.family);
    show();
  }
  addEventListener("hashchange", follow);
  follow();
}

openGallery();
