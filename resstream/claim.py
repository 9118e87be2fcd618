"""A theorem, stated once: relations, hypotheses, and the one place where a claim is evaluated."""

from __future__ import annotations

import dataclasses
import inspect
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import FLOAT64, Array, Exact, NumberSystem, constant
from resstream.domains import Domain, Options, Part, Sizes
from resstream.errors import ClaimError

# ---- relations --------------------------------------------------------------

_TURNED = {">=": "<=", ">": "<"}


@dataclass(frozen=True)
class Relation:
    """lhs `kind` rhs, entry by entry after broadcasting; kind is "<=", "<" or "==" (">=" is turned round when made)."""

    kind: str
    lhs: Any
    rhs: Any
    shown: str = ""
    """How it was stated: the kind before turning."""

    def __iter__(self) -> Iterator[Relation]:
        yield self

    @property
    def stated(self) -> tuple[Any, str, Any]:
        """(left, kind, right) as the claim wrote them."""
        return (self.rhs, self.shown, self.lhs) if self.shown in _TURNED else (self.lhs, self.kind, self.rhs)


@dataclass(frozen=True)
class Every:
    """Several relations, all of which must hold."""

    relations: tuple[Relation, ...]

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.relations)


Conjunction = Relation | Every


def at_most(lhs: Any, rhs: Any) -> Relation:
    """lhs <= rhs, in every entry."""
    return Relation("<=", lhs, rhs, "<=")


def at_least(lhs: Any, rhs: Any) -> Relation:
    """lhs >= rhs, in every entry."""
    return Relation("<=", rhs, lhs, ">=")


def less_than(lhs: Any, rhs: Any) -> Relation:
    """lhs < rhs, in every entry."""
    return Relation("<", lhs, rhs, "<")


def more_than(lhs: Any, rhs: Any) -> Relation:
    """lhs > rhs, in every entry."""
    return Relation("<", rhs, lhs, ">")


def equal(lhs: Any, rhs: Any) -> Relation:
    """lhs == rhs, in every entry."""
    return Relation("==", lhs, rhs, "==")


def every(*relations: Conjunction) -> Every:
    """All of the given relations."""
    return Every(tuple(part for relation in relations for part in relation))


@dataclass(frozen=True)
class Margin:
    """How far a batch is from violating: the entry nearest to it, for each instance.

    slack is rhs - lhs there (minus the distance, for equalities), scale is |lhs| + |rhs|, both of shape (count,).
    """

    slack: Array
    scale: Array

    @property
    def relative(self) -> Array:
        """(rhs - lhs)/(|lhs| + |rhs|), in [-1, 1]; two zeros are a tie, 0; NaN where the float value is none."""
        safe = np.where(self.scale == 0, 1.0, self.scale)
        with np.errstate(all="ignore"):
            return np.where(self.scale == 0, 0.0, self.slack / safe)


@dataclass(frozen=True)
class Assessment:
    """What a batch looks like in float64.

    met is bool (count,); missing, of the same shape, adds up by how much each relation of the hypotheses is missed (in
    [0, 1] each); conclusion has the margins of the instances that met them.
    """

    met: Array
    missing: Array
    conclusion: Margin


def float_margin(relations: Conjunction, count: int) -> Margin:
    """The margin of a batch of `count` instances evaluated in float64 (entries nearest to a violation)."""
    slacks, scales = [], []
    with np.errstate(all="ignore"):
        for relation in relations:
            lhs, rhs = (_float_entries(side, count) for side in (relation.lhs, relation.rhs))
            slack = rhs - lhs
            if relation.kind == "==":
                slack = -np.abs(slack)
            scale = np.abs(lhs) + np.abs(rhs)
            slack, scale = np.broadcast_arrays(slack, scale)
            slacks.append(slack.reshape(count, -1))
            scales.append(scale.reshape(count, -1))
        slack, scale = np.concatenate(slacks, axis=1), np.concatenate(scales, axis=1)
        relative = Margin(slack, scale).relative
    worst = np.argmin(relative, axis=1)[:, None]  # NaN counts as smallest, and is carried on
    return Margin(np.take_along_axis(slack, worst, 1)[:, 0], np.take_along_axis(scale, worst, 1)[:, 0])


def _float_entries(side: Any, count: int) -> Array:
    if isinstance(side, Exact):
        side = constant(side.value, like=np.zeros(1))
    side = np.asarray(side, dtype=np.float64)
    if side.ndim < 3:  # the same for the whole batch
        side = np.broadcast_to(side, (count, *[1] * (2 - side.ndim), *side.shape))
    return side


