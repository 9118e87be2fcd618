// @ts-check
// The expressions in which a claim's sides are written, as the package reads them: arithmetic, and calls of an allow-list.
// Every value is a matrix; a number is 1 x 1, and shapes broadcast.

import {
  centre, diameter, dobrushin, frobeniusNorm, layerNorm, multiply, operatorNorm, pairwiseDistances, relativeSpread, rmsNorm,
  rowNorm, rowRange, softmax, transpose,
} from "./mathematics.js";

/** @typedef {import("./mathematics.js").Matrix} Matrix */
/** @typedef {import("./mathematics.js").NormKind} NormKind */
/** @typedef {Matrix | NormKind} Value */
/**
 * @typedef {{ kind: "number", value: number, text: string, at: number } | { kind: "name", name: string, at: number }
 *   | { kind: "minus", of: Tree, at: number } | { kind: "binary", op: string, left: Tree, right: Tree, at: number }
 *   | { kind: "call", name: string, of: Tree[], at: number }} Tree
 */

export class ExpressionError extends Error {
  /** @param {string} message @param {number} at */
  constructor(message, at) {
    super(`column ${at + 1}: ${message}`);
    this.name = "ExpressionError";
  }
}

const DEEPEST_EXPRESSION = 40;
const LARGEST_EXPONENT = 16;

/** @param {string} text @returns {Tree} */
export function parse(text) {
  if (text.length > 1000) throw new ExpressionError(`${text.length} characters, expected at most 1000`, 0);
  const tokens = [...text.matchAll(/\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/@(),])|(\S))/g)];
  let next = 0;
  const at = () => (tokens[next] ? Number(tokens[next].index) + tokens[next][0].search(/\S/) : text.length);
  const operator = () => tokens[next]?.[3];
  /** @param {string} what */
  const expect = (what) => {
    if (operator() !== what) throw new ExpressionError(`expected ${what}`, at());
    next += 1;
  };
  /** @param {number} depth @returns {Tree} */
  const sum = (depth) => chain(depth, ["+", "-"], product);
  /** @param {number} depth @returns {Tree} */
  const product = (depth) => chain(depth, ["*", "/", "@"], signed);
  /** @param {number} depth @param {string[]} operators @param {(depth: number) => Tree} operand @returns {Tree} */
  function chain(depth, operators, operand) {
    let left = operand(depth);
    for (let op = operator(); op && operators.includes(op); op = operator()) {
      const place = at();
      next += 1;
      left = { kind: "binary", op, left, right: operand(depth), at: place };
    }
    return left;
  }
  /** @param {number} depth @returns {Tree} */
  function signed(depth) {
    const place = at();
    if (depth > DEEPEST_EXPRESSION) throw new ExpressionError(`nested more than ${DEEPEST_EXPRESSION} deep`, place);
    if (operator() === "-" || operator() === "+") {
      const minus = operator() === "-";
      next += 1;
      const of = signed(depth + 1);
      return minus ? { kind: "minus", of, at: place } : of;
    }
    const base = atom(depth);
    if (operator() !== "**") return base;
    next += 1;
    const exponent = atom(depth + 1);
    if (exponent.kind !== "number" || !Number.isInteger(exponent.value) || exponent.value > LARGEST_EXPONENT)
      throw new ExpressionError(`expected a whole exponent between 0 and ${LARGEST_EXPONENT}`, exponent.at);
    return { kind: "binary", op: "**", left: base, right: exponent, at: place };
  }
  /** @param {number} depth @returns {Tree} */
  function atom(depth) {
    const place = at();
    const token = tokens[next];
    if (!token) throw new ExpressionError("expected a number, a name or a call", place);
    next += 1;
    if (token[1]) return { kind: "number", value: Number(token[1]), text: token[1], at: place };
    if (token[3] === "(") {
      const inner = sum(depth + 1);
      expect(")");
      return inner;
    }
    if (!token[2]) throw new ExpressionError(`expected a number, a name or a call, got ${token[0].trim()}`, place);
    if (operator() !== "(") return { kind: "name", name: token[2], at: place };
    next += 1;
    /** @type {Tree[]} */
    const given = [];
    while (operator() !== ")") {
      given.push(sum(depth + 1));
      if (operator() !== ")") expect(",");
    }
    next += 1;
    return { kind: "call", name: token[2], of: given, at: place };
  }
  const tree = sum(0);
  if (next < tokens.length) throw new ExpressionError(`expected the end, got ${tokens[next][0].trim()}`, at());
  return tree;
}

// ---- values -----------------------------------------------------------------

/** @param {number} x @returns {Matrix} */
const number = (x) => [[x]];

/** @param {Matrix} A @param {Matrix} B @param {(a: number, b: number) => number} f @returns {Matrix} */
export function broadcast(A, B, f) {
  const rows = together(A.length, B.length);
  const columns = together(A[0].length, B[0].length);
  return Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => f(A[A.length > 1 ? i : 0][A[0].length > 1 ? j : 0], B[B.length > 1 ? i : 0][B[0].length > 1 ? j : 0])),
  );
}

