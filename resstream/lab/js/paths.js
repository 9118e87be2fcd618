// @ts-check
// Gradients through a random residual stack, path by path: what is expected, and what one draw gives.

import { frobeniusNorm, identityPathProduct, matrix, multiply, pathsByLength, seeded } from "./mathematics.js";

/** @typedef {import("./mathematics.js").Matrix} Matrix */

/** Standard normal numbers from a seed. @param {number} seed @returns {() => number} */
export function normals(seed) {
  const draw = seeded(seed);
  const uniform = () => (draw(2 ** 32) + 0.5) / 2 ** 32;
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Jacobians with independent normal entries of variance scale^2 / d. @param {number} layers @param {number} d @param {number} alpha @param {number} seed @returns {Matrix[]} */
export function randomJacobians(layers, d, alpha, seed) {
  const draw = normals(seed);
  return Array.from({ length: layers }, () => matrix(d, d, () => (alpha / Math.sqrt(d)) * draw()));
}

/** binomial(L, s) a^(2s) / (1 + a^2)^L for s = 0..L: the expected share of the paths of s layers. @param {number} layers @param {number} alpha */
export function pathWeights(layers, alpha) {
  const p = alpha ** 2 / (1 + alpha ** 2);
  /** @type {number[]} */
  const weights = [];
  let logarithm = 0;
  for (let s = 0; s <= layers; s++) {
    weights.push(p === 0 ? Number(s === 0) : Math.exp(logarithm + s * Math.log(p) + (layers - s) * Math.log1p(-p)));
    logarithm += Math.log(layers - s) - Math.log(s + 1);
  }
  return weights;
}

/**
 * One draw beside what is expected. Gains are root mean squares: the Frobenius norm over the root of the width.
 * @param {number} layers @param {number} d @param {number} alpha @param {number} seed
 */
export function gradientPaths(layers, d, alpha, seed) {
  const Js = randomJacobians(layers, d, alpha, seed);
  const squares = pathsByLength(Js).map((P) => frobeniusNorm(P) ** 2);
  const whole = squares.reduce((a, b) => a + b, 0);
  const plain = Js.reduce((product, J) => multiply(product, J));
  return {
    shares: squares.map((x) => x / whole),
    expected: pathWeights(layers, alpha),
    residual: frobeniusNorm(identityPathProduct(Js)) / Math.sqrt(d),
    plain: frobeniusNorm(plain) / Math.sqrt(d),
    residualExpected: (1 + alpha ** 2) ** (layers / 2),
    plainExpected: alpha ** layers,
    meanLength: (layers * alpha ** 2) / (1 + alpha ** 2),
  };
}