def exact_entries(relation: Relation, like: Array) -> Iterator[tuple[Any, Any]]:
    """The pairs (lhs, rhs) of one instance, in the number system of `like`."""
    lhs, rhs = (_exact_side(side, like) for side in (relation.lhs, relation.rhs))
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    yield from zip(lhs.flat, rhs.flat, strict=True)


def _exact_side(side: Any, like: Array) -> Array:
    if isinstance(side, np.ndarray) and side.dtype == object:
        return side
    out = np.empty(np.shape(side), dtype=object)
    flat = out.reshape(-1)
    for index, entry in enumerate(np.asarray(side, dtype=object).flat):
        value = entry.value if isinstance(entry, Exact) else entry
        flat[index] = value if isinstance(value, (arb, fmpq)) else constant(value, like)
    return out


# ---- raw instances ----------------------------------------------------------


@dataclass(frozen=True)
class Raw:
    """Raw arrays of an instance, or of a batch of them: what engines draw and perturb, and what shrinking shrinks.

    `arrays` maps "variable" or "variable.part" to an array (batches have one leading axis). `sizes` and `options` are
    shared by the whole batch.
    """

    sizes: Mapping[str, int]
    options: Mapping[str, str]
    arrays: Mapping[str, Array]
    count: int | None = None
    """How many instances the batch has; None for a single instance."""

    def take(self, indices: Array) -> Raw:
        """The sub-batch at the given indices (or boolean mask)."""
        arrays = {name: values[indices] for name, values in self.arrays.items()}
        count = int(np.count_nonzero(indices)) if np.asarray(indices).dtype == bool else len(indices)
        return dataclasses.replace(self, arrays=arrays, count=count)

    def at(self, index: int) -> Raw:
        """One instance of the batch."""
        return dataclasses.replace(self, arrays={name: v[index] for name, v in self.arrays.items()}, count=None)

    def batch(self) -> Raw:
        """A batch of one, made of a single instance."""
        return dataclasses.replace(self, arrays={name: v[None] for name, v in self.arrays.items()}, count=1)


