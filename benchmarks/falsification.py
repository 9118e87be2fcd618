"""How often, how fast and how small: the falsifier on claims with known truth, beside plain tools, in one run.

    python benchmarks/falsification.py [FILE] [--seeds N] [--json] [--budget N] [--no-peers] [--only ID]

FILE holds one claim a line, as JSON: variables with kinds and shapes, hypotheses, two sides as expressions. Each is
translated into a claim over the domains of resstream, by types (scalar, row vector, matrix) and by name, never by id.
The peers see the same translated claim in float64, and are judged exactly: a "false alarm" is a violation that they
report and exact arithmetic denies.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import json
import os
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as stock_arrays
from scipy.optimize import differential_evolution

from resstream import arithmetic as ar
from resstream import reference as ref
from resstream.arithmetic import Array, Exact, exact
from resstream.claim import (
    Batch,
    Claim,
    Instance,
    Relation,
    at_least,
    at_most,
    equal,
    every,
    less_than,
    more_than,
)
from resstream.domains import (
    Causal,
    Count,
    Domain,
    DoublyStochastic,
    Matrix,
    Options,
    Orthogonal,
    Part,
    Parts,
    Positive,
    PositiveSemidefinite,
    RowStochastic,
    Size,
    Sizes,
    Whole,
    size_of,
)
from resstream.falsify import corners, judge
from resstream.falsify.run import BUDGET, falsify
from resstream.reference import spectrum

DEFAULT_FILE = Path("../shared/bench/claims.jsonl")
SPAN = 16
"""Sizes without an upper end run over this many values."""

CUBE = 5
"""Those of which the claim makes 2^n rows."""

INF = "inf"

# ---- values: scalars (..., 1, 1), row vectors (..., 1, d), matrices (..., n, d) ------------------------------------


@dataclass(frozen=True)
class Value:
    """An array of a number system, and what it stands for: "scalar", "vector" or "matrix"."""

    kind: str
    x: Array


_RANKS = {"scalar": 0, "vector": 1, "matrix": 2}


class Unsupported(Exception):
    """The translator does not know this piece of the format."""


def _wider(*values: Any) -> str:
    kinds = [value.kind for value in values if isinstance(value, Value)]
    return max(kinds, key=_RANKS.__getitem__, default="scalar")


def _x(value: Any) -> Any:
    return value.x if isinstance(value, Value) else value


def scalar(x: Array) -> Value:
    return Value("scalar", x)


def vector(x: Array) -> Value:
    return Value("vector", x)


def matrix(x: Array) -> Value:
    return Value("matrix", x)


NORMS = {1: ref.L1, 2: ref.L2, INF: ref.LINF}


class Meaning:
    """The names of the format, in the number system of one array."""

    def __init__(self, like: Array) -> None:
        self.like = like

    def lift(self, value: Any) -> Value:
        """A number as a scalar of the number system."""
        if isinstance(value, Value):
            return value
        number = value.value if isinstance(value, Exact) else Fraction(value)
        return scalar(ar.zeros((1, 1), self.like) + ar.constant(number, self.like))

    def array(self, value: Any) -> Array:
        return self.lift(value).x

    def each(self, function: Callable[[Array], Array], value: Any) -> Value:
        lifted = self.lift(value)
        return Value(lifted.kind, function(lifted.x))

    # vectors and matrices from nothing

    def eye(self, n: int) -> Value:
        return matrix(ar.eye(n, self.like))

    def ones(self, n: int) -> Value:
        return vector(ar.ones((1, n), self.like))

    def onehot(self, n: int, k: int) -> Value:
        return vector(ar.eye(n, self.like)[k : k + 1])

    def cube(self, n: int) -> Value:
        return matrix(self._integers(np.array(list(itertools.product((0, 1), repeat=n)))))

    def _integers(self, values: Array) -> Array:
        return ar.where(values == 1, ar.ones((1, 1), self.like), 0)

    # entries

    def vmax(self, v: Any) -> Value:
        return scalar(ar.largest_entry(self.array(v)))

    def vmin(self, v: Any) -> Value:
        return scalar(ar.smallest_entry(self.array(v)))

    def vsum(self, v: Any) -> Value:
        return scalar(ar.total_entry(self.array(v)))

    def vabs(self, v: Any) -> Value:
        return self.each(ar.absolute, v)

    def abs(self, v: Any) -> Any:
        return abs(v) if isinstance(v, int) else self.each(ar.absolute, v)

    def sqrt(self, v: Any) -> Value:
        return self.each(ar.sqrt, v)

    def exp(self, v: Any) -> Value:
        return self.each(ar.exp, v)

    def log(self, v: Any) -> Value:
        return self.each(ar.log, v)

    def tanh(self, v: Any) -> Value:
        return self.each(ar.tanh, v)

    def cos(self, v: Any) -> Value:
        return self.each(ar.cos, v)

    def sin(self, v: Any) -> Value:
        return self.each(ar.sin, v)

    def relu(self, v: Any) -> Value:
        return self.each(ar.relu, v)

    def min(self, *values: Any) -> Any:
        return self._extreme(min, ar.minimum, ar.smallest_entry, values)

    def max(self, *values: Any) -> Any:
        return self._extreme(max, ar.maximum, ar.largest_entry, values)

    def _extreme(self, python: Any, two: Any, one: Any, values: tuple[Any, ...]) -> Any:
        if all(isinstance(value, int) for value in values):
            return python(values)
        if len(values) == 1:
            return scalar(one(self.array(values[0])))
        result = self.array(values[0])
        for value in values[1:]:
            result = two(*np.broadcast_arrays(result, self.array(value)))
        return Value(_wider(*values), result)

    # shapes

    def outer(self, a: Value, b: Value) -> Value:
        return matrix(a.x.mT @ b.x)

    def diag(self, v: Value) -> Value:
        return matrix(v.x * ar.eye(v.x.shape[-1], self.like))

    def diagof(self, M: Value) -> Value:
        square = M.x[..., : min(M.x.shape[-2:]), : min(M.x.shape[-2:])]
        return vector(ar.total(square * ar.eye(square.shape[-1], self.like), -2))

    def hcat(self, *Ms: Value) -> Value:
        return Value(_wider(*Ms), _joined([M.x for M in Ms], -1))

    def vcat(self, *Ms: Value) -> Value:
        return matrix(_joined([M.x for M in Ms], -2))

    def trace(self, M: Value) -> Value:
        return self.vsum(self.diagof(M))

    # norms and spectra

    def nrm(self, v: Value, p: Any = 2) -> Value:
        if v.kind != "matrix":
            return scalar(ref.row_norms(v.x, NORMS[p]))
        return {1: self.npnorm1, 2: self.opn, INF: self.npnorminf}[p](v)

    def fro(self, M: Value) -> Value:
        return scalar(ref.frobenius_norm(M.x))

    def opn(self, W: Value, p: Any = 2) -> Value:
        return scalar(ref.operator_norm(W.x, NORMS[p]))

    def npnorm1(self, W: Value) -> Value:
        return scalar(ref.operator_norm(W.x, ref.LINF))

    def npnorminf(self, W: Value) -> Value:
        return scalar(ref.operator_norm(W.x, ref.L1))

    def sv(self, M: Value) -> Value:
        return vector(spectrum.singular_values(M.x))

    def smin(self, M: Value) -> Value:
        return scalar(spectrum.smallest_singular_value(M.x))

    def eigabs(self, M: Value) -> Value:
        return vector(spectrum.eigenvalue_moduli(M.x))

    def eigremin(self, M: Value) -> Value:
        return scalar(spectrum.smallest_real_part(M.x))

    def lam2(self, M: Value) -> Value:
        return scalar(spectrum.second_modulus(M.x))

    def srad(self, M: Value) -> Value:
        return scalar(spectrum.spectral_radius(M.x))

    def rank(self, M: Value) -> Value:
        return scalar(spectrum.rank(M.x))

    def det(self, M: Value) -> Value:
        return scalar(spectrum.determinant(M.x))

    def mpow(self, M: Value, k: int) -> Value:
        return matrix(spectrum.matrix_power(M.x, k))

    # clouds

    def pd(self, X: Value, p: Any = 2) -> Value:
        return matrix(ref.pairwise_distances(X.x, NORMS[p]))

    def diam(self, X: Value, p: Any = 2) -> Value:
        return scalar(ref.diameter(X.x, NORMS[p]))

    def cmean(self, X: Value) -> Value:
        return vector(ar.mean(X.x, -2))

    def cen(self, X: Value) -> Value:
        return matrix(X.x - ar.mean(X.x, -2))

    def rowrange(self, S: Value) -> Value:
        return vector((ar.amax(S.x) - ar.amin(S.x)).mT)

    def crowrange(self, S: Value) -> Value:
        rows = [S.x[..., i : i + 1, : i + 1] for i in range(S.x.shape[-2])]
        return vector(np.concatenate([ar.amax(row) - ar.amin(row) for row in rows], axis=-1))

    def colrange(self, S: Value) -> Value:
        return vector(ar.amax(S.x, -2) - ar.amin(S.x, -2))

    def colmin(self, S: Value) -> Value:
        return vector(ar.amin(S.x, -2))

    def rowmax(self, S: Value) -> Value:
        return vector(ar.amax(S.x).mT)

    def rownorms(self, X: Value, p: Any = 2) -> Value:
        return vector(ref.row_norms(X.x, NORMS[p]).mT)

    # smoothing and attention

    def tau(self, A: Value) -> Value:
        rows = A.x.shape[-2]
        if rows == 1:
            return scalar(ar.zeros((*A.x.shape[:-2], 1, 1), self.like))
        return scalar(ref.diameter(A.x, ref.L1) / 2)  # of any matrix, stochastic or not

    def topgap(self, s: Value) -> Value:
        ordered = ar.descending(s.x)
        return scalar(ordered[..., :1] - ordered[..., 1:2])

    def tv(self, p: Value, q: Value) -> Value:
        return scalar(ar.total_entry(ar.absolute(p.x - q.x)) / 2)

    def softmax(self, S: Value) -> Value:
        return Value(S.kind, ref.softmax(S.x))

    def csoftmax(self, S: Value) -> Value:
        return matrix(ref.softmax(S.x, ref.causal_mask(S.x.shape[-2])))

    def entropy(self, p: Value) -> Value:
        # 0 log 0 = 0; a ball that holds zero and other numbers has no logarithm, and stays undecided.
        return scalar(-ar.total_entry(p.x * ar.log(ar.where(p.x == 0, 1, p.x))))

    # normalisation, written out: a constant vector has no value here, where the reference refuses it by name

    def P(self, x: Value) -> Value:
        return Value(x.kind, x.x - ar.mean(x.x))

    def LN(self, x: Value) -> Value:
        return self.LNeps(x, 0)

    def LNeps(self, x: Value, eps: Any) -> Value:
        c = x.x - ar.mean(x.x)
        return Value(x.kind, c / ar.sqrt(ar.mean(ar.square(c)) + _x(eps)))

    def RMS(self, x: Value) -> Value:
        return Value(x.kind, x.x / ar.sqrt(ar.mean(ar.square(x.x))))

    def JLN(self, x: Value) -> Value:
        d = x.x.shape[-1]
        centring = ar.eye(d, self.like) - ar.ones((d, d), self.like) / d
        return self._jacobian(x.x - ar.mean(x.x), centring)

    def JRMS(self, x: Value) -> Value:
        return self._jacobian(x.x, ar.eye(x.x.shape[-1], self.like))

    def _jacobian(self, c: Array, kept: Array) -> Value:
        squares = ar.total(ar.square(c))
        return matrix(ar.sqrt(c.shape[-1] / squares) * (kept - c.mT @ c / squares))

    # positions and circuits

    def rot(self, x: Value, position: Any) -> Value:
        return vector(ref.rotary(x.x, position.x if isinstance(position, Value) else [position]))

    def rotrows(self, X: Value) -> Value:
        return matrix(ref.rotary(X.x, list(range(X.x.shape[-2]))))

    def comp(self, WA: Value, WB: Value) -> Value:
        product = ref.frobenius_norm(WA.x @ WB.x)
        return scalar(product / (ref.frobenius_norm(WA.x) * ref.frobenius_norm(WB.x)))

    # conditions

    def eq(self, a: Any, b: Any) -> Relation:
        return equal(self.array(a), self.array(b))


def _joined(arrays: Sequence[Array], axis: int) -> Array:
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays], axis=axis)


# ---- expressions ----------------------------------------------------------------------------------------------------


class Evaluator(ast.NodeVisitor):
    """Evaluates one expression of the format, by its syntax tree."""

    def __init__(self, scope: Mapping[str, Any], meaning: Meaning) -> None:
        self.scope, self.meaning = scope, meaning

    def generic_visit(self, node: ast.AST) -> Any:
        raise Unsupported(f"{type(node).__name__} in {ast.unparse(node)}")

    def visit_Constant(self, node: ast.Constant) -> Any:
        value = node.value
        if isinstance(value, str) and value.lower() == INF:
            return INF
        if type(value) is int:
            return value
        if type(value) is float:
            return exact(Fraction(str(value)))  # decimals mean exact fractions
        raise Unsupported(f"the constant {value!r}")

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.scope:
            return self.scope[node.id]
        if node.id == "INF":
            return INF
        raise Unsupported(f"the name {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.visit(node.value)
        if node.attr == "T" and isinstance(value, Value):
            return matrix(value.x.mT) if value.kind == "matrix" else value
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            return Value(value.kind, -value.x) if isinstance(value, Value) else -value
        return value if isinstance(node.op, ast.UAdd) else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.MatMult):
            return self._product(left, right)
        if isinstance(node.op, ast.Pow):
            return self._power(left, right)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and isinstance(left, int) and isinstance(right, int):
            return left // right if isinstance(node.op, ast.FloorDiv) else left % right
        operation = _OPERATIONS.get(type(node.op))
        if operation is None:
            return self.generic_visit(node)
        if isinstance(node.op, ast.Div) and isinstance(left, int) and isinstance(right, (int, Exact)):
            left = exact(left)
        if not isinstance(left, Value) and not isinstance(right, Value):
            return operation(left, right)
        return Value(_wider(left, right), operation(_x(left), _x(right)))

    def _product(self, left: Any, right: Any) -> Value:
        kinds = left.kind, right.kind
        if kinds == ("vector", "vector"):
            return scalar(ar.total(left.x * right.x))
        if kinds == ("matrix", "vector"):
            return vector(right.x @ left.x.mT)
        return Value("vector" if kinds[0] == "vector" else "matrix", left.x @ right.x)

    def _power(self, base: Any, exponent: Any) -> Any:
        if isinstance(exponent, Exact) and exponent.value == Fraction(1, 2):
            return self.meaning.sqrt(base)
        if type(exponent) is not int:
            raise Unsupported(f"the exponent {exponent!r}")
        if isinstance(base, int) and exponent >= 0:
            return base**exponent
        if not isinstance(base, Value):
            number = base.value if isinstance(base, Exact) else Fraction(base)
            return exact(number**exponent)
        raised = ar.power(base.x, abs(exponent))
        return Value(base.kind, raised if exponent >= 0 else 1 / raised)

    def visit_Call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.func.id.startswith("_"):
            return self.generic_visit(node)
        function = getattr(self.meaning, node.func.id, None)
        if function is None or node.func.id in ("lift", "array", "each"):
            raise Unsupported(f"the function {node.func.id}")
        keywords = {str(keyword.arg): self.visit(keyword.value) for keyword in node.keywords}
        return function(*(self.visit(argument) for argument in node.args), **keywords)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not isinstance(value, Value) or value.kind == "scalar" or len(places) > _RANKS[value.kind]:
            return self.generic_visit(node)
        x, axes = value.x, [-1] if value.kind == "vector" else [-2, -1]
        kept = []
        for axis, place in zip(axes, places, strict=False):
            index, keeps = self._index(place)
            x = x[..., index, :] if axis == -2 else x[..., index]
            kept.append(keeps)
        kept += [True] * (len(axes) - len(kept))
        if value.kind == "matrix" and kept == [True, False]:
            return vector(x.mT)
        return Value(("scalar", "vector", "matrix")[sum(kept)], x)

    def _index(self, node: ast.expr) -> tuple[slice, bool]:
        if isinstance(node, ast.Slice):
            ends = [None if end is None else self.visit(end) for end in (node.lower, node.upper, node.step)]
            return slice(*ends), True
        place = self.visit(node)
        if type(place) is not int:
            raise Unsupported("an index that is no whole number")
        return slice(place, place + 1 if place != -1 else None), False

    def visit_Compare(self, node: ast.Compare) -> Relation:
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        return every(*(self.relate(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)))

    def relate(self, left: Any, relation: ast.cmpop, right: Any) -> Relation:
        a, b = self.meaning.array(left), self.meaning.array(right)
        if isinstance(relation, ast.NotEq):
            return more_than(ar.largest_entry(ar.absolute(a - b)), 0)
        maker = _RELATIONS.get(type(relation))
        if maker is None:
            raise Unsupported(type(relation).__name__)
        return maker(a, b)

    def visit_BoolOp(self, node: ast.BoolOp) -> Relation:
        if not isinstance(node.op, ast.And):
            return self.generic_visit(node)
        return every(*(self.visit(value) for value in node.values))


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
_RELATIONS: dict[type[ast.cmpop], Callable[[Any, Any], Relation]] = {
    ast.LtE: at_most,
    ast.GtE: at_least,
    ast.Lt: less_than,
    ast.Gt: more_than,
    ast.Eq: equal,
}
_RELATION_OF = {"<=": ast.LtE(), ">=": ast.GtE(), "<": ast.Lt(), ">": ast.Gt(), "==": ast.Eq(), "!=": ast.NotEq()}


# ---- domains of the format's kinds -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice(Domain):
    """One of several plain values (the same for a whole batch)."""

    values: tuple[Any, ...]

    def options(self) -> dict[str, tuple[str, ...]]:
        return {"": tuple(map(str, self.values))}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return next(value for value in self.values if str(value) == options[""])


@dataclass(frozen=True)
class Unit(Domain):
    """Entries in [0, 1]: the absolute raw value, cut at 1."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.rows, sizes), size_of(self.columns, sizes)), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = ar.absolute(raw[""])
        return ar.minimum(x, np.broadcast_to(ar.ones((1, 1), x), x.shape))


