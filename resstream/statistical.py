"""Statistical claims: a bound on a probability, or on the mean of a bounded number, over random objects.

A claim of `resstream.claim` speaks of all members of its domains, and is refuted by one certified instance. Here no
instance refutes: a test of independent draws does, at a level that is stated with the claim, and is wrong with a
probability of at most that. So this is a class of its own, and its verdicts have words of their own
(`resstream.falsify.statistical`): nothing certified is made of them. A mean that is exact is `expectation`.
"""

from __future__ import annotations

import inspect
import itertools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from resstream.arithmetic import FLOAT64, Array, BallEntry, Exact, NumberSystem, RationalEntry, as_entry, to_fmpq
from resstream.callables import make_callable
from resstream.claim import STATED, headline_of, require_title
from resstream.domains import Gaussian, Law, OnSphere, Signs, Sizes, Uniform, expectation
from resstream.domains.current import Objects, evaluating
from resstream.errors import ClaimError
from resstream.relations import HOLDS, VIOLATED, Relation

LEVEL = Fraction(1, 10**9)
"""How likely a test may refute a claim that is true, where nothing is said."""

DRAWS = 1_000
"""Independent draws of a test, where nothing is said: a number that is fixed before any of them is looked at."""

MOST_DRAWS = 1_000_000
"""That one test may have at each choice of sizes."""

PLACES = 8
"""Choices of sizes at which one claim may be tested."""

LARGEST_DRAW = 4_000_000
"""Numbers that one draw may take."""

Bound = int | Fraction | Exact
Laws = Law | Sequence[Law]


def level_text(level: Fraction) -> str:
    """A level as it is said.

    >>> level_text(LEVEL)
    '1e-9'
    """
    mantissa, exponent = f"{float(level):.2e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


# ---- what a claim states of one draw ----------------------------------------


@dataclass(frozen=True)
class Stated(ABC):
    """What is said of the mean of a number in [0, 1], and that number at draws: of one, or of a batch.

    >>> from resstream.claim import at_most
    >>> isinstance(probability(at_most(np.array([[1.0]]), 2), at_least=1), Stated)
    True
    """

    least: Fraction | None
    most: Fraction | None

    @abstractmethod
    def floats(self, count: int) -> Array:
        """The number of each of `count` draws in float64, (count,); NaN where there is none."""

    @abstractmethod
    def enclosed(self, system: NumberSystem) -> arb:
        """A ball that certainly holds the number at one draw: within [0, 1], all of it where nothing is known."""

    @abstractmethod
    def seen(self, floats: Array) -> str:
        """What draws show, by their numbers in float64."""

    def given(self, share: Fraction) -> Fraction:
        """A number of [0, 1] on the scale that the claim is stated on."""
        return share

    @property
    @abstractmethod
    def wording(self) -> str:
        """What the mean is called."""

    @property
    def said(self) -> str:
        """The statement: "P(lhs <= rhs) >= 1/2"."""
        ends = ((">=", self.least), ("<=", self.most))
        bounds = [f"{symbol} {self.given(end)}" for symbol, end in ends if end is not None]
        return f"{self.wording} {' and '.join(bounds)}"


def anything() -> arb:
    """The ball of all numbers in [0, 1]."""
    return arb("0.5", "0.5")


@dataclass(frozen=True)
class Probability(Stated):
    """That an event has a probability within bounds: the number is 1 where it happens and 0 elsewhere.

    >>> from resstream.claim import at_most
    >>> probability(at_most(np.array([[[1.0]], [[3.0]]]), 2), at_least=Fraction(1, 2)).floats(2)
    array([1., 0.])
    """

    event: Relation

    @property
    def wording(self) -> str:
        return f"P({self.event.wording})"

    def seen(self, floats: Array) -> str:
        return f"{np.count_nonzero(floats == 1):,} of {len(floats):,} draws meet it"

    def floats(self, count: int) -> Array:
        slack = self.event.margin(count).slack
        return np.where(np.isnan(slack), np.nan, slack > 0 if self.event.is_strict else slack >= 0)

    def enclosed(self, system: NumberSystem) -> arb:
        status = self.event.decide(system).status
        return arb(1) if status == HOLDS else arb(0) if status == VIOLATED else anything()


