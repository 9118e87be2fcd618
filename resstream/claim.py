"""A theorem, stated once: its domains, its hypotheses, and the one place where a claim is evaluated."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import re
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from resstream import cards
from resstream.arithmetic import FLOAT64, Array, NumberSystem
from resstream.callables import make_callable
from resstream.domains import Domain, Options, Part, Sizes, expectation, require_domain
from resstream.domains.current import Objects, evaluating, size
from resstream.domains.sizes import Where, choices, inhabited
from resstream.errors import ArithmeticLimit, ClaimError, ClaimFault, DomainError, ForeignNumber, Undefined
from resstream.relations import (
    AnyOf,
    AtMost,
    Comparison,
    Differ,
    Equal,
    Every,
    Growth,
    Less,
    Limit,
    Margin,
    Relation,
    Values,
    at_least,
    at_most,
    differ,
    either,
    equal,
    every,
    exists,
    for_all,
    iff,
    implies,
    in_some_entry,
    less_than,
    limit,
    more_than,
    negation,
    rate,
    within,
)


@dataclass(frozen=True)
class Assessment:
    """What a batch looks like in float64.

    met is bool (count,); missing, of the same shape, adds up by how much each relation of the hypotheses is missed (in
    [0, 1] each); conclusion has the margins of the instances that met them. assumed are the hypotheses, evaluated on
    the batch, where that was possible.

    >>> from resstream.domains import Vector
    >>> stated = Claim("mine.one", {"x": Vector(1)}, lambda x: at_most(x, 1), assuming=(lambda x: at_least(x, 0),))
    >>> found = stated.assess(Batch({}, {}, {"x": np.array([[[-5.0]], [[0.5]], [[2.0]]])}, 3))
    >>> found.met.tolist(), (found.conclusion.slack > 0).tolist()
    ([False, True, True], [True, False])
    """

    met: Array
    missing: Array
    conclusion: Margin
    assumed: tuple[Relation, ...] = ()


# ---- raw instances ----------------------------------------------------------


@dataclass(frozen=True)
class Instance:
    """Raw arrays of one instance, by "variable" or "variable.part": what shrinking shrinks and the judge judges.

    >>> Instance({"d": 1}, {}, {"x": np.array([[2.0]])}).batch().count
    1
    """

    sizes: Mapping[str, int]
    options: Mapping[str, str]
    arrays: Mapping[str, Array]

    def batch(self) -> Batch:
        """A batch of one."""
        return Batch(self.sizes, self.options, {name: v[None] for name, v in self.arrays.items()}, 1)


@dataclass(frozen=True)
class Batch:
    """Raw arrays of `count` instances of the same sizes and options, along one leading axis: what engines draw.

    >>> raw = Batch({"d": 1}, {}, {"x": np.array([[[1.0]], [[2.0]]])}, 2)
    >>> raw.at(1).arrays["x"].tolist()
    [[2.0]]
    """

    sizes: Mapping[str, int]
    options: Mapping[str, str]
    arrays: Mapping[str, Array]
    count: int

    def take(self, indices: Array) -> Batch:
        """The sub-batch at the given indices (or boolean mask)."""
        arrays = {name: values[indices] for name, values in self.arrays.items()}
        count = int(np.count_nonzero(indices)) if np.asarray(indices).dtype == bool else len(indices)
        return Batch(self.sizes, self.options, arrays, count)

    def at(self, index: int) -> Instance:
        """One instance of the batch."""
        return Instance(self.sizes, self.options, {name: v[index] for name, v in self.arrays.items()})

    def instances(self) -> Iterator[Instance]:
        """Every instance in turn."""
        return (self.at(index) for index in range(self.count))


Raw = Instance | Batch


def sealed(value: Any) -> Any:
    """An object of a claim with its arrays read-only: a function that writes in place would change what others see."""
    if isinstance(value, np.ndarray):
        # Through a memoryview, so that nobody can make it writeable again, nor reach what it was made of.
        value = np.asarray(memoryview(value).toreadonly()).view(type(value))  # type: ignore[arg-type]
    elif isinstance(value, (list, tuple)):
        return type(value)(map(sealed, value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for entry in dataclasses.fields(value):
            part = vars(value).get(entry.name)  # what is made later, when it is asked for, is not asked for here
            if isinstance(part, (np.ndarray, list, tuple)):
                object.__setattr__(value, entry.name, sealed(part))
    return value


def _own_lists(value: Any) -> Any:
    """An object with lists of its own, so that a function that changes one changes it for nobody else."""
    return [_own_lists(one) for one in value] if isinstance(value, list) else value


def words_of(failure: BaseException) -> str:
    """What an exception says, whatever its own `__str__` does."""
    try:
        return str(failure)
    except Exception:
        return ""


def _own(name: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a variable: "norm.basis" belongs to "norm" under "basis", "A" to "A" under ""."""
    return {key[len(name) + 1 :]: value for key, value in keys.items() if key == name or key.startswith(name + ".")}


