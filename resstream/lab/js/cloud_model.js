// @ts-check
// The cloud: a few tokens of the plane under layers of attention on their own scores, and what the theorems say.

import {
  add, causalMask, diameter, dobrushin, layerNorm, multiply, multiplyTransposed, operatorNorm, relativeSpread,
  rmsNorm, rowRange, scale, softmax,
} from "./mathematics.js";

/** @typedef {import("./mathematics.js").Matrix} Matrix */

/**
 * @typedef {object} CloudSettings
 * @property {Matrix} tokens  X_0, (n, 2)
 * @property {number} beta  scale of the scores
 * @property {number} depth  layers L
 * @property {number} step  factor of what attention writes
 * @property {number} size  W = size * rotation * diag(1, stretch)
 * @property {number} angle  of W, in degrees
 * @property {number} stretch
 * @property {boolean} mask  causal
 * @property {boolean} skip
 * @property {"none" | "rms" | "layer"} norm
 * @property {"pre" | "post"} placement
 */

/**
 * @typedef {object} CloudRun
 * @property {Matrix[]} states  X_0 .. X_L
 * @property {Matrix[]} patterns  A_0 .. A_{L-1}
 * @property {number[]} diameters  of the states
 * @property {number[]} spreads  relative spreads of the states
 * @property {number[]} taus  Dobrushin's coefficient of every pattern
 * @property {number[]} ranges  row ranges r of the scores, Infinity under a mask
 * @property {number[]} bounds  of the diameters, from X_0 and the coefficients; NaN where a norm breaks the chain
 * @property {number} operator  the operator norm of step * W
 */

export const EPSILON = 1e-5;

/** @param {Pick<CloudSettings, "size" | "angle" | "stretch">} settings @returns {Matrix} */
export function valueMap({ size, angle, stretch }) {
  // Right angles are exact, so that W = I is the identity.
  const quarter = angle % 90 === 0 ? (((angle / 90) % 4) + 4) % 4 : -1;
  const t = (angle * Math.PI) / 180;
  const cosine = quarter < 0 ? Math.cos(t) : [1, 0, -1, 0][quarter];
  const sine = quarter < 0 ? Math.sin(t) : [0, 1, 0, -1][quarter];
  return [
    [size * cosine, size * stretch * sine],
    [-size * sine, size * stretch * cosine],
  ];
}

const [E1, E2] = [
  [1 / Math.SQRT2, -1 / Math.SQRT2, 0],
  [1 / Math.sqrt(6), 1 / Math.sqrt(6), -2 / Math.sqrt(6)],
];

/**
 * The norm of the plane's tokens. LayerNorm acts on the vectors of R^3 with mean zero, of which these are coordinates in
 * an orthonormal basis: in R^2 it would leave two points only.
 * @param {Matrix} X @param {CloudSettings["norm"]} norm @returns {Matrix}
 */
export function normalised(X, norm) {
  if (norm === "none") return X;
  if (norm === "rms") return rmsNorm(X, EPSILON);
  return multiplyTransposed(layerNorm(multiply(X, [E1, E2]), EPSILON), [E1, E2]);
}

/** @param {CloudSettings} settings @returns {CloudRun} */
export function runCloud(settings) {
  const { tokens, beta, depth, step, skip, norm, placement } = settings;
  const W = scale(step, valueMap(settings));
  const operator = operatorNorm(W);
  const mask = settings.mask ? causalMask(tokens.length) : undefined;
  const run = /** @type {CloudRun} */ ({
    states: [tokens], patterns: [], taus: [], ranges: [],
    diameters: [diameter(tokens)], spreads: [relativeSpread(tokens)], bounds: [diameter(tokens)], operator,
  });
  for (let layer = 0; layer < depth; layer++) {
    const X = run.states[layer];
    const read = placement === "pre" ? normalised(X, norm) : X;
    const scores = scale(beta, multiplyTransposed(read, read));
    const A = softmax(scores, mask);
    const written = multiply(multiply(A, read), W);
    const sum = skip ? add(X, written) : written;
    const next = placement === "post" ? normalised(sum, norm) : sum;
    const tau = dobrushin(A);
    run.states.push(next);
    run.patterns.push(A);
    run.taus.push(tau);
    run.ranges.push(settings.mask && tokens.length > 1 ? Infinity : rowRange(scores));
    run.diameters.push(diameter(next));
    run.spreads.push(relativeSpread(next));
    run.bounds.push(norm === "none" ? run.bounds[layer] * ((skip ? 1 : 0) + tau * operator) : NaN);
  }
  return run;
}