@dataclass(frozen=True)
class Average(Stated):
    """That the mean of a number between `low` and `high` is within bounds; the number is brought to [0, 1].

    >>> average(np.array([[[1.0]], [[3.0]]]), between=(1, 5), at_most=2).floats(2)
    array([0. , 0.5])
    """

    value: Array
    low: Fraction
    high: Fraction

    @property
    def wording(self) -> str:
        return "E(value)"

    def given(self, share: Fraction) -> Fraction:
        return self.low + share * (self.high - self.low)

    def seen(self, floats: Array) -> str:
        known = floats[np.isfinite(floats)]
        mean = f"{float(self.given(Fraction(float(np.mean(known))))):.4g}" if len(known) else "no number"
        return f"the mean of {len(floats):,} draws is {mean}"

    def floats(self, count: int) -> Array:
        values = np.broadcast_to(np.asarray(self.value, dtype=float).reshape(-1), (count,))
        return (values - float(self.low)) / float(self.high - self.low)

    def enclosed(self, system: NumberSystem) -> arb:
        del system  # the entries know it
        entry = as_entry(self.value.flat[0])
        if not isinstance(entry, (BallEntry, RationalEntry)):
            return anything()
        span = arb(to_fmpq(self.high - self.low))
        ball = (arb(entry.value) - arb(to_fmpq(self.low))) / span
        if ball < 0 or ball > 1:
            raise ClaimError(
                f"average: between: a draw has the value {entry}, expected one from {self.low} to {self.high}"
            )
        return ball.intersection(anything()) if ball.is_finite() else anything()


def probability(event: Relation, *, at_least: Bound | None = None, at_most: Bound | None = None) -> Probability:
    """That an event, a relation of random objects, has a probability of at least or at most a number (or both).

    ClaimError for what is no relation, for no bound, and for bounds outside of [0, 1].

    >>> from resstream.claim import at_most
    >>> probability(at_most(np.array([[1.0]]), 2), at_least=Fraction(9, 10)).said
    'P(lhs <= rhs) >= 9/10'
    """
    if not isinstance(event, Relation):
        raise ClaimError(f"probability: event: expected a relation such as at_most(..., ...), got {event!r:.40}")
    return Probability(*_bounds("probability", at_least, at_most, Fraction(0), Fraction(1)), event)


def average(
    value: Array,
    *,
    between: tuple[Bound, Bound],
    at_least: Bound | None = None,
    at_most: Bound | None = None,
) -> Average:
    """That a number (..., 1, 1), which never leaves an interval, has a mean of at least or at most a number (or both).

    between: the ends of the interval; a draw that certainly leaves it is an error. ClaimError for another shape, for no
    bound, and for bounds outside of the interval.

    >>> average(np.array([[1.0]]), between=(0, 4), at_most=3).said
    'E(value) <= 3'
    """
    low, high = (_number("average: between", end) for end in between)
    if not low < high:
        raise ClaimError(f"average: between: expected low < high, got {low} and {high}")
    if not isinstance(value, np.ndarray) or value.shape[-2:] != (1, 1):
        shape = value.shape if isinstance(value, np.ndarray) else type(value).__name__
        raise ClaimError(f"average: value: expected an array (..., 1, 1), got {shape}")
    least, most = _bounds("average", at_least, at_most, low, high)
    least, most = (None if end is None else (end - low) / (high - low) for end in (least, most))
    return Average(least, most, value, low, high)


def _bounds(
    name: str, least: Bound | None, most: Bound | None, low: Fraction, high: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    given = {"at_least": least, "at_most": most}
    found = {key: None if value is None else _number(f"{name}: {key}", value) for key, value in given.items()}
    if least is None and most is None:
        raise ClaimError(f"{name}: expected at_least= or at_most=, got neither")
    for key, end in found.items():
        if end is not None and not low <= end <= high:
            raise ClaimError(f"{name}: {key}: expected a number from {low} to {high}, got {end}")
    return found["at_least"], found["at_most"]


def _number(name: str, value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, Fraction, Exact)):
        mend = f": write exact({str(value)!r})" if isinstance(value, float) else ""
        raise ClaimError(f"{name}: expected a whole number or a fraction, got {value!r:.40}{mend}")
    return Fraction(value.value if isinstance(value, Exact) else value)


