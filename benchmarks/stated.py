"""Claims of a file with known truth, stated over the package's domains in the package's own expressions.

A file holds one claim a line, as JSON: variables with kinds and shapes, hypotheses, two sides. Its notation tells
scalars, vectors and matrices apart, where the package has matrices alone (a vector is one row), and has shorter names.
So each text is rewritten, by types and names and never by id, and then read as the command line reads `--conclusion`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from resstream.claim import Claim
from resstream.falsify.expressions import relation
from resstream.falsify.written_domains import parse_domain

DEFAULT_FILE = Path("../shared/bench/claims.jsonl")

SPAN = 16
"""Sizes without an upper end run over this many values."""

CUBE = 5
"""Those of which the claim makes 2^n rows."""

MOST = 64
"""The largest size, and the largest whole number that an exponent or a shape may be."""

Entry = Mapping[str, Any]


class Unsupported(Exception):
    """The format has something that the package's expressions have no words for."""


MEANINGS = """
vmax(v): scalar = largest_entry(v)
vmin(v): scalar = smallest_entry(v)
vsum(v): scalar = total_entry(v)
vabs(v): v = abs(v)
abs(v): v = abs(v)
sqrt(v): v = sqrt(v)
exp(v): v = exp(v)
log(v): v = log(v)
tanh(v): v = tanh(v)
cos(v): v = cos(v)
sin(v): v = sin(v)
relu(v): v = relu(v)
eye(n): matrix = identity(n)
ones(n): vector = ones(1, n)
onehot(n, k): vector = identity(n)[k, :]
cube(n): matrix = subsets(n)
outer(a, b): matrix = transpose(a) @ b
diag(v): matrix = v * identity(columns(v))
diagof(M): vector = diagonal(M)
trace(M): scalar = trace(M)
npnorm1(W): scalar = operator_norm(W, LINF)
npnorminf(W): scalar = operator_norm(W, L1)
opn(W, p=L2): scalar = operator_norm(W, p)
fro(M): scalar = frobenius_norm(M)
sv(M): vector = singular_values(M)
smin(M): scalar = smallest_singular_value(M)
eigabs(M): vector = eigenvalue_moduli(M)
eigremin(M): scalar = smallest_real_part(M)
lam2(M): scalar = second_modulus(M)
srad(M): scalar = spectral_radius(M)
rank(M): scalar = rank(M)
det(M): scalar = determinant(M)
mpow(M, k): matrix = matrix_power(M, k)
pd(X, p=L2): matrix = pairwise_distances(X, p)
diam(X, p=L2): scalar = diameter(X, p)
cmean(X): vector = mean(X, -2)
cen(X): matrix = X - mean(X, -2)
rowrange(S): vector = transpose(amax(S) - amin(S))
crowrange(S): vector = transpose(amax(allowed(S)) - amin(allowed(S)))
allowed(S): matrix = S[:, 0] + (S - S[:, 0]) * minimum(relu(transpose(counting(rows(S))) - counting(columns(S)) + 1), 1)
colrange(S): vector = amax(S, -2) - amin(S, -2)
colmin(S): vector = amin(S, -2)
rowmax(S): vector = transpose(amax(S))
rownorms(X, p=L2): vector = transpose(row_norms(X, p))
tau(A): scalar = diameter(A, L1) / 2
topgap(s): scalar = descending(s)[:, 0] - descending(s)[:, 1]
tv(p, q): scalar = total_entry(abs(p - q)) / 2
softmax(S): S = softmax(S)
csoftmax(S): matrix = softmax(S, causal_mask(rows(S)))
entropy(p): scalar = total_entry(entropy(p))
P(x): x = centre(x)
LN(x): x = centre(x) / sqrt(mean(square(centre(x))))
LNeps(x, eps): x = centre(x) / sqrt(mean(square(centre(x))) + eps)
RMS(x): x = x / sqrt(mean(square(x)))
JLN(x): matrix = jacobian(x, centre(x), identity(columns(x)) - ones(columns(x), columns(x)) / columns(x))
JRMS(x): matrix = jacobian(x, x, identity(columns(x)))
jacobian(x, c, K): matrix = sqrt(columns(x) / total(square(c))) * (K - transpose(c) @ c / total(square(c)))
rot(x, k): vector = rotary(x, k * ones(1, 1))
rotrows(X): matrix = rotary(X, transpose(counting(rows(X))))
comp(V, W): scalar = frobenius_norm(V @ W) / (frobenius_norm(V) * frobenius_norm(W))
"""
"""What the names of the format are in the package's expressions, and of what kind; one like its argument is so named.

LN and its like are written out: of a constant row they have no value, where the reference refuses it by name.
"""