/** @param {number} a @param {number} b */
function together(a, b) {
  if (a !== b && a !== 1 && b !== 1) throw new RangeError(`shapes do not fit: ${a} and ${b}`);
  return Math.max(a, b);
}

/** @param {(x: number) => number} f @returns {(X: Matrix) => Matrix} */
const entrywise = (f) => (X) => X.map((row) => row.map(f));

/** A reduction of rows, or with -2 of columns. @param {(row: number[]) => number} f @returns {(X: Matrix, axis?: Matrix) => Matrix} */
const reduction = (f) => (X, axis) => (axis && axis[0][0] === -2 ? [transpose(X).map(f)] : X.map((row) => [f(row)]));

/** @param {number[]} row */
const totalOf = (row) => row.reduce((sum, x) => sum + x, 0);

/** @type {Record<string, (...values: any[]) => Matrix>} */
const FUNCTIONS = {
  abs: entrywise(Math.abs),
  absolute: entrywise(Math.abs),
  cos: entrywise(Math.cos),
  exp: entrywise(Math.exp),
  log: entrywise(Math.log),
  relu: entrywise((x) => Math.max(x, 0)),
  sin: entrywise(Math.sin),
  sqrt: entrywise(Math.sqrt),
  square: entrywise((x) => x * x),
  tanh: entrywise(Math.tanh),
  amax: reduction((row) => Math.max(...row)),
  amin: reduction((row) => Math.min(...row)),
  mean: reduction((row) => totalOf(row) / row.length),
  total: reduction(totalOf),
  total_entry: (X) => number(totalOf(X.flat())),
  largest_entry: (X) => number(Math.max(...X.flat())),
  smallest_entry: (X) => number(Math.min(...X.flat())),
  maximum: (A, B) => broadcast(A, B, Math.max),
  minimum: (A, B) => broadcast(A, B, Math.min),
  transpose,
  centre,
  softmax: (S) => softmax(S),
  layer_norm: (X) => layerNorm(X),
  rms_norm: (X) => rmsNorm(X),
  dobrushin: (A) => number(dobrushin(A)),
  diameter: (X, norm) => number(diameter(X, norm)),
  relative_spread: (X) => number(relativeSpread(X)),
  row_range: (S) => number(rowRange(S)),
  row_norms: (X, norm) => X.map((/** @type {number[]} */ row) => [rowNorm(row, norm)]),
  largest_row_norm: (X, norm) => number(Math.max(...X.map((/** @type {number[]} */ row) => rowNorm(row, norm)))),
  pairwise_distances: (X, norm) => pairwiseDistances(X, norm),
  operator_norm: (W, norm) => number(operatorNorm(W, norm)),
  spectral_norm: (W) => number(operatorNorm(W)),
  frobenius_norm: (W) => number(frobeniusNorm(W)),
};

const OPERATIONS = {
  "+": (/** @type {number} */ a, /** @type {number} */ b) => a + b,
  "-": (/** @type {number} */ a, /** @type {number} */ b) => a - b,
  "*": (/** @type {number} */ a, /** @type {number} */ b) => a * b,
  "/": (/** @type {number} */ a, /** @type {number} */ b) => a / b,
};

/** @type {Record<string, NormKind>} */
const NORMS = { L1: "l1", L2: "l2", LINF: "linf" };

/** What a call may name. */
export const FUNCTION_NAMES = Object.keys(FUNCTIONS);

/**
 * The value of an expression. Wrong names and shapes raise ExpressionError with their place.
 * @param {Tree} tree @param {Record<string, Value>} scope @returns {Value}
 */
export function valueOf(tree, scope) {
  const inner = (/** @type {Tree} */ part) => valueOf(part, scope);
  const whole = (/** @type {Tree} */ part) => {
    const value = inner(part);
    if (typeof value === "string") throw new ExpressionError("expected a matrix, got a norm", part.at);
    return value;
  };
  if (tree.kind === "number") return number(tree.value);
  if (tree.kind === "minus") return whole(tree.of).map((row) => row.map((x) => -x));
  if (tree.kind === "name") {
    if (Object.hasOwn(scope, tree.name)) return scope[tree.name];
    if (Object.hasOwn(NORMS, tree.name)) return NORMS[tree.name];
    const known = [...Object.keys(scope), ...Object.keys(NORMS)].join(", ");
    throw new ExpressionError(`unknown name ${tree.name}, expected one of ${known}`, tree.at);
  }
  try {
    if (tree.kind === "call") {
      if (!Object.hasOwn(FUNCTIONS, tree.name)) throw new ExpressionError(`unknown function ${tree.name}`, tree.at);
      if (!tree.of.length) throw new ExpressionError(`${tree.name}: expected an argument`, tree.at);
      return FUNCTIONS[tree.name](whole(tree.of[0]), ...tree.of.slice(1).map(inner));
    }
    const [left, right] = [whole(tree.left), whole(tree.right)];
    if (tree.op === "@") {
      if (left[0].length !== right.length) throw new RangeError(`shapes do not fit: ${left[0].length} columns, ${right.length} rows`);
      return multiply(left, right);
    }
    if (tree.op === "**") return left.map((row) => row.map((x) => x ** right[0][0]));
    return broadcast(left, right, OPERATIONS[/** @type {keyof typeof OPERATIONS} */ (tree.op)]);
  } catch (failure) {
    if (failure instanceof ExpressionError) throw failure;
    throw new ExpressionError(`cannot be evaluated: ${/** @type {Error} */ (failure).message}`, tree.at);
  }
}