def _own(name: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a variable: "norm.basis" belongs to "norm" under "basis", "A" to "A" under ""."""
    return {key[len(name) + 1 :]: value for key, value in keys.items() if key == name or key.startswith(name + ".")}


def _key(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


# ---- claims -----------------------------------------------------------------

DEFAULT_RANGE = range(1, 7)
"""The sizes a name may take where a claim says nothing."""

_SLACK_RELATIVE = 1e-9
_SLACK_ABSOLUTE = 1e-12
"""How far a hypothesis may miss in float64 before its instance is discarded unjudged."""

Hypothesis = Callable[..., Conjunction]


@dataclass(frozen=True, repr=False)
class Claim:
    """A statement about all members of its domains: `assuming` implies `conclusion`.

    `expect` is "holds" or "fails": a statement that is false as printed is a claim too, and is expected to be refuted.
    """

    id: str
    over: Mapping[str, Domain]
    conclusion: Callable[..., Conjunction]
    assuming: tuple[Hypothesis, ...] = ()
    sizes: Mapping[str, range] = field(default_factory=dict)
    source: str = ""
    expect: str = "holds"
    statement: str = ""
    origin: Any = field(default=None, compare=False, repr=False)
    """What the claim can be built from again (a file, a modification); None where nothing but the object knows."""

    def __post_init__(self) -> None:
        if self.expect not in ("holds", "fails"):
            raise ClaimError(f"claim {self.id}: expect is {self.expect!r}, expected 'holds' or 'fails'")
        if not re.fullmatch(r"[\w.+-]+", self.id):
            raise ClaimError(f"claim id {self.id!r}: expected letters, digits and . _ - + only")
        for function in (self.conclusion, *self.assuming):
            for name in _parameters(function):
                if name not in self.over:
                    raise ClaimError(
                        f"claim {self.id}: argument {name!r} of {_place(function)} has no domain; "
                        f"expected one of {', '.join(self.over)}"
                    )
        for name, values in self.sizes.items():
            if name not in self.size_ranges():
                raise ClaimError(f"claim {self.id}: sizes={name!r}, expected one of {list(self.size_ranges())}")
            if len(values) == 0 or min(values) < 0:
                raise ClaimError(
                    f"claim {self.id}: size {name} has the range {values}, expected some sizes of at least 0"
                )

    def __repr__(self) -> str:
        return f"<claim {self.id}, expected: {self.expect}: {self.headline}>"

    @property
    def headline(self) -> str:
        """The first paragraph of the statement, on one line."""
        return " ".join(self.statement.split("\n\n")[0].split())

    def code(self) -> list[str]:
        """The source texts of the hypotheses and of the conclusion."""
        return [inspect.cleandoc(inspect.getsource(function)) for function in (*self.assuming, self.conclusion)]

    # -- sizes and raw arrays

    def size_ranges(self) -> dict[str, range]:
        """Every size name of the domains, with its range."""
        names = sorted({name for domain in self.over.values() for name in _size_names(domain)})
        return {name: self.sizes.get(name, DEFAULT_RANGE) for name in names}

    def option_values(self) -> dict[str, tuple[str, ...]]:
        """Every discrete choice of the domains, with its values."""
        return {
            _key(name, option): values
            for name, domain in self.over.items()
            for option, values in domain.options().items()
        }

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        """The raw arrays of an instance of these sizes and options."""
        return {
            _key(name, part): spec
            for name, domain in self.over.items()
            for part, spec in domain.parts(sizes, _own(name, options)).items()
        }

    # -- evaluation

    def build(self, raw: Raw, system: NumberSystem = FLOAT64) -> dict[str, Any]:
        """The objects of the claim's variables, in a number system."""
        return {name: self.build_one(name, raw, system) for name in self.over}

    def build_one(self, name: str, raw: Raw, system: NumberSystem) -> Any:
        """The object of one variable, in a number system."""
        arrays = {part: system.array(values) for part, values in _own(name, raw.arrays).items()}
        return self.over[name].build(arrays, _own(name, raw.options), raw.sizes)

    def hypotheses(self, objects: Mapping[str, Any]) -> Conjunction:
        """The hypotheses, evaluated."""
        return every(*(self._call(function, objects) for function in self.assuming))

    def conclude(self, objects: Mapping[str, Any]) -> Conjunction:
        """The conclusion, evaluated."""
        return self._call(self.conclusion, objects)

    def _call(self, function: Callable[..., Any], objects: Mapping[str, Any]) -> Conjunction:
        result = function(**{name: objects[name] for name in _parameters(function)})
        if not isinstance(result, (Relation, Every)) or not tuple(result):
            raise ClaimError(
                f"claim {self.id}: {_place(function)} returned {type(result).__name__}, expected a relation "
                "(at_most, at_least, less_than, more_than, equal or every)"
            )
        return result

    def assess(self, raw: Raw) -> Assessment:
        """A batch evaluated in float64: which instances met the hypotheses, and how far each is from a violation.

        The hypotheses are filtered with slack, since rounding may hide that they hold; a judge certifies them. The
        conclusion is evaluated only where they hold, as it may have no meaning elsewhere.
        """
        if raw.count is None:
            raise ClaimError(f"claim {self.id}: margins are taken of batches, got a single instance: use raw.batch()")
        with FLOAT64.working():
            objects = self.build(raw)
            met, missing = np.ones(raw.count, dtype=bool), np.zeros(raw.count)
            for relation in self.hypotheses(objects) if self.assuming else ():
                margin = float_margin(relation, raw.count)
                met &= margin.slack >= -(_SLACK_RELATIVE * margin.scale + _SLACK_ABSOLUTE)
                missing += np.maximum(-margin.relative, 0)
            if not met.any():
                return Assessment(met, missing, Margin(np.zeros(0), np.zeros(0)))
            if not met.all():
                raw = raw.take(met)
                objects = self.build(raw)
            return Assessment(met, missing, float_margin(self.conclude(objects), int(np.count_nonzero(met))))

    def margin(self, raw: Raw) -> tuple[Array, Margin]:
        """Which instances of a batch met the hypotheses (bool, (count,)), and the float64 margins of those."""
        assessment = self.assess(raw)
        return assessment.met, assessment.conclusion

    # -- variants

    def replace(
        self,
        *,
        lhs: Callable[..., Any] | None = None,
        rhs: Callable[..., Any] | None = None,
        assuming: Sequence[Hypothesis] = (),
        without: Sequence[str] | str = (),
        over: Mapping[str, Domain] | None = None,
        sizes: Mapping[str, range] | None = None,
        id: str | None = None,  # noqa: A002 - the field's name
        expect: str = "holds",
    ) -> Claim:
        """A modified claim.

        lhs, rhs: functions of any of the claim's variables and of `lhs`, `rhs` (the present sides) that give the new
        side. assuming: further hypotheses. without: names of hypotheses to drop. over, sizes: domains and ranges that
        take the place of those of the same name. Raises ClaimError for unknown names, and for a new side of a claim
        that states several relations.
        """
        dropped = (without,) if isinstance(without, str) else tuple(without)
        known = [function.__name__ for function in self.assuming]
        for name in dropped:
            if name not in known:
                raise ClaimError(
                    f"claim {self.id}: without={name!r}, expected one of its hypotheses {known or '(none)'}"
                )
        for name in over or {}:
            if name not in self.over:
                raise ClaimError(f"claim {self.id}: over={name!r}, expected one of its variables {list(self.over)}")
        return dataclasses.replace(
            self,
            id=id or self.id + "+modified",
            over={**self.over, **(over or {})},
            assuming=(*(f for f in self.assuming if f.__name__ not in dropped), *assuming),
            sizes={**self.sizes, **(sizes or {})},
            expect=expect,
            conclusion=_with_sides(self, lhs, rhs) if lhs or rhs else self.conclusion,
            origin=None,
        )

    def seed_words(self) -> list[int]:
        """Words that make the claim's random streams its own."""
        return [zlib.crc32(self.id.encode())]


def _with_sides(
    claim: Claim, lhs: Callable[..., Any] | None, rhs: Callable[..., Any] | None
) -> Callable[..., Conjunction]:
    for side in (lhs, rhs):
        for name in _parameters(side) if side else ():
            if name not in claim.over and name not in ("lhs", "rhs"):
                raise ClaimError(
                    f"claim {claim.id}: a new side uses {name!r}, expected lhs, rhs or one of {list(claim.over)}"
                )

    def conclusion(**objects: Any) -> Conjunction:
        before = claim.conclude(objects)
        if not isinstance(before, Relation):
            raise ClaimError(f"claim {claim.id} states several relations, so lhs= and rhs= cannot replace a side of it")
        left, kind, right = before.stated
        scope = {**objects, "lhs": left, "rhs": right}
        new_left, new_right = (
            side(**{name: scope[name] for name in _parameters(side)}) if side else old
            for side, old in ((lhs, left), (rhs, right))
        )
        return _MAKERS[kind](new_left, new_right)

    conclusion.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in claim.over]
    )
    return conclusion


