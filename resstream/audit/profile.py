"""A bound as a function of what it is made of: the largest ratio for every value of a quantity, and a sharper form.

The quantities are the calls in the claim's own source whose value is a number, `row_range(S)` say. A sharper bound is
looked for in a short list of forms; one that no instance of the sample exceeds is put to the falsifier as a claim of
its own.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream import arithmetic
from resstream import claim as claim_module
from resstream.arithmetic import FLOAT64, Array, exp, log, sin, sqrt, square, tanh
from resstream.audit.attack import Attack
from resstream.audit.result import SURVIVES, Profile, Sharper
from resstream.claim import Batch, Claim, Instance, Relation, at_most
from resstream.domains import Count
from resstream.domains.current import evaluating
from resstream.errors import ForeignNumber
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

ROUNDING = 1e-14
"""By how much of a usual left side a small one may be off; exact arithmetic judges what the sample lets through."""

TRIES = 8
"""Forms that are put to the falsifier, at most: what refutes one is in the sample of the next."""

SHAPED: dict[str, Callable[[Any], Any]] = {
    "{q}": lambda q: q,
    "({q})**2": square,
    "sqrt({q})": sqrt,
    "tanh({q})": tanh,
    "1 - exp(-{q})": lambda q: 1 - exp(-q),
    "{q}/(1 + {q})": lambda q: q / (1 + q),
    "{q}/(2 + {q})": lambda q: q / (2 + q),
    "log(1 + {q})": lambda q: log(1 + q),
    "sin({q})": sin,
}
"""Functions of a quantity, of which multiples are tried, inside and outside."""

MULTIPLES: dict[str, Callable[[Any], Any]] = {
    "{q}": lambda q: q,
    "{q}/8": lambda q: q / 8,
    "{q}/4": lambda q: q / 4,
    "{q}/(2*sqrt(2))": lambda q: q / (2 * sqrt(0 * q + 2)),
    "{q}/2": lambda q: q / 2,
    "{q}/sqrt(2)": lambda q: q / sqrt(0 * q + 2),
    "sqrt(2)*{q}": lambda q: q * sqrt(0 * q + 2),
    "2*{q}": lambda q: 2 * q,
}

SIZED: dict[str, Callable[[Any, Any], Any]] = {
    "exp({q})/(exp({q}) + {n} - 1)": lambda q, n: 1 / (1 + (n - 1) * exp(-q)),
    "(exp({q}) - 1)/(exp({q}) + {n} - 1)": lambda q, n: (1 - exp(-q)) / (1 + (n - 1) * exp(-q)),
    "{q}/{n}": lambda q, n: q / n,
    "{q}/sqrt({n})": lambda q, n: q / sqrt(0 * q + n),
    "sqrt({n})*{q}": lambda q, n: q * sqrt(0 * q + n),
    "sqrt({n} - 1)*{q}": lambda q, n: q * sqrt(0 * q + (n - 1)),
    "({n} - 1)*{q}/{n}": lambda q, n: (n - 1) * q / n,
    "sqrt(({n} - 1)/{n})*{q}": lambda q, n: q * sqrt((0 * q + n - 1) / n),
    "sqrt(1 - 1/{n})*tanh({q})": lambda q, n: tanh(q) * sqrt((0 * q + n - 1) / n),
}
"""Functions of a quantity and a size."""


@dataclass(frozen=True)
class Form:
    """A function of a quantity, and perhaps of a size, in every number system; and its text."""

    template: str
    function: Callable[..., Any]
    size: str = ""

    def __call__(self, value: Any, sizes: Mapping[str, Any]) -> Any:
        return self.function(value, sizes[self.size]) if self.size else self.function(value)

    def text(self, quantity: str) -> str:
        """The form with the quantity in it."""
        return self.template.replace("{q}", quantity).replace("{n}", self.size)


def _composed(outer: Callable[[Any], Any], shape: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Any:
    return lambda q: outer(shape(inner(q)))


def forms_in(sizes: Sequence[str]) -> list[Form]:
    """All forms that are tried."""
    found: dict[str, Form] = {}
    for shape, function in SHAPED.items():
        for inside, inner in MULTIPLES.items():
            for outside, outer in MULTIPLES.items():
                if shape in ("{q}", "({q})**2", "sqrt({q})") and inside != "{q}":
                    continue
                body = shape.replace("{q}", inside if inside == "{q}" or "(" in shape else f"({inside})")
                body = (
                    body if outside == "{q}" or shape in ("{q}", "tanh({q})", "sin({q})", "({q})**2") else f"({body})"
                )
                text = outside.replace("{q}", body)
                found.setdefault(text, Form(text, _composed(outer, function, inner)))
    for size in sizes:
        for template, two in SIZED.items():
            found[f"{template} {size}"] = Form(template, two, size)
    return list(found.values())


class Quantities:
    """The numbers that a claim's function computes on its way, named by their source text."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.names: list[str] = []
        """The source texts, in the order in which they are written."""
        self._function = _instrumented(function, self.names)
        self._parameters = tuple(inspect.signature(function).parameters)

    def of(self, objects: Mapping[str, Any]) -> dict[str, Array]:
        """Their values (..., 1, 1) for some objects."""
        seen: dict[str, Array] = {}
        if self._function is not None:
            with evaluating(objects):
                self._function(seen, **{name: objects[name] for name in self._parameters})
        return {text: value for text, value in seen.items() if value.shape[-2:] == (1, 1)}