def _key(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


# ---- claims -----------------------------------------------------------------

DEFAULT_RANGE = range(1, 7)
"""The sizes a name may take where a claim says nothing."""

CHOICES = 100_000
"""Sizes that are looked through for some near to others."""

LARGEST_RAW = 4_000_000
"""Raw numbers that one instance of a claim may take."""

Hypothesis = Callable[..., Relation]

Variables = str | tuple[str, ...]
"""A variable, or several that vary together."""


def require_title(identifier: str, expect: str) -> None:
    """ClaimError unless a claim may have this id, and is expected to hold or to fail."""
    if not isinstance(identifier, str):
        raise ClaimError(f"claim id {identifier!r:.40}: expected text")
    if expect not in ("holds", "fails"):
        raise ClaimError(f"claim {identifier}: expect is {expect!r}, expected 'holds' or 'fails'")
    if not re.fullmatch(r"[\w.+-]+", identifier):
        raise ClaimError(f"claim id {identifier!r}: expected letters, digits and . _ - + only")


def headline_of(statement: str) -> str:
    """The first paragraph of a statement, on one line."""
    return " ".join(statement.split("\n\n")[0].split())


@dataclass(frozen=True, repr=False)
class Claim:
    """A statement about all members of its domains: `assuming` implies `conclusion`.

    `expect` is "holds" or "fails": a statement that is false as printed is a claim too, and is expected to be refuted.

    >>> from resstream.domains import Vector
    >>> stated = Claim("mine.square", {"x": Vector("d")}, lambda x: at_least(x * x, 0), statement="x * x >= 0.")
    >>> stated.size_ranges(), stated.headline
    ({'d': range(1, 7)}, 'x * x >= 0.')
    """

    id: str
    over: Mapping[str, Domain]
    conclusion: Callable[..., Relation]
    assuming: tuple[Hypothesis, ...] = ()
    sizes: Mapping[str, range] = field(default_factory=dict)
    source: str = ""
    expect: str = "holds"
    statement: str = ""
    where: str = ""
    """A relation between sizes, such as "n >= d + 1"; it says nothing of other sizes."""
    batched: bool | None = None
    """Whether it may be evaluated on a batch; None: to be found out. False: it is written for one instance."""
    budget: int | None = None
    """Evaluations of a search for a counterexample where the caller says nothing; None: as many as for any claim."""
    as_grows: Growth | None = None
    """What it says of the quantity that its function returns (in place of a relation) as a size grows."""
    origin: Any = field(default=None, compare=False)
    """What the claim can be built from again (a file, a modification); None where nothing but the object knows."""
    notes: tuple[str, ...] = field(default=(), init=False, compare=False)
    """What was left out of the claim's sizes, and why."""
    _ranges: dict[str, range] = field(default_factory=dict, init=False, compare=False)
    _where: Where | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        require_title(self.id, self.expect)
        if self.budget is not None and (type(self.budget) is not int or self.budget < 1):
            raise ClaimError(f"claim {self.id}: budget is {self.budget!r:.40}, expected a whole number of at least 1")
        for function in (self.conclusion, *self.assuming):
            for name in _parameters(function):
                if name not in self.over:
                    raise ClaimError(
                        f"claim {self.id}: argument {name!r} of {place_of(function)} has no domain; "
                        f"expected one of {', '.join(self.over)}"
                    )
        self._check_sizes()
        if self.as_grows is not None:
            self._check_growth(self.as_grows)

    def _check_growth(self, growth: Growth) -> None:
        """Refuse a size that no object grows with, and functions of what has no limit or is unknown."""
        if not isinstance(growth, Growth):
            raise ClaimError(f"claim {self.id}: as_grows is {growth!r:.40}, expected limit(...) or rate(...)")
        grown = [name for name, domain in self.over.items() if growth.size in domain.size_names()]
        for name in grown:
            if not self.over[name].grows_with(growth.size):
                raise ClaimError(
                    f"claim {self.id}: as_grows: {name} in {self.over[name]} is no list of {growth.size} objects, "
                    f"expected Stack({growth.size!r}, ...), Count({growth.size!r}) or what has no size {growth.size}"
                )
        if not grown:
            raise ClaimError(
                f"claim {self.id}: as_grows: {growth.size!r} is no size of its domains, expected one of "
                f"{', '.join(self._ranges) or '(none)'}"
            )
        for argument, function in growth.given().items():
            fixed = isinstance(growth, Limit)  # what is tended to does not move
            known = [
                name for name in (*self.over, growth.size) if not (fixed and (name in grown or name not in self.over))
            ]
            for name in _parameters(function) if callable(function) else ():
                if name not in known:
                    raise ClaimError(
                        f"claim {self.id}: {growth.name}: {argument} is a function of {name!r}, expected one of {known}"
                    )

    def _check_sizes(self) -> None:
        """Refuse what is no domain, ranges that are none, sizes at which a domain is empty, and instances too large."""
        try:
            for variable, domain in self.over.items():
                require_domain(f"claim {self.id}: over[{variable!r}]", domain)
        except DomainError as failure:
            raise ClaimError(str(failure)) from None
        names = sorted(set().union(*(domain.size_names() for domain in self.over.values())))
        for name, values in self.sizes.items():
            if name not in names:
                raise ClaimError(f"claim {self.id}: sizes={name!r}, expected one of {names}")
            if not isinstance(values, range) or len(values) == 0 or min(values) < 0:
                raise ClaimError(
                    f"claim {self.id}: size {name} has the range {values!r:.60}, expected some sizes of at least 0, "
                    "such as range(1, 7)"
                )
        try:
            where = Where(self.where) if self.where else None
            for name in sorted(where.names - set(names)) if where else ():
                raise DomainError(
                    f"where={self.where!r}: {name} is no size of it, expected {', '.join(names) or 'none'}"
                )
            wanted = {name: self.sizes.get(name, DEFAULT_RANGE) for name in names}
            ranges, notes = inhabited(self.over, wanted, where)
        except DomainError as failure:
            raise ClaimError(f"claim {self.id}: {failure}") from None
        object.__setattr__(self, "_where", where)
        object.__setattr__(self, "_ranges", ranges)
        object.__setattr__(self, "notes", notes)
        largest = {name: max(values) for name, values in ranges.items()}
        options = {name: values[-1] for name, values in self.option_values().items()}
        entries = sum(part.entries for part in self.parts(largest, options).values())
        if entries > LARGEST_RAW:
            raise ClaimError(
                f"claim {self.id}: its domains take {entries:,} raw numbers at the largest sizes, expected at most "
                f"{LARGEST_RAW:,}"
            )

    @property
    def __name__(self) -> str:
        """The name of its function, by which pytest takes a claim for something that marks can be put on."""
        return str(getattr(self.conclusion, "__name__", self.id))

    def __call__(self, **objects: Any) -> Relation:
        """The conclusion at given objects, each variable of it by name: the relation that the function returns.

        Raises ClaimError for a variable too many or too few.
        """
        if set(objects) != set(self.over):
            raise ClaimError(
                f"claim {self.id}: called with {sorted(objects)}, expected its variables {list(self.over)}"
            )
        return self.conclude(objects)

    def __repr__(self) -> str:
        return f"<claim {self.id}, expected: {self.expect}: {self.headline}>"

    def _repr_html_(self) -> str:
        return cards.claim_html(self)

    def _repr_latex_(self) -> str | None:
        return cards.claim_latex(self)

    @property
    def headline(self) -> str:
        """The first paragraph of the statement, on one line."""
        return headline_of(self.statement)

    def code(self) -> list[str]:
        """The source texts of the hypotheses and of the conclusion."""
        return [inspect.cleandoc(inspect.getsource(function)) for function in (*self.assuming, self.conclusion)]

    # -- sizes and raw arrays

    def size_ranges(self) -> dict[str, range]:
        """Every size name of the domains, with its range, less the sizes at which a domain is empty (see `notes`)."""
        return dict(self._ranges)

    def fits(self, sizes: Sizes) -> bool:
        """Whether `where` allows sizes; without one it allows all."""
        return self._where is None or self._where.holds(sizes)

    def size_choices(self) -> Iterator[dict[str, int]]:
        """The sizes that the claim speaks of, none where `where` allows none: by their sum, then in order."""
        return choices(self._ranges, self._where)

    def nearest_fit(self, sizes: Sizes) -> dict[str, int]:
        """These sizes, or where the claim says nothing of them those that it speaks of which differ from them least.

        Where it speaks of none, these: no instance meets it.
        """
        if self.fits(sizes):
            return dict(sizes)
        first = itertools.islice(self.size_choices(), CHOICES)
        return min(
            first, key=lambda one: sum(abs(one[name] - value) for name, value in sizes.items()), default=dict(sizes)
        )

    def require_sizes(self) -> Claim:
        """The claim, or ClaimError where `where` holds at none of the sizes of its ranges."""
        if next(self.size_choices(), None) is None:
            raise ClaimError(
                f"claim {self.id}: where={self.where!r}: expected sizes of its ranges at which it holds, got none"
            )
        return self

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
        """The objects of the claim's variables, in a number system, made anew and read-only."""
        return Objects({name: self.build_one(name, raw, system) for name in self.over}, raw.sizes)

    def build_one(self, name: str, raw: Raw, system: NumberSystem) -> Any:
        """The object of one variable, in a number system."""
        arrays = {part: system.array(values) for part, values in _own(name, raw.arrays).items()}
        return sealed(self.over[name].build(arrays, _own(name, raw.options), raw.sizes))

    def hypotheses(self, objects: Mapping[str, Any]) -> Relation:
        """The hypotheses, evaluated; ClaimError where there are none."""
        return every(*(self._call(function, objects) for function in self.assuming))

    def conclude(self, objects: Mapping[str, Any]) -> Relation:
        """The conclusion, evaluated; of a claim about growth the bounds that it states, at this size."""
        if self.as_grows is not None:
            return self.as_grows.stated(self.along(objects), objects.sizes[self.as_grows.size])  # type: ignore[attr-defined]
        return self._call(self.conclusion, objects)

    def along(self, objects: Mapping[str, Any], zero: Any = 0) -> Values:
        """The quantity of a claim about growth, and its functions, at the first so many of the objects that grow.

        zero: an array (1, 1) of a number system, so that a value that meets no array is in it too. ClaimError for
        another claim, and for objects whose sizes are not known.
        """
        growth = self.as_grows
        if growth is None or not isinstance(objects, Objects):
            says = (
                f"{growth.wording}, which says nothing of one size" if growth else "says nothing of a size that grows"
            )
            raise ClaimError(f"claim {self.id} {says}")

        @cache
        def begun(count: int) -> Objects:
            found = {
                name: domain.beginning(objects[name], count) if domain.grows_with(growth.size) else objects[name]
                for name, domain in self.over.items()
            }
            return Objects(found, {**objects.sizes, growth.size: count})

        @cache
        def evaluated(function: Callable[..., Any], count: int) -> Any:
            scope = begun(count)
            with self._faults(function), evaluating(scope):
                known = {growth.size: count, **scope}
                result = function(**{name: known[name] for name in _parameters(function)})
            if isinstance(result, Relation):
                raise ClaimError(
                    f"claim {self.id}: {place_of(function)} returned a relation, expected the quantity that "
                    f"{growth.wording}"
                )
            return result + zero

        def values(what: Any, count: int) -> Any:
            if what is not None and not callable(what):
                return what
            return evaluated(self.conclusion if what is None else what, count)

        return values

    def _call(self, function: Callable[..., Any], objects: Mapping[str, Any]) -> Relation:
        with self._faults(function), evaluating(objects):
            result = function(**{name: _own_lists(objects[name]) for name in _parameters(function)})
        if not isinstance(result, Relation):
            raise ClaimError(
                f"claim {self.id}: {place_of(function)} returned {type(result).__name__}, expected a relation "
                "(at_most, at_least, less_than, more_than, equal, every, either, implies, ...)"
            )
        return result

    @contextmanager
    def _faults(self, function: Callable[..., Any]) -> Iterator[None]:
        """What a user's function raises, as an error of the claim with file and line.

        Limits of a number system, values that do not exist, and Ctrl-C are passed on as they are.
        """
        try:
            yield
        except (ArithmeticLimit, DomainError, ClaimError, KeyboardInterrupt):
            raise
        except ZeroDivisionError as failure:
            raise Undefined(f"{failure} in {_line_of(function, failure)}") from failure
        except ForeignNumber as failure:
            raise ClaimFault(f"claim {self.id}: {failure}") from failure
        except BaseException as failure:
            said = words_of(failure)
            what = f"{type(failure).__name__}: {said}" if said else type(failure).__name__
            hint = ""
            if isinstance(failure, ValueError) and "read-only" in said:
                hint = "; the objects of a claim are read-only: write t = 2 * t in place of t *= 2"
            elif isinstance(failure, TypeError) and any(word in said for word in ("ufunc", "dtype('O')")):
                hint = "; NumPy's function has no exact reading: use one of resstream.arithmetic"
            raise ClaimFault(f"claim {self.id}: {_line_of(function, failure)} raised {what}{hint}") from failure

    def assess(self, raw: Batch) -> Assessment:
        """A batch evaluated in float64: which instances met the hypotheses, and how far each is from a violation.

        The hypotheses are filtered with slack, since rounding may hide that they hold; a judge certifies them. The
        conclusion is evaluated only where they hold, as it may have no meaning elsewhere.
        """
        if not isinstance(raw, Batch):
            raise ClaimError(
                f"claim {self.id}: margins are taken of batches, got {type(raw).__name__}: use raw.batch()"
            )
        if not self.fits(raw.sizes):
            return Assessment(np.zeros(raw.count, dtype=bool), np.ones(raw.count), Margin(np.zeros(0), np.zeros(0)))
        if self.batched is False:
            return self._assess_singly(raw)
        with FLOAT64.working():
            met, missing = np.ones(raw.count, dtype=bool), np.zeros(raw.count)
            assumed: tuple[Relation, ...] = ()
            objects = self.build(raw)
            if self.assuming:
                assumed = tuple(self._call(function, objects) for function in self.assuming)
                for relation in assumed:
                    its_met, its_missing = relation.met(raw.count)
                    met &= its_met
                    missing += its_missing
                if not met.any():
                    return Assessment(met, missing, Margin(np.zeros(0), np.zeros(0)), assumed)
                if not met.all():
                    raw = raw.take(met)
                    objects = self.build(raw)
            return Assessment(met, missing, self.conclude(objects).margin(raw.count), assumed)

    def _assess_singly(self, raw: Batch) -> Assessment:
        """The same, one instance at a time, without leading axes. Where a value does not exist the margin is NaN."""
        found = []
        for instance in raw.instances():
            try:
                found.append(self._assess_one(instance))
            except (DomainError, ArithmeticLimit, ArithmeticError):
                found.append((True, 0.0, np.nan, np.nan))
        met = np.array([one[0] for one in found], dtype=bool)
        slack, scale = (np.array([one[k] for one in found if one[0]], dtype=float) for k in (2, 3))
        return Assessment(met, np.array([one[1] for one in found]), Margin(slack, scale))

    def _assess_one(self, raw: Instance) -> tuple[bool, float, float, float]:
        """Whether one instance met the hypotheses, by how much it missed them, and its margin's slack and scale."""
        missing = 0.0
        with FLOAT64.working():
            for function in self.assuming:
                met, missed = self._call(function, self.build(raw)).met(1)
                missing += float(missed[0])
                if not met[0]:
                    return False, missing, np.nan, np.nan
            margin = self.conclude(self.build(raw)).margin(1)
        return True, missing, float(margin.slack[0]), float(margin.scale[0])

    def margin(self, raw: Batch) -> tuple[Array, Margin]:
        """Which instances of a batch met the hypotheses (bool, (count,)), and the float64 margins of those."""
        assessment = self.assess(raw)
        return assessment.met, assessment.conclusion

    def at(self, *, sizes: Mapping[str, int] | None = None, around: Any = None, **objects: Any) -> Any:
        """The claim at given objects, judged exactly: an `At` with hypotheses, both sides, margin and tightness.

        Arrays of NumPy, torch or JAX and nested lists, taken as the exact numbers that they are; or, with
        around="rounding" or a radius, as balls of which every member is judged at once; see `resstream.falsify.at`,
        which this calls. Raises ClaimError and DomainError for what cannot be.
        """
        from resstream.falsify.at import at  # the judge is a room above this one, and is asked when it is needed

        return at(self, objects, sizes, around)

    # -- variants

    @property
    def stated_names(self) -> tuple[str, ...]:
        """What a new conclusion may name beside the variables: the present sides, or the quantity that grows."""
        return ("lhs", "rhs") if self.as_grows is None else ("quantity",)

    def replace(
        self,
        *,
        lhs: Callable[..., Any] | None = None,
        rhs: Callable[..., Any] | None = None,
        conclusion: Callable[..., Any] | None = None,
        as_grows: Growth | None = None,
        assuming: Sequence[Hypothesis] = (),
        without: Sequence[str] | str = (),
        over: Mapping[str, Domain] | Mapping[Variables, Domain] | None = None,
        sizes: Mapping[str, range] | None = None,
        where: str | None = None,
        id: str | None = None,  # noqa: A002 - the field's name
        expect: str = "holds",
    ) -> Claim:
        """A modified claim.

        lhs, rhs: functions of any of the claim's variables and of `lhs`, `rhs` (the present sides) that give the new
        side. conclusion: a function of the same that gives another relation, or with as_grows (`limit(...)`,
        `rate(...)`) the quantity that this is said of; a claim that says so already has its `quantity` in the place of
        sides. assuming: further hypotheses. without: names of hypotheses to drop. over, sizes: domains and ranges that
        take the place of those of the same name; a tuple of variables gets a domain of tuples, as `Given` and `Product`
        are, and they vary together. A size that an object of numbers tells is that number for the other variables too,
        unless `sizes` gives it.
        where: another relation between sizes, "" for none. Raises ClaimError for unknown names, and for a new
        side of a claim that states several relations.
        """
        dropped = (without,) if isinstance(without, str) else tuple(without)
        known = [function.__name__ for function in self.assuming]
        for name in dropped:
            if name not in known:
                raise ClaimError(
                    f"claim {self.id}: without={name!r}, expected one of its hypotheses {known or '(none)'}"
                )
        separate, together = self._replaced(over or {})
        if lhs or rhs:
            if self.as_grows is not None:
                raise ClaimError(f"claim {self.id}: it {self.as_grows.wording}, and has no sides; give a conclusion")
            if conclusion:
                raise ClaimError(
                    f"claim {self.id}: expected a new conclusion, or new sides of the present one, not both"
                )
            conclusion = _with_sides(self, lhs, rhs)
        domains: dict[str, Domain] = {**self.over, **separate}
        joined = {name for names in together for name in names}
        left = [*(domain for name, domain in domains.items() if name not in joined), *together.values()]
        used = set().union(*(domain.size_names() for domain in left if isinstance(domain, Domain)))
        told = {size: range(number, number + 1) for size, number in self._told(separate, together).items()}
        kept = {size: values for size, values in {**self.sizes, **told}.items() if size in used}
        hypotheses = (*(f for f in self.assuming if f.__name__ not in dropped), *assuming)
        if as_grows is not None and conclusion is None and self.as_grows is None:
            raise ClaimError(f"claim {self.id}: as_grows: expected a conclusion beside it, which gives the quantity")
        growth = as_grows or (None if conclusion else self.as_grows)
        conclusion = _concluding(self, conclusion) if conclusion else self.conclusion
        for variables, domain in together.items():
            joint = "_".join(variables)
            domains = {
                joint if name == variables[0] else name: domain if name == variables[0] else other
                for name, other in domains.items()
                if name == variables[0] or name not in variables
            }
            hypotheses = tuple(_unpacking(f, joint, variables) for f in hypotheses)
            conclusion = _unpacking(conclusion, joint, variables)
        return dataclasses.replace(
            self,
            id=id or self.id + "+modified",
            over=domains,
            assuming=hypotheses,
            sizes={**kept, **(sizes or {})},
            where=self.where if where is None else where,
            expect=expect,
            as_grows=growth,
            conclusion=conclusion,
            origin=None,
        )

    def _replaced(
        self, over: Mapping[str, Domain] | Mapping[Variables, Domain]
    ) -> tuple[dict[str, Domain], dict[tuple[str, ...], Domain]]:
        """The domains of single variables, and those of several together; ClaimError for what is neither."""
        named = [name for names in over for name in (names if isinstance(names, tuple) else (names,))]
        for name in named:
            if name not in self.over or named.count(name) > 1:
                what = "expected one of its variables" if name not in self.over else "expected each once, of"
                raise ClaimError(f"claim {self.id}: over={name!r}, {what} {list(self.over)}")
        together = {names: domain for names, domain in over.items() if isinstance(names, tuple)}
        for names, domain in together.items():
            try:
                require_domain(f"claim {self.id}: over[{names!r}]", domain)
            except DomainError as failure:
                raise ClaimError(str(failure)) from None
            if len(domain.shapes()) != len(names) or len(names) < 2:
                raise ClaimError(
                    f"claim {self.id}: over[{names!r}]: expected a domain of tuples of {len(names)} objects (two or "
                    f"more), such as Given or Product, got {domain}"
                )
        return {name: domain for name, domain in over.items() if isinstance(name, str)}, together

    def _told(self, separate: Mapping[str, Domain], together: Mapping[tuple[str, ...], Domain]) -> dict[str, int]:
        """The sizes of the claim that new domains of numbers of a known shape tell; ClaimError where two disagree."""
        told: dict[str, int] = {}
        single = [((name,), [domain.shape()]) for name, domain in separate.items() if isinstance(domain, Domain)]
        for names, shapes in (*single, *((names, domain.shapes()) for names, domain in together.items())):
            for name, shape in zip(names, shapes, strict=True):
                for known, number in zip(self.over[name].shape() or (), shape or (), strict=False):
                    if isinstance(known, str) and isinstance(number, int) and told.setdefault(known, number) != number:
                        raise ClaimError(f"claim {self.id}: {known} would be {told[known]} and {number}")
        return told

    def seed_words(self) -> list[int]:
        """Words that make the claim's random streams its own."""
        return [zlib.crc32(self.id.encode())]


_refuse = Claim.__setattr__


def _set(claim: Claim, name: str, value: Any) -> None:
    """A claim does not change, but for the marks that pytest puts on it: they say how it is run, not what it states."""
    if name == "pytestmark":
        object.__setattr__(claim, name, value)
    else:
        _refuse(claim, name, value)


Claim.__setattr__ = _set  # type: ignore[method-assign,assignment]

STATED = "__resstream_claims__"
"""The name in a module of the list of all claims that its functions were made into: also those no name leads to."""


def _with_sides(
    claim: Claim, lhs: Callable[..., Any] | None, rhs: Callable[..., Any] | None
) -> Callable[..., Relation]:
    for side in (lhs, rhs):
        _require_known(claim, side, "a new side")

    def conclusion(**objects: Any) -> Relation:
        before, scope = _sides_of(claim, objects)
        left, right = (
            side(**{name: scope[name] for name in _parameters(side)}) if side else scope[old]
            for side, old in ((lhs, "lhs"), (rhs, "rhs"))
        )
        return before.with_stated(left, right)

    return _of_variables(claim, conclusion)


def _concluding(claim: Claim, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the claim's variables that gives another conclusion, and may use what the present one states."""
    names = _parameters(function)
    _require_known(claim, function, "a new conclusion")
    if not set(claim.stated_names) & set(names):
        return function

    def conclusion(**objects: Any) -> Any:
        if claim.as_grows is not None:
            quantity = claim.conclusion(**{name: objects[name] for name in _parameters(claim.conclusion)})
            scope = {**objects, "quantity": quantity}
        else:
            _, scope = _sides_of(claim, objects)
        return function(**{name: scope[name] for name in names})

    return _of_variables(claim, conclusion)


def _unpacking(function: Callable[..., Relation], joint: str, variables: tuple[str, ...]) -> Callable[..., Relation]:
    """The function of one tuple in the place of several of its variables."""
    own = _parameters(function)
    if not set(own) & set(variables):
        return function

    @functools.wraps(function, updated=())
    def unpacking(**objects: Any) -> Relation:
        scope = {**objects, **dict(zip(variables, objects[joint], strict=True))}
        return function(**{name: scope[name] for name in own})

    names = [joint, *(name for name in own if name not in variables)]
    unpacking.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    return unpacking


def _require_known(claim: Claim, function: Callable[..., Any] | None, what: str) -> None:
    for name in _parameters(function) if function else ():
        if name not in (*claim.over, *claim.stated_names):
            stated = ", ".join(claim.stated_names)
            raise ClaimError(f"claim {claim.id}: {what} uses {name!r}, expected {stated} or one of {list(claim.over)}")


def _sides_of(claim: Claim, objects: Mapping[str, Any]) -> tuple[Comparison, dict[str, Any]]:
    """The conclusion, which must be one comparison, and the objects with its sides as `lhs` and `rhs`."""
    before = claim.conclude(objects)
    if not isinstance(before, Comparison):
        raise ClaimError(f"claim {claim.id} states several relations, so lhs= and rhs= cannot replace a side of it")
    left, _, right = before.stated
    return before, {**objects, "lhs": left, "rhs": right}


def _of_variables(claim: Claim, conclusion: Callable[..., Relation]) -> Callable[..., Relation]:
    conclusion.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in claim.over]
    )
    return conclusion