_MAKERS: dict[str, Callable[[Any, Any], Relation]] = {
    "<=": at_most,
    ">=": at_least,
    "<": less_than,
    ">": more_than,
    "==": equal,
}


def claim(
    id: str,  # noqa: A002 - the field's name
    *,
    over: Mapping[str, Domain],
    source: str = "",
    assuming: Sequence[Hypothesis] = (),
    sizes: Mapping[str, range] | None = None,
    expect: str = "holds",
) -> Callable[[Callable[..., Conjunction]], Claim]:
    """Decorator that makes a `Claim` of a function of the variables named in `over` that returns a relation.

    The function's docstring is the statement. Sizes without a range run over 1..6.
    """

    def decorate(function: Callable[..., Conjunction]) -> Claim:
        return Claim(
            id=id,
            over=dict(over),
            conclusion=function,
            assuming=tuple(assuming),
            sizes=dict(sizes or {}),
            source=source,
            expect=expect,
            statement=inspect.cleandoc(function.__doc__ or ""),
        )

    return decorate


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    cached = getattr(function, "_resstream_parameters", None)
    if cached is None:
        cached = tuple(inspect.signature(function).parameters)
        try:
            function._resstream_parameters = cached  # type: ignore[attr-defined]
        except AttributeError:  # built-in callables take no attributes
            return cached
    return tuple(cached)


def _place(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", repr(function))
    return f"{name} ({code.co_filename}, line {code.co_firstlineno})" if code else name


def _size_names(domain: Domain) -> set[str]:
    """The names among a domain's sizes (fields that are strings or domains, never options)."""
    names: set[str] = set()
    for entry in dataclasses.fields(domain):  # type: ignore[arg-type]
        value = getattr(domain, entry.name)
        if isinstance(value, Domain):
            names |= _size_names(value)
        elif isinstance(value, str):
            names.add(value)
    return names


__all__ = [
    "Assessment",
    "Claim",
    "Conjunction",
    "Every",
    "Margin",
    "Raw",
    "Relation",
    "at_least",
    "at_most",
    "claim",
    "equal",
    "every",
    "less_than",
    "more_than",
]
