// @ts-check
// The mathematics of the laboratory in float64, under the names of resstream.reference. Tokens are rows.
// No drawing and no state here: every function is of its arguments alone, and is compared with the package in tests.

/** @typedef {number[][]} Matrix  rows of equal length */
/** @typedef {"l1" | "l2" | "linf"} NormKind */

// ---- matrices ---------------------------------------------------------------

/** @param {number} n @param {number} d @param {(i: number, j: number) => number} entry @returns {Matrix} */
export function matrix(n, d, entry) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: d }, (_, j) => entry(i, j)));
}

/** @param {number} n @returns {Matrix} */
export function identity(n) {
  return matrix(n, n, (i, j) => (i === j ? 1 : 0));
}

/** @param {Matrix} X @returns {Matrix} */
export function transpose(X) {
  return matrix(X[0].length, X.length, (i, j) => X[j][i]);
}

/** @param {Matrix} A @param {Matrix} B @returns {Matrix} */
export function multiply(A, B) {
  const columns = B[0].length;
  return A.map((row) => {
    const out = new Array(columns).fill(0);
    for (let k = 0; k < row.length; k++) {
      const a = row[k];
      const other = B[k];
      for (let j = 0; j < columns; j++) out[j] += a * other[j];
    }
    return out;
  });
}

/** A @ B' without forming the transpose. @param {Matrix} A @param {Matrix} B @returns {Matrix} */
export function multiplyTransposed(A, B) {
  return A.map((a) => B.map((b) => dot(a, b)));
}

/** @param {number[]} a @param {number[]} b */
export function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/** @param {Matrix} A @param {Matrix} B @returns {Matrix} */
export function add(A, B) {
  return A.map((row, i) => row.map((a, j) => a + B[i][j]));
}

/** @param {number} c @param {Matrix} A @returns {Matrix} */
export function scale(c, A) {
  return A.map((row) => row.map((a) => c * a));
}

// ---- attention --------------------------------------------------------------

/** Softmax of every row over its allowed entries. @param {Matrix} S @param {boolean[][]} [mask] @returns {Matrix} */
export function softmax(S, mask) {
  return S.map((row, i) => {
    let peak = -Infinity;
    for (let j = 0; j < row.length; j++) if (!mask || mask[i][j]) peak = Math.max(peak, row[j]);
    const weights = row.map((s, j) => (!mask || mask[i][j] ? Math.exp(s - peak) : 0));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((w) => w / sum);
  });
}

/** @param {number} n @returns {boolean[][]} */
export function causalMask(n) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => j <= i));
}

// ---- how wide a cloud is, and how far a layer shrinks it --------------------

/** @param {number[]} x @param {NormKind} [kind] */
export function rowNorm(x, kind = "l2") {
  if (kind === "l1") return x.reduce((sum, a) => sum + Math.abs(a), 0);
  if (kind === "linf") return x.reduce((most, a) => Math.max(most, Math.abs(a)), 0);
  return Math.sqrt(x.reduce((sum, a) => sum + a * a, 0));
}

/** Largest distance of two rows. @param {Matrix} X @param {NormKind} [kind] */
export function diameter(X, kind = "l2") {
  let most = 0;
  for (let i = 0; i < X.length; i++)
    for (let j = 0; j < i; j++)
      most = Math.max(most, rowNorm(X[i].map((a, k) => a - X[j][k]), kind));
  return most;
}

/** The two rows at the largest distance. @param {Matrix} X @returns {[number, number]} */
export function widestPair(X) {
  /** @type {[number, number]} */
  let pair = [0, 0];
  let most = -1;
  for (let i = 0; i < X.length; i++)
    for (let j = 0; j < i; j++) {
      const distance = rowNorm(X[i].map((a, k) => a - X[j][k]));
      if (distance > most) [most, pair] = [distance, [j, i]];
    }
  return pair;
}

/** @param {Matrix} X @param {NormKind} [kind] @returns {Matrix} */
export function pairwiseDistances(X, kind = "l2") {
  return X.map((x) => X.map((y) => rowNorm(x.map((a, k) => a - y[k]), kind)));
}

/** Half the largest l1 distance of two rows. @param {Matrix} A */
export function dobrushin(A) {
  return diameter(A, "l1") / 2;
}

/** Frobenius norm of X less its mean row, over that of X. @param {Matrix} X */
export function relativeSpread(X) {
  const mean = X[0].map((_, j) => X.reduce((sum, row) => sum + row[j], 0) / X.length);
  return frobeniusNorm(X.map((row) => row.map((x, j) => x - mean[j]))) / frobeniusNorm(X);
}

