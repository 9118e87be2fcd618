"""A bound as a function of what it is made of: the largest ratio for every value of a quantity, and a sharper form.

The quantities are the calls in the claim's own source whose value is a number, `row_range(S)` say. A sharper bound is
looked for in a short list of forms; one that no instance of the sample exceeds is put to the falsifier as a claim of
its own.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resstream import arithmetic
from resstream import claim as claim_module
from resstream.arithmetic import FLOAT64, Array, exp, square, tanh
from resstream.audit.attack import searched
from resstream.audit.restate import restated
from resstream.claim import Batch, Claim, Instance, Relation, at_most
from resstream.falsify import engines

BATCHES = 64
"""Random batches of a sample, each of one shape."""

BATCH = 128

CHECKED = 16_384
"""Evaluations spent on a sharper bound."""

POINTS = 16
"""Values of a quantity at which the largest ratio is kept."""

SMALLEST = 1e-4
"""The least value of a quantity that a curve has; the largest is its inverse."""

FORMS: dict[str, Callable[[Any], Any]] = {
    "{q}^2": square,
    "{q}/2": lambda q: q / 2,
    "{q}/4": lambda q: q / 4,
    "{q}": lambda q: q,
    "{q}^2/2": lambda q: square(q) / 2,
    "tanh({q}/4)": lambda q: tanh(q / 4),
    "tanh({q}/2)": lambda q: tanh(q / 2),
    "tanh({q})": tanh,
    "1 - exp(-{q}/2)": lambda q: 1 - exp(-q / 2),
    "1 - exp(-{q})": lambda q: 1 - exp(-q),
    "{q}/(1 + {q})": lambda q: q / (1 + q),
    "{q}/(2 + {q})": lambda q: q / (2 + q),
}


@dataclass(frozen=True)
class Sharper:
    """A lower bound than the printed one that survived: `form` on the right; attained if the sample meets it."""

    form: str
    quantity: str
    survived: int
    attained: bool

    def __str__(self) -> str:
        sharp = "; it is attained" if self.attained else ""
        return f"{self.form} takes the place of the right side and survives ({self.survived:,} instances){sharp}"


@dataclass(frozen=True)
class Profile:
    """What the sides do in a sample: `curves` holds, by quantity, points (value, largest ratio of the sides there).

    reference holds, at the same points of the sharper bound's quantity, that bound as a share of the printed one.
    """

    curves: Mapping[str, list[tuple[float, float]]] = field(default_factory=dict)
    sharper: Sharper | None = None
    reference: list[tuple[float, float]] = field(default_factory=list)


class Quantities:
    """The numbers that a claim's conclusion computes on its way, named by their source text."""

    def __init__(self, claim: Claim) -> None:
        self._function = _instrumented(claim.conclusion)
        self._parameters = tuple(inspect.signature(claim.conclusion).parameters)

    def of(self, objects: Mapping[str, Any]) -> dict[str, Array]:
        """Their values (..., 1, 1) for some objects."""
        seen: dict[str, Array] = {}
        if self._function is not None:
            self._function(seen, **{name: objects[name] for name in self._parameters})
        return {text: value for text, value in seen.items() if value.shape[-2:] == (1, 1)}


_PLAIN = {name for module in (arithmetic, claim_module) for name in vars(module)}
"""Calls of these are arithmetic or relations, not quantities."""


