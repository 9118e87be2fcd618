// @ts-check
// A token in the plane that is moved by mouse, finger or keyboard.

import { drawn } from "./dom.js";

/**
 * A ring with a number, in the coordinates of `stage`, whose view is [-reach, reach] both ways.
 * @param {SVGSVGElement} stage
 * @param {{ index: number, ink: string, reach: number, at: () => number[], move: (x: number, y: number) => void,
 *   grasped?: () => void }} options
 */
export function tokenHandle(stage, { index, ink, reach, at, move, grasped }) {
  const label = drawn("text", { "text-anchor": "middle", y: 4 });
  label.textContent = String(index + 1);
  const handle = drawn(
    "g",
    {
      class: "handle", tabindex: 0, role: "slider", "aria-label": `token ${index + 1}`, "aria-valuemin": -reach,
      "aria-valuemax": reach, "aria-roledescription": "point of the plane",
    },
    drawn("circle", { r: 20, class: "catch" }), drawn("circle", { r: 11, stroke: ink, class: "ring" }), label,
  );
  const near = (/** @type {number} */ a) => Math.round(Math.min(Math.max(a, -reach), reach) * 100) / 100 + 0;
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    handle.focus();
    grasped?.();
    handle.classList.add("held");
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = stage.getBoundingClientRect();
    const to = (/** @type {number} */ share) => (share * 2 - 1) * reach;
    move(near(to((event.clientX - box.left) / box.width)), near(-to((event.clientY - box.top) / box.height)));
  });
  for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => handle.classList.remove("held"));
  handle.addEventListener("keydown", (event) => {
    const by = event.shiftKey ? 0.2 : 0.02;
    const moves = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] };
    const found = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (!found) return;
    event.preventDefault();
    const [x, y] = at();
    move(near(x + found[0]), near(y + found[1]));
  });
  /** Where it stands, in the view's pixels. @param {number} view @param {number} grip */
  function place(view, grip) {
    const [x, y] = at();
    const to = (/** @type {number} */ a) => (a / reach + 1) * (view / 2);
    handle.setAttribute("transform", `translate(${to(x)} ${to(-y)}) scale(${grip})`);
    handle.setAttribute("aria-valuenow", String(x));
    handle.setAttribute("aria-valuetext", `x ${x}, y ${y}`);
  }
  return { handle, place };
}