# ---- claims -----------------------------------------------------------------

Draws = Mapping[str, Sequence[Array]]
"""Raw numbers of some draws by variable, an array (count, n, d) for each of its laws."""


@dataclass(frozen=True, repr=False)
class StatisticalClaim:
    """A bound on a probability or a mean over independent random objects, tested by draws at a level.

    over: a law for each variable, or a list of laws for a list of independent objects. sizes: the numbers at which each
    size is tested; the level is shared by all choices. `expect` is "holds" (not to be refuted) or "fails".

    >>> from resstream.claims import statistical as of_the_library
    >>> [str(law) for law in of_the_library()["paths.short_paths"].laws("u")]
    ['Uniform(1, 110)']
    """

    id: str
    over: Mapping[str, Laws]
    conclusion: Callable[..., Stated]
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    source: str = ""
    expect: str = "holds"
    statement: str = ""
    draws: int = DRAWS
    level: Fraction = LEVEL
    origin: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_title(self.id, self.expect)
        require_draws(f"claim {self.id}: draws", self.draws)
        level = _number(f"claim {self.id}: level", self.level)
        if not 0 < level <= Fraction(1, 20):
            raise ClaimError(f"claim {self.id}: level is {level}, expected a number above 0 and at most 1/20")
        object.__setattr__(self, "level", level)
        for name, laws in self.over.items():
            several = isinstance(laws, (list, tuple)) and laws and all(isinstance(law, Law) for law in laws)
            if not isinstance(laws, Law) and not several:
                raise ClaimError(
                    f"claim {self.id}: over[{name!r}]: expected a law such as Gaussian(1, 'd') or a list of laws, got "
                    f"{laws!r:.60}"
                )
        for name in inspect.signature(self.conclusion).parameters:
            if name not in self.over:
                raise ClaimError(f"claim {self.id}: argument {name!r} has no law, expected one of {list(self.over)}")
        self._check_sizes()

    def _check_sizes(self) -> None:
        needed = set().union(*(law.size_names() for name in self.over for law in self.laws(name)))
        given = {name: (value,) if isinstance(value, int) else tuple(value) for name, value in self.sizes.items()}
        object.__setattr__(self, "sizes", given)
        if needed != set(given):
            raise ClaimError(f"claim {self.id}: sizes are {sorted(given)}, expected those of its laws {sorted(needed)}")
        for name, values in given.items():
            if not values or any(type(value) is not int or value < 1 for value in values):
                raise ClaimError(f"claim {self.id}: size {name}: expected whole numbers above 0, got {values!r:.40}")
        if len(list(self.places())) > PLACES:
            raise ClaimError(f"claim {self.id}: expected at most {PLACES} choices of sizes")
        largest = max(map(self.entries, self.places()))
        if largest > LARGEST_DRAW:
            raise ClaimError(f"claim {self.id}: a draw takes {largest:,} numbers, expected at most {LARGEST_DRAW:,}")

    def __repr__(self) -> str:
        return f"<statistical claim {self.id}, expected: {self.expect}: {self.headline}>"

    @property
    def __name__(self) -> str:
        return str(getattr(self.conclusion, "__name__", self.id))

    @property
    def headline(self) -> str:
        """The first paragraph of the statement, on one line."""
        return headline_of(self.statement)

    def code(self) -> list[str]:
        """The source text of the conclusion."""
        return [inspect.cleandoc(inspect.getsource(self.conclusion))]

    def laws(self, name: str) -> tuple[Law, ...]:
        """The laws of a variable: one, or those of its list."""
        given = self.over[name]
        return (given,) if isinstance(given, Law) else tuple(given)

    def places(self) -> Iterator[dict[str, int]]:
        """The choices of sizes at which the claim is tested."""
        for values in itertools.product(*self.sizes.values()):
            yield dict(zip(self.sizes, values, strict=True))

    def entries(self, sizes: Sizes) -> int:
        """How many numbers a draw takes."""
        return sum(int(np.prod(law.shape(sizes))) for name in self.over for law in self.laws(name))

    def seed_words(self) -> list[int]:
        """Words that make the claim's random streams its own."""
        return [zlib.crc32(self.id.encode())]

    def draw(self, rng: np.random.Generator, count: int, sizes: Sizes) -> Draws:
        """The raw numbers of independent draws."""
        return {name: [law.draw(rng, count, sizes) for law in self.laws(name)] for name in self.over}

    def at(self, drawn: Draws, sizes: Sizes, index: int | None, system: NumberSystem = FLOAT64) -> Stated:
        """What is stated of a batch of draws (index None), or of one of them, in a number system."""
        objects: dict[str, Any] = {}
        for name, raws in drawn.items():
            chosen = [system.array(raw if index is None else raw[index]) for raw in raws]
            built = [law.build(raw) for law, raw in zip(self.laws(name), chosen, strict=True)]
            objects[name] = built[0] if isinstance(self.over[name], Law) else built
        wanted = inspect.signature(self.conclusion).parameters
        with evaluating(Objects(objects, sizes)):
            stated = self.conclusion(**{name: objects[name] for name in wanted})
        if not isinstance(stated, Stated):
            raise ClaimError(
                f"claim {self.id}: {self.__name__} returned {type(stated).__name__}, expected probability(...) or "
                "average(...)"
            )
        return stated