class _Recorder(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = ast.unparse(node)
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id in _PLAIN:
            return node
        seen = ast.Name("__seen__", ast.Load())
        return ast.Call(ast.Name("__record__", ast.Load()), [seen, ast.Constant(text), node], [])


def _record(seen: dict[str, Array], text: str, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim >= 2:
        seen[text] = value
    return value


def _instrumented(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function with a first argument in which its calls leave their values; None where its source is not plain."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or function.__closure__:
        return None
    definition.decorator_list = []
    definition.args.args.insert(0, ast.arg("__seen__"))
    changed = ast.fix_missing_locations(_Recorder().visit(tree))
    scope = dict(function.__globals__, __record__=_record)
    exec(compile(changed, "<quantities of a claim>", "exec"), scope)
    result: Callable[..., Any] = scope[definition.name]
    return result


# ---- the sample -------------------------------------------------------------


def profile(
    claim: Claim, index: int, seed: int = 0, extremal: Instance | None = None, budget: int = CHECKED
) -> Profile:
    """How the sides of one relation of a claim depend on its quantities, and a sharper bound where one is found."""
    quantities = Quantities(claim)
    names, columns = _sample(claim, index, quantities, seed, extremal)
    if not names or not len(columns):
        return Profile()
    values = dict(zip(names, columns.T, strict=True))
    lhs, rhs = values.pop("lhs"), values.pop("rhs")
    says = np.isfinite(lhs) & np.isfinite(rhs) & (rhs > 0) & (lhs > 1e-9 * np.median(np.abs(lhs)))
    lhs, rhs = lhs[says], rhs[says]
    values = {name: column[says] for name, column in values.items()}
    with np.errstate(all="ignore"):
        ratio = np.clip(lhs / rhs, 0, 1)
    curves = {
        name: _points(_upper(column, ratio), column, ratio)
        for name, column in values.items()
        if len(np.unique(column[:1000])) > 5 and not np.array_equal(column, lhs)
    }
    for form, quantity, bound in _sharper_forms(values, lhs, rhs):
        sharper = _put_in_place(claim, index, quantities, form, quantity)
        verdict = searched(sharper, budget, seed)
        if verdict.status == "survived":
            attained = bool((lhs / bound).max() > 1 - 1e-9)
            found = Sharper(form.format(q=quantity), quantity, verdict.tally.accepted, attained)
            column = values[quantity]
            return Profile(curves, found, _points(_upper(column, ratio), column, bound / rhs))
    return Profile(curves)


def _put_in_place(claim: Claim, index: int, quantities: Quantities, form: str, quantity: str) -> Claim:
    """The claim that the left side is at most a form of a quantity."""

    def change(relations: Relation, objects: Mapping[str, Any]) -> Relation:
        return at_most(list(relations)[index].lhs, FORMS[form](quantities.of(objects)[quantity]))

    return restated(claim, "sharper", change)


def _sample(
    claim: Claim, index: int, quantities: Quantities, seed: int, extremal: Instance | None
) -> tuple[list[str], Array]:
    """Names and values, a row an instance: the quantities, "lhs" and "rhs" (where these are single numbers)."""
    rng = np.random.default_rng([seed, *claim.seed_words(), 11])
    batches = [engines.random_batch(claim, rng, BATCH) for _ in range(BATCHES)]
    batches += [] if extremal is None else _scaled(claim, extremal)
    names: list[str] = []
    rows: list[Array] = []
    for raw in batches:
        with FLOAT64.working():
            try:
                raw = raw.take(np.flatnonzero(claim.assess(raw).met))
                if not raw.count:
                    continue
                objects = claim.build(raw)
                relation = list(claim.conclude(objects))[index]
                found = {**quantities.of(objects), "lhs": relation.lhs, "rhs": relation.rhs}
            except (ValueError, ArithmeticError):
                continue
        names = names or list(found)
        if list(found) != names:
            continue
        columns = [
            np.asarray(value, dtype=float) for value in found.values() if not isinstance(value, arithmetic.Exact)
        ]
        if len(columns) < len(found) or any(column.size not in (1, raw.count) for column in columns):
            return [], np.zeros(0)
        rows.append(np.stack([np.broadcast_to(column.reshape(-1), (raw.count,)) for column in columns], axis=1))
    return names, np.concatenate(rows) if rows else np.zeros((0, len(names)))


def _scaled(claim: Claim, extremal: Instance) -> list[Batch]:
    """The extremal instance with one variable's raw numbers, or all of them, scaled by powers of the root of two."""
    factors = 2.0 ** np.arange(-12, 8.5, 0.5)
    floats = {name: np.asarray(values, dtype=float) for name, values in extremal.arrays.items()}
    largest = {name: np.abs(values).max() or 1.0 for name, values in floats.items()}
    out = []
    parts = claim.parts(extremal.sizes, extremal.options)
    scalable = [name for name in floats if parts[name].kind != "whole"]
    for chosen in [{name} for name in scalable] + [set(scalable)]:
        arrays = {
            name: np.stack([values * factor / largest[name] for factor in factors])
            if name in chosen
            else np.repeat(values[None], len(factors), axis=0)
            for name, values in floats.items()
        }
        out.append(Batch(extremal.sizes, extremal.options, arrays, len(factors)))
    return out


def _upper(column: Array, ratio: Array) -> Array:
    """Where the largest ratio is, for stretches of a quantity that are equally long on a logarithmic scale: indices."""
    usable = np.flatnonzero(np.isfinite(column) & (column > SMALLEST) & (column < 1 / SMALLEST))
    if not len(usable):
        return usable
    logarithms = np.log(column[usable])
    low, high = logarithms.min(), logarithms.max()
    places = np.minimum(((logarithms - low) / max(high - low, 1e-12) * POINTS).astype(int), POINTS - 1)
    return np.array([usable[places == place][np.argmax(ratio[usable[places == place]])] for place in np.unique(places)])


def _points(indices: Array, column: Array, values: Array) -> list[tuple[float, float]]:
    return [(float(column[index]), float(values[index])) for index in indices]


# ---- a sharper bound --------------------------------------------------------


def _sharper_forms(values: Mapping[str, Array], lhs: Array, rhs: Array) -> list[tuple[str, str, Array]]:
    """Forms that lie below the right side, are no constant share of it, and that the sample does not exceed."""
    found = []
    if len(lhs) < 100:
        return []
    for quantity, column in values.items():
        if np.array_equal(column, lhs) or not _depends_on(rhs, column):
            continue
        for form, function in FORMS.items():
            with np.errstate(all="ignore"):
                bound = function(column)
                fits = np.isfinite(bound).all() and (bound <= rhs * (1 + 1e-12)).all()
                if fits and (bound < 0.95 * rhs).any() and (lhs <= bound * (1 + 1e-9)).all():
                    found.append((float(np.mean(bound / rhs)), form, quantity, bound))
    return [(form, quantity, bound) for _, form, quantity, bound in sorted(found, key=lambda entry: entry[0])][:2]


def _depends_on(rhs: Array, column: Array) -> bool:
    """Whether the right side is a rising function of a quantity alone, as far as the sample tells."""
    order = np.argsort(column, kind="stable")
    ordered = rhs[order]
    return bool((np.diff(ordered) >= -1e-9 * np.abs(ordered[1:])).all() and ordered[-1] > ordered[0])