def claim(
    id: str,  # noqa: A002 - the field's name
    *,
    over: Mapping[str, Domain],
    source: str = "",
    assuming: Sequence[Hypothesis] = (),
    sizes: Mapping[str, range] | None = None,
    where: str = "",
    expect: str = "holds",
    batched: bool | None = None,
    budget: int | None = None,
    as_grows: Growth | None = None,
) -> Callable[[Callable[..., Any]], Claim]:
    """Decorator that makes a `Claim` of a function of the variables named in `over` that returns a relation.

    The function's docstring is the statement. Sizes without a range run over 1..6; where: a relation between them, such
    as "n >= d + 1". batched=False: the function is written for one instance, without leading axes (found out where
    nothing is said). budget: evaluations of a search for a counterexample, where whoever searches says nothing.
    as_grows: `limit(...)` or `rate(...)`; the function returns the quantity that this is said of.

    >>> from resstream.domains import Vector
    >>> @claim("mine.square", over={"x": Vector("d")})
    ... def squares(x):
    ...     "Squares are nonnegative."
    ...     return at_least(x * x, 0)
    >>> squares
    <claim mine.square, expected: holds: Squares are nonnegative.>
    >>> squares.at(x=np.array([[1.0, -2.0]]))
    <mine.square holds (certified)>
    """

    require_title(id, expect)
    for argument, value in (("over", over), ("sizes", sizes or {})):
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise ClaimError(f"claim {id}: {argument} is {value!r:.60}, expected a mapping by name, such as a dict")
    if not isinstance(assuming, Sequence) or not all(map(callable, assuming)):
        raise ClaimError(
            f"claim {id}: assuming is {assuming!r:.60}, expected a list of functions, each of which returns a relation"
        )

    def decorate(function: Callable[..., Any]) -> Claim:
        if not callable(function):
            raise ClaimError(f"claim {id}: expected a function that returns a relation, got {function!r:.60}")
        stated = Claim(
            id=id,
            over=dict(over),
            conclusion=function,
            assuming=tuple(assuming),
            sizes=dict(sizes or {}),
            where=where,
            source=source,
            expect=expect,
            batched=batched,
            budget=budget,
            as_grows=as_grows,
            statement=inspect.cleandoc(function.__doc__ or ""),
        ).require_sizes()
        getattr(function, "__globals__", {}).setdefault(STATED, []).append(stated)
        return stated

    return decorate


