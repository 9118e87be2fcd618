// @ts-check
// The cloud as a widget of a notebook, by anywidget's protocol.

import { cloudDefaults, cloudRoom } from "./cloud.js";
import { element } from "./dom.js";

/** @typedef {{ get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void, on: (event: string, call: () => void) => void }} WidgetModel */

/** @param {{ model: WidgetModel, el: HTMLElement }} view */
function render({ model, el }) {
  const root = element("div", { class: "room" });
  const frame = element("div", { class: "lab notebook" }, root);
  el.append(frame);
  const tokens = model.get("tokens");
  const state = () => ({ ...cloudDefaults(model.get("tokens")), ...model.get("settings") });
  let ours = false;
  const room = cloudRoom(root, {
    state: state(), presets: model.get("presets"), defaults: cloudDefaults(tokens),
    changed: ({ tokens: dragged, ...settings }) => {
      ours = true;
      model.set("tokens", dragged);
      model.set("settings", settings);
      model.save_changes();
      ours = false;
    },
  });
  const follow = () => {
    if (!ours) room.set(state());
  };
  model.on("change:tokens", follow);
  model.on("change:settings", follow);
}

export default { render };
