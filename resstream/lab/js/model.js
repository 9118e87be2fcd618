// @ts-check
// The attention-only model of resstream.reference, on one sequence: causal heads with biases and rotary positions.

import { add, causalMask, dot, multiply, multiplyTransposed, scale, softmax } from "./mathematics.js";

/** @typedef {import("./mathematics.js").Matrix} Matrix */
/** @typedef {[number, number]} Head  layer, and index in it */
/** @typedef {Record<number, Head[]>} Reads  by layer: the earlier heads that its keys (queries) read beside x_0 */

/**
 * @typedef {object} Model
 * @property {Matrix} embedding  (V, d)
 * @property {Matrix} unembedding  (d, V)
 * @property {Matrix[][]} W_Q  by layer and head, each (d, h)
 * @property {Matrix[][]} W_K
 * @property {Matrix[][]} W_V
 * @property {Matrix[][]} W_O  each (h, d)
 * @property {Matrix[][]} b_Q  each (1, h)
 * @property {Matrix[][]} b_K
 * @property {number} base  of the rotary positions
 */

/**
 * @typedef {object} Trace
 * @property {Matrix[]} states  the stream before each layer and after the last, (n, d)
 * @property {Matrix[][]} patterns  by layer and head, (n, n)
 * @property {Matrix[][]} writes  by layer and head, (n, d)
 */

/**
 * A model from its float64 weights in base64, one after the other in the order of `shapes`.
 * @param {{ shapes: [string, number[]][], base: number, weights: string }} data @returns {Model}
 */
export function loadModel({ shapes, base, weights }) {
  const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
  const numbers = new Float64Array(bytes.buffer);
  let start = 0;
  /** @param {number[]} shape @returns {any} */
  const nested = (shape) => {
    if (shape.length > 1) return Array.from({ length: shape[0] }, () => nested(shape.slice(1)));
    start += shape[0];
    return Array.from(numbers.subarray(start - shape[0], start));
  };
  const parts = Object.fromEntries(shapes.map(([name, shape]) => [name, nested(shape)]));
  if (start !== numbers.length) throw new RangeError(`weights: expected ${start} numbers, got ${numbers.length}`);
  return /** @type {Model} */ ({ ...parts, base });
}

/** Pairs of columns of row i turned by position_i * base^(-2k/h). @param {Matrix} X @param {number[]} positions @param {number} base @returns {Matrix} */
export function rotary(X, positions, base) {
  return X.map((row, i) => {
    const turned = new Array(row.length);
    for (let k = 0; k < row.length; k += 2) {
      const angle = positions[i] * Math.exp((-k / row.length) * Math.log(base));
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
      turned[k] = row[k] * cosine - row[k + 1] * sine;
      turned[k + 1] = row[k] * sine + row[k + 1] * cosine;
    }
    return turned;
  });
}

/** @param {Matrix} X @param {Matrix} W @param {Matrix} b @param {number} base */
function projected(X, W, b, base) {
  const rows = multiply(X, W).map((row) => row.map((x, k) => x + b[0][k]));
  return rotary(rows, rows.map((_, i) => i), base);
}

/**
 * The model on symbols, as it is or with the keys and queries of some layers cut.
 * @param {Model} model @param {number[]} tokens @param {{ keys?: Reads, queries?: Reads }} [reads] @returns {Trace}
 */
export function runModel(model, tokens, { keys = {}, queries = {} } = {}) {
  const { W_Q, W_K, W_V, W_O, b_Q, b_K, base } = model;
  const x0 = tokens.map((token) => model.embedding[token]);
  /** @type {Trace} */
  const trace = { states: [x0], patterns: [], writes: [] };
  const mask = causalMask(tokens.length);
  for (let layer = 0; layer < W_Q.length; layer++) {
    const x = trace.states[layer];
    const read = (/** @type {Reads} */ cut) =>
      cut[layer] ? cut[layer].reduce((sum, [l, h]) => add(sum, trace.writes[l][h]), x0) : x;
    const [xQ, xK] = [read(queries), read(keys)];
    const root = Math.sqrt(W_Q[layer][0][0].length);
    const patterns = W_Q[layer].map((W, head) => {
      const q = scale(1 / root, projected(xQ, W, b_Q[layer][head], base));
      return softmax(multiplyTransposed(q, projected(xK, W_K[layer][head], b_K[layer][head], base)), mask);
    });
    const writes = patterns.map((A, head) => multiply(multiply(A, multiply(x, W_V[layer][head])), W_O[layer][head]));
    trace.patterns.push(patterns);
    trace.writes.push(writes);
    trace.states.push(writes.reduce(add, x));
  }
  return trace;
}

/** The stream read as logits, (n, d) -> (n, V). @param {Model} model @param {Matrix} x */
export function logitLens(model, x) {
  return multiply(x, model.unembedding);
}

/**
 * The last row's logits as a sum over paths, for the patterns of a run: A_m .. A_1 x_0 W_OV_1 .. W_OV_m U at one place.
 * @param {Model} model @param {Trace} trace @param {number} place
 * @returns {{ path: Head[], logits: number[] }[]}
 */
export function pathExpansion(model, trace, place) {
  let streams = [{ path: /** @type {Head[]} */ ([]), x: trace.states[0] }];
  trace.patterns.forEach((patterns, layer) => {
    const moved = patterns.flatMap((A, head) =>
      streams.map(({ path, x }) => ({
        path: /** @type {Head[]} */ ([...path, [layer, head]]),
        x: multiply(multiply(multiply(A, x), model.W_V[layer][head]), model.W_O[layer][head]),
      })),
    );
    streams = [...streams, ...moved];
  });
  return streams.map(({ path, x }) => ({ path, logits: multiply([x[place]], model.unembedding)[0] }));
}

/** b_q R(-offset) b_k / sqrt h of a head, in nats. @param {Model} model @param {Head} head @param {number[]} offsets */
export function contentFreeKernel(model, [layer, head], offsets) {
  const [q] = model.b_Q[layer][head];
  const [k] = model.b_K[layer][head];
  const turned = rotary(offsets.map(() => k), offsets.map((offset) => -offset), model.base);
  return turned.map((row) => dot(q, row) / Math.sqrt(q.length));
}

/** Log probabilities of a row of logits. @param {number[]} logits */
export function logProbabilities(logits) {
  const peak = Math.max(...logits);
  const sum = Math.log(logits.reduce((total, x) => total + Math.exp(x - peak), 0)) + peak;
  return logits.map((x) => x - sum);
}

/**
 * Loss in nats and accuracy over the scored places of some sequences.
 * @param {Model} model @param {{ inputs: number[], targets: number[], scored: boolean[] }[]} sequences
 * @param {{ keys?: Reads, queries?: Reads }} [reads]
 */
export function evaluate(model, sequences, reads) {
  let [loss, right, count] = [0, 0, 0];
  for (const { inputs, targets, scored } of sequences) {
    const x = runModel(model, inputs, reads).states[model.W_Q.length];
    for (let i = 0; i < inputs.length; i++) {
      if (!scored[i]) continue;
      const [logits] = multiply([x[i]], model.unembedding);
      loss -= logProbabilities(logits)[targets[i]];
      right += Number(logits.indexOf(Math.max(...logits)) === targets[i]);
      count += 1;
    }
  }
  return { loss: loss / count, accuracy: right / count, count };
}

/** Mean weight on the position before, of a pattern. @param {Matrix} A */
export function previousWeight(A) {
  return A.slice(1).reduce((sum, row, i) => sum + row[i], 0) / Math.max(A.length - 1, 1);
}