/**
 * How far lhs <= rhs is from failing: the entry with the smallest (rhs - lhs)/(|lhs| + |rhs|). Two zeros are a tie, and
 * say nothing where there are other entries: a distance of a token to itself.
 * @param {Matrix} lhs @param {Matrix} rhs @returns {{ margin: number, lhs: number, rhs: number }}
 */
export function relativeMargin(lhs, rhs) {
  let worst = { margin: Infinity, lhs: NaN, rhs: NaN };
  broadcast(lhs, rhs, (a, b) => {
    const size = Math.abs(a) + Math.abs(b);
    if (size !== 0 && !((b - a) / size >= worst.margin)) worst = { margin: (b - a) / size, lhs: a, rhs: b };
    return 0;
  });
  return worst.margin === Infinity ? { margin: 0, lhs: 0, rhs: 0 } : worst;
}

// ---- as a formula -----------------------------------------------------------

const STRENGTH = { "+": 1, "-": 1, "*": 2, "/": 2, "@": 2, "**": 4 };

/** @type {Record<string, string>} */
const SYMBOLS = { dobrushin: "τ", diameter: "diam", total: "sum", total_entry: "sum", row_range: "range", pairwise_distances: "dist", layer_norm: "LN", rms_norm: "RMS", absolute: "abs" };

/** @type {Record<string, string>} */
const FENCED = { spectral_norm: "2", frobenius_norm: "F", operator_norm: "", row_norms: "" };

/** @type {Record<string, string>} */
const SUBSCRIPTS = { L1: "1", L2: "2", LINF: "∞" };

/** The expression as MathML. @param {Tree} tree @param {number} [outer] @returns {string} */
export function mathML(tree, outer = 0) {
  if (tree.kind === "number") return `<mn>${tree.text}</mn>`;
  if (tree.kind === "name") return `<mi${tree.name.length > 1 ? ' mathvariant="normal"' : ""}>${tree.name}</mi>`;
  if (tree.kind === "minus") return fenced(`<mo>−</mo>${mathML(tree.of, 3)}`, outer > 1);
  if (tree.kind === "call") return call(tree);
  const { op, left, right } = tree;
  const strength = STRENGTH[/** @type {keyof typeof STRENGTH} */ (op)];
  if (op === "**") return `<msup><mrow>${mathML(left, 5)}</mrow>${mathML(right)}</msup>`;
  if (op === "/") return `<mfrac><mrow>${mathML(left)}</mrow><mrow>${mathML(right)}</mrow></mfrac>`;
  const sign = { "+": "<mo>+</mo>", "-": "<mo>−</mo>", "*": "<mo>·</mo>", "@": "<mo>&#x2062;</mo>" }[op] ?? "";
  return fenced(mathML(left, strength) + sign + mathML(right, strength + 1), strength < outer);
}

/** @param {string} inner @param {boolean} needed */
function fenced(inner, needed) {
  return needed ? `<mrow><mo>(</mo>${inner}<mo>)</mo></mrow>` : inner;
}

/** @param {Extract<Tree, { kind: "call" }>} tree */
function call({ name, of }) {
  const norm = of.length > 1 && of[1].kind === "name" ? (SUBSCRIPTS[of[1].name] ?? "") : "";
  const inner = mathML(of[0]);
  if (name === "square") return `<msup><mrow>${mathML(of[0], 5)}</mrow><mn>2</mn></msup>`;
  if (name === "sqrt") return `<msqrt>${inner}</msqrt>`;
  if (name === "transpose") return `<msup><mrow>${mathML(of[0], 5)}</mrow><mi>T</mi></msup>`;
  if (Object.hasOwn(FENCED, name)) {
    const below = FENCED[name] || norm;
    const bars = `<mrow><mo>‖</mo>${inner}<mo>‖</mo></mrow>`;
    return below ? `<msub>${bars}<mn>${below}</mn></msub>` : bars;
  }
  const symbol = `<mi mathvariant="normal">${SYMBOLS[name] ?? name.replaceAll("_", " ")}</mi>`;
  const head = norm ? `<msub>${symbol}<mn>${norm}</mn></msub>` : symbol;
  const rest = norm ? [] : of.slice(1).filter((part) => part.kind === "number" || part.kind === "call");
  return `${head}<mrow><mo>(</mo>${[inner, ...rest.map((part) => mathML(part))].join("<mo>,</mo>")}<mo>)</mo></mrow>`;
}