/** Largest range of a row. @param {Matrix} S */
export function rowRange(S) {
  return Math.max(...S.map((row) => Math.max(...row) - Math.min(...row)));
}

/** @param {Matrix} W */
export function frobeniusNorm(W) {
  return rowNorm(W.flat());
}

/**
 * Operator norm of x -> x @ W. The spectral norm is of one or two rows or columns in closed form, else by Jacobi
 * rotations of the columns, which are accurate to rounding.
 * @param {Matrix} W @param {NormKind} [kind]
 */
export function operatorNorm(W, kind = "l2") {
  if (kind === "l1") return Math.max(...W.map((row) => rowNorm(row, "l1")));
  if (kind === "linf") return Math.max(...transpose(W).map((column) => rowNorm(column, "l1")));
  return singularValues(W)[0];
}

/** Singular values, the largest first, by one-sided Jacobi rotations. @param {Matrix} W @returns {number[]} */
export function singularValues(W) {
  const columns = W.length < W[0].length ? W.map((row) => [...row]) : transpose(W);
  for (let sweep = 0; sweep < 60; sweep++) {
    let turned = false;
    for (let p = 0; p < columns.length; p++)
      for (let q = 0; q < p; q++) {
        const a = dot(columns[p], columns[p]);
        const b = dot(columns[q], columns[q]);
        const c = dot(columns[p], columns[q]);
        if (Math.abs(c) <= 1e-17 * Math.sqrt(a * b)) continue;
        turned = true;
        const zeta = (b - a) / (2 * c);
        const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cosine = 1 / Math.hypot(1, t);
        const sine = cosine * t;
        for (let k = 0; k < columns[p].length; k++) {
          const [x, y] = [columns[p][k], columns[q][k]];
          columns[p][k] = cosine * x - sine * y;
          columns[q][k] = sine * x + cosine * y;
        }
      }
    if (!turned) break;
  }
  return columns.map((column) => rowNorm(column)).sort((a, b) => b - a);
}

// ---- norms of the stream ----------------------------------------------------

/** Rows less their mean. @param {Matrix} X @returns {Matrix} */
export function centre(X) {
  return X.map((row) => {
    const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
    return row.map((x) => x - mean);
  });
}

/** @param {Matrix} X @param {number} [epsilon] @returns {Matrix} */
export function layerNorm(X, epsilon = 0) {
  return rmsNorm(centre(X), epsilon);
}

/** @param {Matrix} X @param {number} [epsilon] @returns {Matrix} */
export function rmsNorm(X, epsilon = 0) {
  return X.map((row) => {
    const size = Math.sqrt(dot(row, row) / row.length + epsilon);
    return row.map((x) => x / size);
  });
}

/** Jacobian of LayerNorm at one row, in the row convention. @param {number[]} x @returns {Matrix} */
export function layerNormJacobian(x) {
  const d = x.length;
  const [c] = centre([x]);
  const variance = dot(c, c) / d;
  return matrix(d, d, (i, j) => ((i === j ? 1 : 0) - 1 / d - (c[i] * c[j]) / (d * variance)) / Math.sqrt(variance));
}

/** Jacobian of RMSNorm at one row, in the row convention. @param {number[]} x @returns {Matrix} */
export function rmsNormJacobian(x) {
  const d = x.length;
  const square = dot(x, x) / d;
  return matrix(d, d, (i, j) => ((i === j ? 1 : 0) - (x[i] * x[j]) / (d * square)) / Math.sqrt(square));
}

// ---- a stack of Jacobians, path by path -------------------------------------

/** (I + J_0)(I + J_1)... @param {Matrix[]} Js @returns {Matrix} */
export function identityPathProduct(Js) {
  return Js.reduce((product, J) => add(product, multiply(product, J)), identity(Js[0].length));
}

/**
 * The same product as a sum by path length: entry s is the sum over all subsets of s layers.
 * @param {Matrix[]} Js @returns {Matrix[]}
 */
export function pathsByLength(Js) {
  const d = Js[0].length;
  let sums = [identity(d)];
  for (const J of Js) {
    const longer = [...sums, matrix(d, d, () => 0)];
    for (let s = 0; s < sums.length; s++) longer[s + 1] = add(longer[s + 1], multiply(sums[s], J));
    sums = longer;
  }
  return sums;
}

// ---- chance -----------------------------------------------------------------

/** Random whole numbers below a count, from a seed: mulberry32. @param {number} seed @returns {(below: number) => number} */
export function seeded(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