@dataclass(frozen=True)
class NonZeroEntries(Matrix):
    """Entries other than 0; a raw zero stands for 1."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return ar.where(raw[""] == 0, 1, raw[""])


def domain_of(spec: Mapping[str, Any], structural: bool) -> tuple[Domain, str]:
    """The domain of a variable, and whether it is a scalar, a vector, a matrix or a plain value."""
    kind, shape = spec["kind"], list(spec.get("shape") or [])
    what = ("scalar", "vector", "matrix")[len(shape)]
    rows, columns = [1, 1] if not shape else [1, shape[0]] if len(shape) == 1 else shape
    if kind == "choice":
        return Choice(tuple(_plain(value) for value in spec["values"])), "plain"
    if kind == "int":
        low, high = int(spec["min"]), int(spec["max"])
        if structural:
            return Choice(tuple(range(low, min(high, low + 63) + 1))), "plain"
        return Whole(low, high, rows, columns), what
    made: dict[str, Callable[[], Domain]] = {
        "real": lambda: Matrix(rows, columns),
        "nonzero": lambda: NonZeroEntries(rows, columns),
        "positive": lambda: Positive(rows, columns),
        "unit": lambda: Unit(rows, columns),
        "prob": lambda: RowStochastic(rows, columns),
        "stochastic": lambda: RowStochastic(rows, columns),
        "causal": lambda: Causal(rows),
        "doubly": lambda: DoublyStochastic(rows),
        "orth": lambda: Orthogonal(rows, columns),
        "psd": lambda: PositiveSemidefinite(rows),
    }
    if kind not in made:
        raise Unsupported(f"the kind {kind}")
    return made[kind](), what


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.lower() in (INF, "infinity"):
        return INF
    if isinstance(value, (float, str)):
        return exact(Fraction(str(value)))
    return value


def _structural_names(trees: Sequence[ast.AST]) -> set[str]:
    """Names that decide a shape or how often something is done, and so cannot vary within a batch."""
    found: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            places: list[ast.AST] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                places = {
                    "mpow": node.args[1:],
                    "onehot": node.args,
                    "eye": node.args,
                    "ones": node.args,
                    "cube": node.args,
                }.get(node.func.id, [])
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                places = [node.right]
            elif isinstance(node, ast.Subscript):
                places = [node.slice]
            found |= {name.id for place in places for name in ast.walk(place) if isinstance(name, ast.Name)}
    return found


def translate(entry: Mapping[str, Any]) -> Claim:
    """The claim of one line of the format, over the domains of resstream."""
    parsed = {text: ast.parse(text, mode="eval").body for text in _texts(entry)}
    structural = _structural_names(list(parsed.values()))
    over: dict[str, Domain] = {}
    kinds: dict[str, str] = {}
    for name, spec in entry["vars"].items():
        over[name], kinds[name] = domain_of(spec, name in structural)
    for name in entry.get("dims", {}):
        over[name], kinds[name] = Count(name), "plain"
    if not any(kind != "plain" for kind in kinds.values()):
        over["_any"], kinds["_any"] = Matrix(1, 1), "scalar"

    def scope_of(objects: Mapping[str, Any]) -> Evaluator:
        like = next(objects[name] for name, kind in kinds.items() if kind != "plain")
        scope = {name: x if kinds[name] == "plain" else Value(kinds[name], x) for name, x in objects.items()}
        evaluator = Evaluator(scope, Meaning(like))
        for name, text in entry.get("let") or []:
            scope[name] = evaluator.visit(parsed[text])
        return evaluator

    def condition(text: str) -> Callable[..., Relation]:
        return _of_names(over, lambda objects: scope_of(objects).visit(parsed[text]), text)

    def conclusion(objects: Mapping[str, Any]) -> Relation:
        evaluator = scope_of(objects)
        left, right = (evaluator.visit(parsed[entry[side]]) for side in ("lhs", "rhs"))
        return evaluator.relate(left, _RELATION_OF[entry["rel"]], right)

    return Claim(
        id=re.sub(r"[^\w.+-]", "_", entry["id"]) or "_",
        over=over,
        conclusion=_of_names(over, conclusion, entry["id"]),
        assuming=tuple(condition(text) for text in entry.get("pre") or []),
        sizes={name: _range(name, ends, entry) for name, ends in entry.get("dims", {}).items()},
        statement=entry.get("statement", ""),
    )


def _texts(entry: Mapping[str, Any]) -> list[str]:
    return [entry["lhs"], entry["rhs"], *(entry.get("pre") or []), *(text for _, text in entry.get("let") or [])]


def _range(name: str, ends: Sequence[int | None], entry: Mapping[str, Any]) -> range:
    low, high = int(ends[0] or 1), ends[1]
    step = 2 if name in (entry.get("even_dims") or []) else 1
    low += low % step
    span = CUBE if re.search(rf"\bcube\({name}\)", " ".join(_texts(entry))) else SPAN
    last = low + step * (span - 1)
    return range(low, (last if high is None else min(last, high)) + 1, step)


def _of_names(
    over: Mapping[str, Domain], function: Callable[[Mapping[str, Any]], Any], name: str
) -> Callable[..., Any]:
    def call(**objects: Any) -> Any:
        return function(objects)

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY) for key in over]
    )
    call.__name__ = name
    return call


# ---- peers --------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a tool made of a claim: "refuted", "false alarm", "survived" or "error"; of a counterexample its size and
    the engine that found it."""

    status: str
    seconds: float
    nonzero: int | None = None
    engine: str = ""


