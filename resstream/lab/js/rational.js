// @ts-check
// Exact rational arithmetic on BigInt, and Theorem 1 (i) certified with it: no verdict rests on a tolerance.

/** @typedef {{ n: bigint, d: bigint }} Rational  in lowest terms, d > 0 */
/** @typedef {Rational[][]} RationalMatrix */

/** @param {bigint} a @param {bigint} b @returns {bigint} */
function gcd(a, b) {
  if (a < 0n) a = -a;
  while (b) [a, b] = [b, a % b];
  return a;
}

/** @param {bigint} n @param {bigint} [d] @returns {Rational} */
export function rational(n, d = 1n) {
  if (d === 0n) throw new RangeError("a fraction with the denominator 0");
  if (d < 0n) [n, d] = [-n, -d];
  const g = gcd(n, d < 0n ? -d : d) || 1n;
  return { n: n / g, d: d / g };
}

/** The exact value of a float64. @param {number} x @returns {Rational} */
export function ofFloat(x) {
  if (!Number.isFinite(x)) throw new RangeError(`not a finite number: ${x}`);
  let d = 1n;
  while (!Number.isInteger(x)) {
    x *= 2;
    d *= 2n;
  }
  return rational(BigInt(x), d);
}

/** x rounded to a multiple of 1/denominator, as it is written. @param {number} x @param {number} denominator */
export function rounded(x, denominator) {
  return rational(BigInt(Math.round(x * denominator)), BigInt(denominator));
}

/** @param {Rational} a @param {Rational} b */
export function plus(a, b) {
  return rational(a.n * b.d + b.n * a.d, a.d * b.d);
}

/** @param {Rational} a @param {Rational} b */
export function minus(a, b) {
  return rational(a.n * b.d - b.n * a.d, a.d * b.d);
}

/** @param {Rational} a @param {Rational} b */
export function times(a, b) {
  return rational(a.n * b.n, a.d * b.d);
}

/** @param {Rational} a @param {Rational} b */
export function over(a, b) {
  return rational(a.n * b.d, a.d * b.n);
}

/** -1, 0 or 1. @param {Rational} a @param {Rational} b */
export function compare(a, b) {
  const left = a.n * b.d;
  const right = b.n * a.d;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** @param {Rational} a @returns {Rational} */
export function magnitude(a) {
  return a.n < 0n ? { n: -a.n, d: a.d } : a;
}

/** As the package writes it: "-7/4", "3". @param {Rational} a */
export function fraction(a) {
  return a.d === 1n ? `${a.n}` : `${a.n}/${a.d}`;
}

/** The float64 nearest to it, up to rounding of numerator and denominator. @param {Rational} a */
export function toNumber(a) {
  const bits = Math.max(a.n.toString(2).length, a.d.toString(2).length);
  if (bits <= 1000) return Number(a.n) / Number(a.d);
  const shift = BigInt(bits - 1000);
  return Number(a.n >> shift) / Number(a.d >> shift);
}

const ZERO = rational(0n);

/** @param {Rational[]} values */
function sum(values) {
  return values.reduce(plus, ZERO);
}

/** @param {Rational[]} values */
function largest(values) {
  return values.reduce((most, value) => (compare(value, most) > 0 ? value : most));
}

/** @param {RationalMatrix} A @param {RationalMatrix} B @returns {RationalMatrix} */
export function exactProduct(A, B) {
  return A.map((row) => B[0].map((_, j) => sum(row.map((a, k) => times(a, B[k][j])))));
}

/** Raw weights, then built: every row over its exact sum. @param {RationalMatrix} weights @returns {RationalMatrix} */
export function exactRowStochastic(weights) {
  return weights.map((row) => {
    const whole = sum(row);
    return row.map((w) => over(w, whole));
  });
}

/**
 * Largest distance of two rows, exactly: its square for l2.
 * @param {RationalMatrix} X @param {"l1" | "l2 squared" | "linf"} kind
 */
export function exactDiameter(X, kind) {
  let most = ZERO;
  for (let i = 0; i < X.length; i++)
    for (let j = 0; j < i; j++) {
      const apart = X[i].map((x, k) => minus(x, X[j][k]));
      const sizes = apart.map((a) => (kind === "l2 squared" ? times(a, a) : magnitude(a)));
      most = largest([most, kind === "linf" ? largest(sizes) : sum(sizes)]);
    }
  return most;
}

/** @param {RationalMatrix} A */
export function exactDobrushin(A) {
  return over(exactDiameter(A, "l1"), rational(2n));
}

/**
 * @typedef {object} Certificate
 * @property {RationalMatrix} A  row-stochastic, exactly
 * @property {RationalMatrix} X
 * @property {Rational} tau
 * @property {{ norm: "l1" | "l2 squared" | "linf", lhs: Rational, rhs: Rational, holds: boolean, tie: boolean }[]} sides
 */

/**
 * Theorem 1 (i), diam(AX) <= tau(A) diam(X), in the l1, l2 and maximum norm; both sides are squared for l2, so that
 * every number is rational. `weights` are nonnegative with a positive row sum, and are divided by it.
 * @param {RationalMatrix} weights @param {RationalMatrix} X @returns {Certificate}
 */
export function certify(weights, X) {
  const A = exactRowStochastic(weights);
  const tau = exactDobrushin(A);
  const AX = exactProduct(A, X);
  const sides = /** @type {const} */ (["l1", "l2 squared", "linf"]).map((norm) => {
    const lhs = exactDiameter(AX, norm);
    const rhs = times(norm === "l2 squared" ? times(tau, tau) : tau, exactDiameter(X, norm));
    const order = compare(lhs, rhs);
    return { norm, lhs, rhs, holds: order <= 0, tie: order === 0 };
  });
  return { A, X, tau, sides };
}