_PLAIN = {name for module in (arithmetic, claim_module) for name in vars(module)}
"""Calls of these are arithmetic or relations, not quantities."""


class _Recorder(ast.NodeTransformer):
    def __init__(self, names: list[str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = ast.unparse(node)
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id in _PLAIN:
            return node
        self.names.append(text)
        seen = ast.Name("__seen__", ast.Load())
        return ast.Call(ast.Name("__record__", ast.Load()), [seen, ast.Constant(text), node], [])


def _record(seen: dict[str, Array], text: str, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim >= 2:
        seen[text] = value
    return value


def _instrumented(function: Callable[..., Any], names: list[str]) -> Callable[..., Any] | None:
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
    changed = ast.fix_missing_locations(_Recorder(names).visit(tree))
    scope = dict(function.__globals__, __record__=_record)
    exec(compile(changed, "<quantities of a claim>", "exec"), scope)
    result: Callable[..., Any] = scope[definition.name]
    return result


# ---- the sample -------------------------------------------------------------


@dataclass
class _Sample:
    """Values of the quantities, the sides and the sizes, a row an instance."""

    quantities: dict[str, Array]
    lhs: Array
    rhs: Array
    sizes: dict[str, Array]


def profile(
    claim: Claim, index: int, attack: Attack, extremals: Sequence[Instance] = (), budget: int = CHECKED
) -> Profile:
    """How the sides of one relation of a claim depend on its quantities, and a sharper bound where one is found."""
    quantities = Quantities(claim.conclusion)
    batches = _batches(claim, attack.seed, extremals)
    sample = _sample(claim, index, quantities, batches)
    if sample is None:
        return Profile()
    curves = _curves(sample)
    for _ in range(TRIES):
        if attack.left() <= 0 or budget < 1:
            break
        best = _lowest_form(sample)
        if best is None:
            break
        form, quantity = best
        sharper = _put_in_place(claim, index, quantities, form, quantity)
        found = attack(sharper, budget)
        if found.certificate is not None:
            batches = [*batches, *_scaled(claim, found.certificate.raw)]
            again = _sample(claim, index, quantities, batches)
            if again is None or not _is_excluded(again, form, quantity):
                break
            sample = again
            continue
        if found.outcome != SURVIVES:
            break
        bound = form(sample.quantities[quantity], sample.sizes)
        with np.errstate(all="ignore"):
            attained = bool(np.nanmax(sample.lhs / bound) > 1 - 1e-9)
            ratio = np.clip(sample.lhs / sample.rhs, 0, 1)
        column = sample.quantities[quantity]
        named = Sharper(form.text(quantity), quantity, found.instances, found.evaluations, attained)
        return Profile(_curves(sample), named, _points(_upper(column, ratio), column, bound / sample.rhs))
    return Profile(curves)


def _curves(sample: _Sample) -> dict[str, list[tuple[float, float]]]:
    with np.errstate(all="ignore"):
        ratio = np.clip(sample.lhs / sample.rhs, 0, 1)
    return {
        name: _points(_upper(column, ratio), column, ratio)
        for name, column in sample.quantities.items()
        if len(np.unique(column[:1000])) > 5 and not np.array_equal(column, sample.lhs)
    }


def _put_in_place(claim: Claim, index: int, quantities: Quantities, form: Form, quantity: str) -> Claim:
    """The claim that the left side is at most a form of a quantity."""
    counted = dataclasses.replace(claim, over={**claim.over, SIZE: Count(form.size)}) if form.size else claim

    def conclusion(**objects: Any) -> Relation:
        inner = {name: value for name, value in objects.items() if name != SIZE}
        bound = form(quantities.of(inner)[quantity], {form.size: objects.get(SIZE)})
        return at_most(list(claim.conclude(inner))[index].lhs, bound)

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in counted.over]
    conclusion.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return dataclasses.replace(counted, id=f"{claim.id}+sharper", conclusion=conclusion, expect="holds", origin=None)


SIZE = "size_"
"""The variable that holds a size of a form."""


def _batches(claim: Claim, seed: int, extremals: Sequence[Instance]) -> list[Batch]:
    rng = np.random.default_rng([seed, *claim.seed_words(), 11])
    batches = [engines.random_batch(claim, rng, BATCH) for _ in range(BATCHES)]
    return [*batches, *(batch for extremal in extremals for batch in _scaled(claim, extremal))]


def _floats(value: Any) -> Array | None:
    """Numbers in floats; None where an entry is none, as of a quantity under a mean, of what is averaged."""
    try:
        return FLOAT64.array(value)
    except ForeignNumber:
        return None


def _sample(claim: Claim, index: int, quantities: Quantities, batches: Sequence[Batch]) -> _Sample | None:
    """The values in some batches; None where the sides, or all quantities, are no single numbers."""
    rows: list[dict[str, Array]] = []
    for raw in batches:
        with FLOAT64.working():
            try:
                raw = raw.take(np.flatnonzero(claim.assess(raw).met))
                if not raw.count:
                    continue
                objects = claim.build(raw)
                relation = list(claim.conclude(objects))[index]
                found = {**quantities.of(objects), " lhs": relation.lhs, " rhs": relation.rhs}
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue
        found |= {f" size {name}": np.array(float(size)) for name, size in raw.sizes.items()}
        floats = {name: _floats(value) for name, value in found.items()}
        found = {name: value for name, value in floats.items() if value is not None}
        if any(side not in found or found[side].size not in (1, raw.count) for side in (" lhs", " rhs")):
            return None
        usable = {name: v for name, v in found.items() if v.size in (1, raw.count)}
        rows.append({name: np.broadcast_to(v.reshape(-1), (raw.count,)) for name, v in usable.items()})
    if not rows:
        return None
    names = [name for name in rows[0] if all(name in row for row in rows)]
    columns = {name: np.concatenate([row[name] for row in rows]) for name in names}
    lhs, rhs = columns[" lhs"], columns[" rhs"]
    with np.errstate(all="ignore"):
        says = np.isfinite(lhs) & np.isfinite(rhs) & (rhs > 0) & (lhs > 1e-9 * np.nanmedian(np.abs(lhs)))
    columns = {name: column[says] for name, column in columns.items()}
    return _Sample(
        {name: column for name, column in columns.items() if not name.startswith(" ")},
        columns[" lhs"],
        columns[" rhs"],
        {name[6:]: column for name, column in columns.items() if name.startswith(" size ")},
    )


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


def _lowest_form(sample: _Sample) -> tuple[Form, str] | None:
    """The lowest form below the right side that is no constant share of it, and that the sample does not exceed."""
    best: tuple[float, int, Form, str] | None = None
    if len(sample.lhs) < 100:
        return None
    for quantity, column in sample.quantities.items():
        if np.array_equal(column, sample.lhs) or not _depends_on(sample, column):
            continue
        for form in forms_in(tuple(sample.sizes)):
            with np.errstate(all="ignore"):
                bound = form(column, sample.sizes)
                share = bound / sample.rhs
                fits = np.isfinite(bound).all() and (share <= 1 + 1e-9).all() and (share < 0.95).any()
                if not fits or _exceeds(sample, bound):
                    continue
            key = (round(float(np.mean(share)), 12), len(form.template), form, quantity)
            if best is None or key[:2] < best[:2]:
                best = key
    return None if best is None else best[2:]


def _is_excluded(sample: _Sample, form: Form, quantity: str) -> bool:
    """Whether the sample exceeds a form."""
    with np.errstate(all="ignore"):
        return _exceeds(sample, form(sample.quantities[quantity], sample.sizes))


def _exceeds(sample: _Sample, bound: Array) -> bool:
    """Whether the sample exceeds a bound by more than floats may be off, which say 1e-16 for 1 - (1 - 1e-16)."""
    rounding = ROUNDING * float(np.median(np.abs(sample.lhs)))
    return not bool((sample.lhs <= bound * (1 + 1e-9) + rounding).all())


def _depends_on(sample: _Sample, column: Array) -> bool:
    """Whether the right side is a rising function of a quantity and the sizes alone, as far as the sample tells."""
    groups = np.unique(np.stack([*sample.sizes.values()]) if sample.sizes else np.zeros((1, len(column))), axis=1)
    rises = False
    for group in groups.T[:64]:
        chosen = np.all(group == np.stack([*sample.sizes.values()]).T, axis=1) if sample.sizes else slice(None)
        order = np.argsort(column[chosen], kind="stable")
        ordered = sample.rhs[chosen][order]
        if not (np.diff(ordered) >= -1e-9 * np.abs(ordered[1:])).all():
            return False
        rises = rises or bool(len(ordered) and ordered[-1] > ordered[0])
    return rises