def nonzero_entries(raw: Instance) -> int:
    return sum(int(np.count_nonzero(np.frompyfunc(lambda v: v != 0, 1, 1)(x))) for x in raw.arrays.values())


TOLERANCE = 1e-9
"""Relative violations below this are passed over by the peers, as a careful float test would."""


def _margin(claim: Claim, raw: Instance) -> float | None:
    """The relative float margin of one instance, or None where a hypothesis fails or there is no value."""
    met, margin = claim.margin(raw.batch())
    return float(margin.relative[0]) if met[0] and np.isfinite(margin.relative[0]) else None


def _judged(claim: Claim, raw: Instance | None, start: float) -> Outcome:
    seconds = time.perf_counter() - start
    if raw is None:
        return Outcome("survived", seconds)
    certain = judge.judge(claim, raw).outcome == judge.VIOLATED
    return Outcome("refuted" if certain else "false alarm", seconds, nonzero_entries(raw))


@st.composite
def stock_instances(draw: st.DrawFn, claim: Claim) -> Instance:
    """Instances made with Hypothesis's own `arrays()`."""
    sizes = {name: draw(st.sampled_from(list(values))) for name, values in claim.size_ranges().items()}
    options = {name: draw(st.sampled_from(values)) for name, values in claim.option_values().items()}
    arrays = {}
    for name, part in claim.parts(sizes, options).items():
        low, high = (part.low, part.high) if part.kind == "whole" else (0 if part.kind == "weight" else -10, 10)
        elements = st.integers(low, high).map(float) if part.kind == "whole" else st.floats(low, high)
        arrays[name] = draw(stock_arrays(np.float64, part.shape, elements=elements))
    return Instance(sizes, options, arrays)