def require_draws(name: str, draws: Any) -> int:
    """The number of draws of a test, or ClaimError for what is none.

    >>> require_draws("draws", 400)
    400
    """
    if type(draws) is not int or not 1 <= draws <= MOST_DRAWS:
        raise ClaimError(f"{name}: expected a whole number from 1 to {MOST_DRAWS:,}, got {draws!r:.40}")
    return draws


def statistical(
    id: str,  # noqa: A002 - the field's name
    *,
    over: Mapping[str, Laws],
    sizes: Mapping[str, int | Sequence[int]] | None = None,
    source: str = "",
    expect: str = "holds",
    draws: int = DRAWS,
    level: Bound = LEVEL,
) -> Callable[[Callable[..., Stated]], StatisticalClaim]:
    """Decorator that makes a `StatisticalClaim` of a function of random objects that returns `probability(...)` or
    `average(...)`; its docstring is the statement.

    over: a law, or a list of laws, for each variable. sizes: a number for each size, or some to be tested at, together
    at the level. draws: independent draws at each choice of sizes, fixed beforehand. level: how likely the test may
    refute what is true. Raises ClaimError for what is none of these.

    >>> from resstream.claim import at_most
    >>> from resstream.arithmetic import square, total
    >>> from resstream.falsify import falsify
    >>> @statistical("mine.shell", over={"x": Gaussian(1, "d")}, sizes={"d": 100})
    ... def shell(x):
    ...     \"\"\"Nine normal vectors of ten have |x|^2 <= d.\"\"\"
    ...     return probability(at_most(total(square(x)), 100), at_least=Exact(Fraction(9, 10)))
    >>> falsify(shell).verdict
    'refuted at level 1e-9'
    """

    def decorate(function: Callable[..., Stated]) -> StatisticalClaim:
        stated = StatisticalClaim(
            id=id,
            over=dict(over),
            conclusion=function,
            sizes=dict(sizes or {}),  # type: ignore[arg-type]
            source=source,
            expect=expect,
            draws=draws,
            level=_number(f"claim {id}: level", level),
            statement=inspect.cleandoc(function.__doc__ or ""),
        )
        getattr(function, "__globals__", {}).setdefault(STATED, []).append(stated)
        return stated

    return decorate


make_callable(__name__)


__all__ = [
    "DRAWS",
    "LEVEL",
    "Average",
    "Gaussian",
    "Law",
    "OnSphere",
    "Probability",
    "Signs",
    "Stated",
    "StatisticalClaim",
    "Uniform",
    "average",
    "expectation",
    "level_text",
    "probability",
    "require_draws",
    "statistical",
]