NAMED = {"1": "L1", "2": "L2", "INF": "LINF", "inf": "LINF"}
"""The norms of the format."""

RANKS = {"whole": 0, "scalar": 0, "vector": 1, "matrix": 2}


@dataclass(frozen=True)
class Meaning:
    """A name of the format: its parameters with their defaults, what kind its value is of, and its text."""

    parameters: Mapping[str, str | None]
    kind: str
    text: str


def _meanings() -> Iterator[tuple[str, Meaning]]:
    for line in MEANINGS.strip().splitlines():
        found = re.fullmatch(r"(\w+)\((.*?)\): (\w+) = (.*)", line)
        assert found, line
        pairs = [one.partition("=") for one in found[2].split(", ")]
        yield found[1], Meaning({name: default or None for name, _, default in pairs}, found[3], found[4])


MEANING_OF = dict(_meanings())


@dataclass(frozen=True)
class Typed:
    """An expression of the package, with its kind: "whole", "scalar", "vector", "matrix" or "norm"."""

    kind: str
    node: ast.expr

    @property
    def text(self) -> str:
        return ast.unparse(self.node)


def _read(text: str, **places: ast.expr) -> ast.expr:
    """The syntax tree of a text of the package's expressions, with trees in the place of some of its names."""

    class Filled(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return places.get(node.id, node)

    return Filled().visit(ast.parse(text, mode="eval").body)


def _wider(*values: Typed) -> str:
    kinds = ["scalar" if value.kind == "whole" else value.kind for value in values]
    if any(kind not in RANKS for kind in kinds):
        raise Unsupported(f"arithmetic with {', '.join(value.text for value in values)}")
    return max(kinds, key=RANKS.__getitem__)


class Rewriter:
    """Rewrites expressions of the format, whose names have kinds."""

    def __init__(self, scope: Mapping[str, Typed]) -> None:
        self.scope = dict(scope)

    def value(self, node: ast.expr) -> Typed:
        rewrite = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rewrite is None:
            raise Unsupported(f"{type(node).__name__} in {ast.unparse(node)}")
        return rewrite(node)

    def _constant(self, node: ast.Constant) -> Typed:
        if type(node.value) not in (int, float):
            raise Unsupported(f"the constant {node.value!r}")
        return Typed("whole" if type(node.value) is int else "scalar", node)

    def _name(self, node: ast.Name) -> Typed:
        if node.id not in self.scope:
            raise Unsupported(f"the name {node.id}")
        return self.scope[node.id]

    def _attribute(self, node: ast.Attribute) -> Typed:
        value = self.value(node.value)
        if node.attr != "T":
            raise Unsupported(f"the attribute {node.attr}")
        return Typed("matrix", _read("transpose(x)", x=value.node)) if value.kind == "matrix" else value

    def _unaryop(self, node: ast.UnaryOp) -> Typed:
        value = self.value(node.operand)
        return Typed(value.kind, ast.UnaryOp(node.op, value.node))

    def _binop(self, node: ast.BinOp) -> Typed:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return _product(left, right)
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        whole = left.kind == right.kind == "whole" and not isinstance(node.op, ast.Div)
        return Typed("whole" if whole else _wider(left, right), ast.BinOp(left.node, node.op, right.node))

    def _call(self, node: ast.Call) -> Typed:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise Unsupported(ast.unparse(node))
        name, written = node.func.id, node.args
        if name in ("min", "max"):
            return _extreme(name, [self.value(argument) for argument in written])
        if name in ("hcat", "vcat"):
            values = [self.value(argument) for argument in written]
            joined = ast.Call(ast.Name("beside" if name == "hcat" else "above"), [value.node for value in values], [])
            return Typed(_wider(*values) if name == "hcat" else "matrix", joined)
        if name == "nrm":
            return self._norm(*written)
        if name not in MEANING_OF:
            raise Unsupported(f"the function {name}")
        meaning = MEANING_OF[name]
        given = {
            key: self._norm_named(argument) if meaning.parameters[key] == "L2" else self.value(argument)
            for key, argument in zip(meaning.parameters, written, strict=False)
        }
        return self._filled(meaning, given)

    def _filled(self, meaning: Meaning, given: Mapping[str, Typed]) -> Typed:
        """The text of a meaning with its arguments, in which other meanings may be called."""
        places = {key: _read(default) for key, default in meaning.parameters.items() if default}
        places |= {key: value.node for key, value in given.items()}
        if len(places) < len(meaning.parameters):
            raise Unsupported(f"a call without {', '.join(set(meaning.parameters) - set(places))}")
        tree = _read(meaning.text, **places)
        for inner in ("allowed", "jacobian"):
            tree = _Unfolded(inner).visit(tree)
        return Typed(given[meaning.kind].kind if meaning.kind in given else meaning.kind, tree)

    def _norm(self, vector: ast.expr, norm: ast.expr | None = None) -> Typed:
        """Of a vector a norm of its entries, of a matrix that of NumPy: the operator norm on column vectors."""
        value, named = self.value(vector), self._norm_named(norm or ast.Constant(2))
        if value.kind != "matrix":
            return Typed("scalar", _read("row_norms(x, p)", x=value.node, p=named.node))
        name = {"L1": "npnorm1", "L2": "opn", "LINF": "npnorminf"}.get(named.text)
        if name is None:
            raise Unsupported(f"the norm {named.text} of a matrix")
        return self._filled(MEANING_OF[name], {"W": value})

    def _norm_named(self, node: ast.expr) -> Typed:
        text = str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)
        if text in self.scope and self.scope[text].kind == "norm":
            return self.scope[text]
        if text not in NAMED:
            raise Unsupported(f"the norm {text}")
        return Typed("norm", ast.Name(NAMED[text]))

    def _subscript(self, node: ast.Subscript) -> Typed:
        value = self.value(node.value)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if value.kind not in ("vector", "matrix") or len(places) > RANKS[value.kind]:
            raise Unsupported(ast.unparse(node))
        every = ast.Slice(None, None, None)
        rewritten = [self._place(place) for place in places]
        both = [every, *rewritten] if value.kind == "vector" else [*rewritten, every][:2]
        taken = ast.Subscript(value.node, ast.Tuple(both))
        kept = [isinstance(place, ast.Slice) for place in (*rewritten, every)[: RANKS[value.kind]]]
        if value.kind == "matrix" and kept == [True, False]:
            return Typed("vector", _read("transpose(x)", x=taken))
        return Typed(("scalar", "vector", "matrix")[sum(kept)], taken)

    def _place(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Slice):
            return self.value(node).node
        if node.step is not None:
            raise Unsupported(f"the step in {ast.unparse(node)}")
        return ast.Slice(*(end and self.value(end).node for end in (node.lower, node.upper)))

    def relation(self, node: ast.expr) -> ast.expr:
        """A condition as a relation of the package."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return ast.Call(ast.Name("every"), [self.relation(part) for part in node.values], [])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "eq":
            left, right = node.args
            return self.compared(left, ast.Eq(), right)
        if not isinstance(node, ast.Compare):
            raise Unsupported(f"the condition {ast.unparse(node)}")
        sides = [node.left, *node.comparators]
        stated = [self.compared(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]
        return stated[0] if len(stated) == 1 else ast.Call(ast.Name("every"), stated, [])

    def compared(self, left: ast.expr, symbol: ast.cmpop, right: ast.expr) -> ast.expr:
        if type(symbol) not in RELATIONS:
            raise Unsupported(type(symbol).__name__)
        return ast.Call(ast.Name(RELATIONS[type(symbol)]), [self.value(side).node for side in (left, right)], [])


class _Unfolded(ast.NodeTransformer):
    """Puts the meaning of one name that other meanings use in the place of its calls."""

    def __init__(self, name: str) -> None:
        self.name, self.meaning = name, MEANING_OF[name]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(argument) for argument in node.args]
        if not isinstance(node.func, ast.Name) or node.func.id != self.name:
            return ast.Call(node.func, arguments, node.keywords)
        return _read(self.meaning.text, **dict(zip(self.meaning.parameters, arguments, strict=True)))


RELATIONS: dict[type[ast.cmpop], str] = {
    ast.LtE: "at_most",
    ast.GtE: "at_least",
    ast.Lt: "less_than",
    ast.Gt: "more_than",
    ast.Eq: "equal",
    ast.NotEq: "differ",
}


def _product(left: Typed, right: Typed) -> Typed:
    kinds = left.kind, right.kind
    if kinds == ("vector", "vector"):
        return Typed("scalar", _read("a @ transpose(b)", a=left.node, b=right.node))
    if kinds == ("matrix", "vector"):
        return Typed("vector", _read("b @ transpose(a)", a=left.node, b=right.node))
    return Typed("vector" if kinds[0] == "vector" else "matrix", ast.BinOp(left.node, ast.MatMult(), right.node))


def _power(base: Typed, exponent: Typed) -> Typed:
    kind = "scalar" if base.kind == "whole" and exponent.text.startswith("-") else base.kind
    if exponent.text == "0.5":
        return Typed(_wider(base), _read("sqrt(x)", x=base.node))
    if exponent.kind != "whole":
        raise Unsupported(f"the exponent {exponent.text}")
    if isinstance(exponent.node, ast.UnaryOp):
        return Typed(kind, _read("1 / x ** k", x=base.node, k=exponent.node.operand))
    return Typed(kind, ast.BinOp(base.node, ast.Pow(), exponent.node))


def _extreme(name: str, values: Sequence[Typed]) -> Typed:
    if len(values) == 1:
        return Typed("scalar", _read("largest_entry(x)" if name == "max" else "smallest_entry(x)", x=values[0].node))
    both = f"{name}imum(x, y)"
    return Typed(_wider(*values), reduce(lambda x, y: _read(both, x=x, y=y), [value.node for value in values]))


# ---- variables ------------------------------------------------------------------------------------------------------


def _domain(name: str, spec: Entry, structural: bool) -> tuple[str, str, list[str]]:
    """The domain of a variable as text, its kind, and the hypotheses that the domain leaves to be said."""
    kind, shape = spec["kind"], list(spec.get("shape") or [])
    rows, columns = [1, 1] if not shape else [1, shape[0]] if len(shape) == 1 else shape
    size, what = f"({rows}, {columns})", ("scalar", "vector", "matrix")[len(shape)]
    if kind == "choice":
        kinds = [NAMED.get(str(value), "").lower() for value in spec["values"]]
        if not all(kinds):
            raise Unsupported(f"a choice of {spec['values']}")
        return f"Norm(1, kinds=({', '.join(map(repr, kinds))},), bases=False)", "norm", []
    if kind == "int":
        if structural:
            return f'Count("{name}")', "whole", []
        return f"Whole({spec['min']}, {spec['max']}, {rows}, {columns})", what, []
    if kind == "unit":
        return (f"NonNegative{size}", what, [f"at_most({name}, 1)"]) if shape else ("Scalar(0, 1)", what, [])
    if kind == "nonzero":
        return (f"Matrix{size}", what, [f"more_than(abs({name}), 0)"]) if shape else ("NonZero(1, 1)", what, [])
    made = {
        "real": f"Matrix{size}",
        "positive": f"Positive{size}",
        "prob": f"RowStochastic{size}",
        "stochastic": f"RowStochastic{size}",
        "causal": f"Causal({rows})",
        "doubly": f"DoublyStochastic({rows})",
        "orth": f"Orthogonal{size}",
        "psd": f"PositiveSemidefinite({rows})",
    }
    if kind not in made:
        raise Unsupported(f"the kind {kind}")
    return made[kind], what, []


def _structural_names(trees: Sequence[ast.expr]) -> set[str]:
    """Names that decide a shape, a place or how often something is done, and so cannot vary within a batch."""
    found: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            places: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                whole = {"mpow": node.args[1:], "onehot": node.args, "eye": node.args, "ones": node.args}
                places = whole.get(node.func.id, node.args if node.func.id == "cube" else [])
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                places = [node.right]
            elif isinstance(node, ast.Subscript):
                places = [node.slice]
            found |= {name.id for place in places for name in ast.walk(place) if isinstance(name, ast.Name)}
    return found


@dataclass(frozen=True)
class Stated:
    """A claim as text: domains by variable, ranges by size, hypotheses and the conclusion."""

    over: Mapping[str, str]
    sizes: Mapping[str, range]
    assuming: Sequence[str]
    conclusion: str


def stated(entry: Entry) -> Stated:
    """The claim of one line of the format as text of the package; Unsupported where it has no words for it."""
    parsed = {text: ast.parse(text, mode="eval").body for text in _texts(entry)}
    structural = _structural_names(list(parsed.values()))
    over: dict[str, str] = {}
    assuming: list[str] = []
    scope = {name: Typed("whole", ast.Name(name)) for name in entry.get("dims", {})}
    sizes = {name: _range(name, ends, entry) for name, ends in entry.get("dims", {}).items()}
    for name, spec in entry["vars"].items():
        over[name], kind, more = _domain(name, spec, name in structural)
        scope[name] = Typed(kind, ast.Name(name))
        assuming += more
        if kind == "whole":
            sizes[name] = range(int(spec["min"]), min(int(spec["max"]), MOST) + 1)
    used = set().union(*(parse_domain(text).size_names() for text in over.values()))
    over |= {name: f'Count("{name}")' for name in sizes if name not in used}
    rewriter = Rewriter(scope)
    for name, text in entry.get("let") or []:
        rewriter.scope[name] = rewriter.value(parsed[text])
    assuming += [ast.unparse(rewriter.relation(parsed[text])) for text in entry.get("pre") or []]
    symbol = ast.parse(f"a {entry['rel']} b", mode="eval").body
    assert isinstance(symbol, ast.Compare)
    conclusion = rewriter.compared(parsed[entry["lhs"]], symbol.ops[0], parsed[entry["rhs"]])
    return Stated(over, sizes, assuming, ast.unparse(conclusion))


def translate(entry: Entry) -> Claim:
    """The claim of one line of the format; Unsupported, or ClaimError with the place."""
    text = stated(entry)
    over = {name: parse_domain(domain) for name, domain in text.over.items()}
    return Claim(
        id=re.sub(r"[^\w.+-]", "_", entry["id"]) or "_",
        over=over,
        conclusion=relation(text.conclusion, tuple(over), "conclusion", text.sizes),
        assuming=tuple(relation(one, tuple(over), "assuming", text.sizes) for one in text.assuming),
        sizes=text.sizes,
        statement=entry.get("statement", ""),
    )


def _texts(entry: Entry) -> list[str]:
    return [entry["lhs"], entry["rhs"], *(entry.get("pre") or []), *(text for _, text in entry.get("let") or [])]


def _range(name: str, ends: Sequence[int | None], entry: Entry) -> range:
    low, high = int(ends[0] or 1), ends[1]
    step = 2 if name in (entry.get("even_dims") or []) else 1
    low += low % step
    span = CUBE if re.search(rf"\bcube\({name}\)", " ".join(_texts(entry))) else SPAN
    last = low + step * (span - 1)
    return range(low, (last if high is None else min(last, high)) + 1, step)