make_callable(__name__)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    cached = getattr(function, "_resstream_parameters", None)
    if cached is None:
        cached = tuple(inspect.signature(function).parameters)
        try:
            function._resstream_parameters = cached  # type: ignore[attr-defined]
        except AttributeError:  # built-in callables take no attributes
            return cached
    return tuple(cached)


def place_of(function: Callable[..., Any]) -> str:
    """A function by its name, file and first line."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", repr(function))
    return f"{name} ({code.co_filename}, line {code.co_firstlineno})" if code else name


def _line_of(function: Callable[..., Any], failure: BaseException) -> str:
    """The innermost line of the file of a claim's function that a failure went through."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    frames = traceback.extract_tb(failure.__traceback__)
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    if not own:
        return place_of(function)
    if own[-1].filename == __file__:  # a side that was put in place of another
        return "a modified side"
    return f"line {own[-1].lineno} of {Path(own[-1].filename).name}"


__all__ = [
    "AnyOf",
    "Assessment",
    "AtMost",
    "Batch",
    "Claim",
    "Comparison",
    "Differ",
    "Equal",
    "Every",
    "Growth",
    "Instance",
    "Less",
    "Margin",
    "Raw",
    "Relation",
    "at_least",
    "at_most",
    "claim",
    "differ",
    "either",
    "equal",
    "every",
    "exists",
    "expectation",
    "for_all",
    "iff",
    "implies",
    "in_some_entry",
    "less_than",
    "limit",
    "more_than",
    "negation",
    "rate",
    "size",
    "within",
]