def plain_hypothesis(claim: Claim, seed: int, examples: int, steered: bool) -> Outcome:
    """`@given` with stock arrays, and `target()` on the margin where it is steered; Hypothesis shrinks."""
    last: list[Instance] = []

    @hypothesis_seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink, *([Phase.target] if steered else [])],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(stock_instances(claim))
    def test(raw: Instance) -> None:
        margin = _margin(claim, raw)
        if margin is None:
            return
        if steered:
            target(-margin)
        if margin < -TOLERANCE:
            last[:] = [raw]
            raise AssertionError

    start = time.perf_counter()
    try:
        test()
    except AssertionError:
        return _judged(claim, last[0], start)
    except Exception:
        return Outcome("error", time.perf_counter() - start)
    return _judged(claim, None, start)


def plain_evolution(claim: Claim, seed: int, evaluations: int) -> Outcome:
    """SciPy's differential evolution alone, on the float margin, shape after shape from the smallest."""
    start = time.perf_counter()
    left = evaluations
    for shape in corners.shapes(claim)[:12]:
        parts = claim.parts(*shape)
        bounds = [
            (part.low, part.high) if part.kind == "whole" else (0 if part.kind == "weight" else -10, 10)
            for part in parts.values()
            for _ in range(int(np.prod(part.shape)))
        ]
        if not bounds:
            continue

        def score(columns: Array, parts: Any = parts, shape: Any = shape) -> Array:
            nonlocal left
            rows = np.atleast_2d(columns.T)
            left -= len(rows)
            arrays = {name: parts[name].settle(x) for name, x in corners.split(parts, rows).items()}
            met, margin = claim.margin(Batch(*shape, arrays, len(rows)))
            values = np.full(len(rows), 1e9)
            values[met] = np.nan_to_num(margin.relative, nan=1e9)
            return values if columns.ndim > 1 else values[0]

        share = max(evaluations // 12, 1)
        size = max(5, min(15, 400 // len(bounds)))
        try:
            found = differential_evolution(
                score,
                bounds,
                popsize=size,
                maxiter=max(share // (size * len(bounds)) - 1, 1),
                tol=0,
                polish=False,
                rng=seed,
                vectorized=True,
                updating="deferred",
                callback=lambda intermediate_result: intermediate_result.fun < -TOLERANCE,
            )
        except Exception:
            return Outcome("error", time.perf_counter() - start)
        if found.fun < -TOLERANCE:
            arrays = {name: parts[name].settle(x)[0] for name, x in corners.split(parts, found.x[None]).items()}
            return _judged(claim, Instance(*shape, arrays), start)
        if left <= 0:
            break
    return _judged(claim, None, start)


# ---- the run --------------------------------------------------------------------------------------------------------


def ours(claim: Claim, seed: int, budget: int) -> Outcome:
    verdict = falsify(claim, budget, seed)
    if verdict.counterexample is None:
        status = verdict.status if verdict.status in ("survived", "error") else f"{verdict.status}"
        return Outcome(status, verdict.seconds)
    certain = verdict.counterexample.judgement.outcome == judge.VIOLATED
    size = nonzero_entries(verdict.counterexample.raw)
    return Outcome("refuted" if certain else "false alarm", verdict.seconds, size, verdict.tally.engine)


def known_size(entry: Mapping[str, Any]) -> int | None:
    """Nonzero entries of the small counterexample that the file knows."""
    values = (entry.get("counterexample") or {}).get("values")
    if values is None:
        return None

    def count(value: Any) -> int:
        return sum(map(count, value)) if isinstance(value, list) else int(Fraction(str(value)) != 0)

    variables = {name: value for name, value in values.items() if entry["vars"][name]["kind"] != "choice"}
    return sum(count(value) for value in variables.values())


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of one tool over its rows (a row is a claim with one seed)."""
    false, true = ([row for row in rows if row["truth"] is truth] for truth in (False, True))
    refuted = [row for row in false if row["status"] == "refuted"]
    seconds = sorted(row["seconds"] for row in refuted)
    ratios = [row["nonzero"] / max(row["known"], 1) for row in refuted if row["known"] is not None]
    return {
        "false_refuted": len(refuted),
        "false_total": len(false),
        "true_survived": sum(row["status"] == "survived" for row in true),
        "true_total": len(true),
        "false_alarms": sum(row["status"] == "false alarm" for row in rows),
        "found_by": dict(Counter(row["engine"] for row in refuted if row["engine"]).most_common()),
        "median_seconds": round(statistics.median(seconds), 4) if seconds else None,
        "p95_seconds": round(float(np.quantile(seconds, 0.95)), 4) if seconds else None,
        "size_median": statistics.median(row["nonzero"] for row in refuted) if refuted else None,
        "size_ratio_median": round(statistics.median(ratios), 3) if ratios else None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--seeds", type=int, default=1, help="run every claim with this many seeds")
    parser.add_argument("--budget", type=int, default=BUDGET, help="evaluations of a search of ours")
    parser.add_argument("--examples", type=int, default=10_000, help="examples of the plain Hypothesis tests")
    parser.add_argument("--no-peers", action="store_true", help="leave the other tools out")
    parser.add_argument("--only", action="append", help="only the claims whose id starts with this")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    entries = [json.loads(line) for line in arguments.file.read_text().splitlines() if line.strip()]
    if arguments.only:
        entries = [entry for entry in entries if entry["id"].startswith(tuple(arguments.only))]
    tools: dict[str, Callable[[Claim, int], Outcome]] = {"resstream": lambda c, s: ours(c, s, arguments.budget)}
    if not arguments.no_peers:
        tools["hypothesis"] = lambda c, s: plain_hypothesis(c, s, arguments.examples, False)
        tools["hypothesis+target"] = lambda c, s: plain_hypothesis(c, s, arguments.examples, True)
        tools["scipy evolution"] = lambda c, s: plain_evolution(c, s, arguments.budget // 4)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in tools}
    for entry in entries:
        try:
            claim = translate(entry)
        except Exception as failure:  # one claim that is not understood must not end the run
            sys.stderr.write(f"{entry['id']}: not translated ({type(failure).__name__}: {failure})\n")
            claim = None
        for seed, (name, tool) in itertools.product(range(arguments.seeds), tools.items()):
            try:
                outcome = tool(claim, seed) if claim else Outcome("error", 0.0)
            except Exception as failure:
                sys.stderr.write(f"{entry['id']}: {name}: {type(failure).__name__}: {failure}\n")
                outcome = Outcome("error", 0.0)
            row = {
                "id": entry["id"],
                "truth": entry["truth"],
                "seed": seed,
                "known": known_size(entry),
                **vars(outcome),
            }
            rows[name].append(row)
            if not arguments.json:
                good = outcome.status == ("survived" if entry["truth"] else "refuted")
                print(
                    f"{entry['id']:12} {'true ' if entry['truth'] else 'false'} seed {seed}  {name:18} "
                    f"{outcome.status:12} {outcome.seconds:8.3f} s  size {outcome.nonzero} of {row['known']}"
                    f"  {outcome.engine}"
                    f"{'' if good else '   <--'}",
                    flush=True,
                )
    figures = {name: summary(found) for name, found in rows.items()}
    if arguments.json:
        result = {**figures["resstream"], "peers": figures, "rows": rows}
        print(json.dumps(result, indent=2))
    else:
        for name, values in figures.items():
            print(f"\n{name}\n  " + "  ".join(f"{key}={value}" for key, value in values.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
