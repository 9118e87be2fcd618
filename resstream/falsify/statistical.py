"""The test of a statistical claim, and its verdicts: refuted at a level, or not; neither is certified.

A test has a number of draws that is fixed before the first, so there is nothing to stop at when it suits. All of them
are evaluated in float64. Where that looks like a refutation, draws are read in balls, twice from the raw numbers, and
only what is certain counts: a draw that is not decided, or not read, counts for the claim. Bounds are enclosed. So a
claim that is true, of independent draws of the stated laws, is refuted with at most the probability stated.
Streams of random numbers come from the seed, the claim, the place among its sizes and the number of a block.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from resstream.arithmetic import FLOAT64, Array, Ball
from resstream.errors import ArithmeticLimit, ClaimError, DomainError, NotDeterministic
from resstream.falsify.tails import binomial, hoeffding, is_below
from resstream.falsify.verdict import ERROR, GAVE_UP, NOT_REFUTED_AT, REFUTED_AT, TIME_IS_UP, does_as_expected
from resstream.statistical import Draws, Probability, Stated, StatisticalClaim, anything, level_text, require_draws

REFUTED, NOT_REFUTED = REFUTED_AT, NOT_REFUTED_AT
STATUSES = (REFUTED, NOT_REFUTED, GAVE_UP, ERROR)
"""The verdicts on a statistical claim; the first two are said with the level."""

READINGS = ((128, 256), (512, 1024))
"""Bits of the two balls that must agree; the second pair where the first does not decide."""

BLOCK = 2**19
"""Numbers in a block of draws."""

GRID = 1_000
"""Confidence limits are among the multiples of 1/1000."""


# ---- what is reported -------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One bound, tested: its symbol and number, and what the draws certainly say of it.

    probability is a bound, rounded up, on how likely draws of a true claim go as far against it as certain ones did.
    """

    symbol: str
    bound: Fraction
    refuted: bool
    probability: float


@dataclass(frozen=True)
class Place:
    """What was seen at one choice of sizes.

    seen says what the draws show in float64, and mean is theirs, without those that have no value. read counts those
    that were read in balls, undecided those of them of which nothing is certain. limits: an interval in which the mean
    lies unless something as unlikely as the level has happened; only where it was asked for.
    """

    sizes: Mapping[str, int]
    said: str
    draws: int
    seen: str
    mean: float | None
    read: int
    undecided: int
    sides: tuple[Side, ...]
    limits: tuple[float, float] | None = None
    broken_off: bool = False

    @property
    def refuted(self) -> bool:
        """Whether one of the bounds is."""
        return any(side.refuted for side in self.sides)

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        lines = [f"{f'at {where}: ' if where else ''}claimed {self.said}; {self.seen} in float64"]
        lines += [
            f"  {side.symbol} {side.bound} is refuted: draws that go as far against it, certainly, have a probability "
            f"of at most {side.probability:.2g} where it is true"
            for side in self.sides
            if side.refuted
        ]
        if self.read:
            lines.append(f"  {self.read:,} draws were read in balls, {self.undecided:,} of them undecided")
        if self.limits:
            lines.append(f"  it lies between {self.limits[0]:.3f} and {self.limits[1]:.3f}, at the same level")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class StatisticalVerdict:
    """What a test found out about a statistical claim: nothing of it is certified.

    status: "refuted at level", "not refuted at level", "gave up" (it was broken off, and nothing was refuted) or
    "error" (the claim raised).
    """

    claim: StatisticalClaim
    status: str
    seed: int
    places: tuple[Place, ...] = ()
    seconds: float = 0.0
    error: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return does_as_expected(self.claim.expect, self.status)

    @property
    def verdict(self) -> str:
        """The status with the level of the test: "refuted at level 1e-9"."""
        return f"{self.status} {level_text(self.claim.level)}" if self.status in (REFUTED, NOT_REFUTED) else self.status

    @property
    def draws(self) -> int:
        """Draws in all."""
        return sum(place.draws for place in self.places)

    @property
    def undecided(self) -> int:
        """Draws that were read in balls without an answer."""
        return sum(place.undecided for place in self.places)

    def __str__(self) -> str:
        if self.status == ERROR:
            return f"{self.claim.id}: the test raised {self.error}"
        end = f"{self.draws:,} draws; {self.seconds:.2f} s, seed {self.seed}"
        lines = [f"{self.claim.id} {'is ' * (self.status == REFUTED)}{self.verdict} (statistical, not certified)"]
        return "\n".join([*lines, *map(str, self.places), end, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "status": self.status,
            "level": float(self.claim.level),
            "certified": False,
            "claim": self.claim.id,
            "seed": self.seed,
            "seconds": round(self.seconds, 4),
            "places": [
                {
                    "sizes": dict(place.sizes),
                    "claimed": place.said,
                    "draws": place.draws,
                    "mean": place.mean,
                    "read": place.read,
                    "undecided": place.undecided,
                    "limits": place.limits,
                    "bounds": [
                        {
                            "relation": side.symbol,
                            "bound": float(side.bound),
                            "refuted": side.refuted,
                            "probability": side.probability,
                        }
                        for side in place.sides
                    ],
                }
                for place in self.places
            ],
            "error": self.error or None,
            "notes": list(self.notes),
        }


# ---- the test ---------------------------------------------------------------


def by_draws(
    claim: StatisticalClaim,
    draws: int | None = None,
    seed: int = 0,
    *,
    seconds: float | None = None,
    limits: bool = False,
) -> StatisticalVerdict:
    """Test a statistical claim with a number of draws at each choice of its sizes, its own where nothing is said.

    The verdict depends on the claim, the draws and the seed alone. seconds: a limit in time, at which a test that has
    refuted nothing gives up. limits: read every draw in balls, as far as the time goes, for confidence limits too.
    Raises ClaimError for a badly stated claim, and where so few draws could refute nothing.

    >>> from resstream.claims import statistical
    >>> by_draws(statistical()["paths.most_paths_are_short"]).verdict
    'refuted at level 1e-9'
    """
    start = time.monotonic()
    until = None if seconds is None else start + seconds
    count = claim.draws if draws is None else require_draws("draws", draws)
    chosen = list(claim.places())
    found: list[Place] = []
    status, error = NOT_REFUTED, ""
    try:
        for number, sizes in enumerate(chosen):
            level = claim.level / len(chosen)
            found.append(_Test(claim, sizes, [seed, *claim.seed_words(), number], count, level, until).place(limits))
    except NotDeterministic as failure:
        status, error = ERROR, str(failure)
    except ClaimError:
        raise
    except Exception as failure:  # whatever the claim's own function raises is a finding
        status, error = ERROR, f"{type(failure).__name__}: {failure}"
    if status != ERROR:
        broken = any(place.broken_off for place in found)
        status = REFUTED if any(place.refuted for place in found) else GAVE_UP if broken else NOT_REFUTED
    notes = (TIME_IS_UP,) if any(place.broken_off for place in found) else ()
    return StatisticalVerdict(claim, status, seed, tuple(found), time.monotonic() - start, error, notes)


class _OutOfTime(Exception):
    """The time limit was reached."""


@dataclass
class _Test:
    """The test at one choice of sizes."""

    claim: StatisticalClaim
    sizes: dict[str, int]
    words: list[int]
    count: int
    level: Fraction
    until: float | None

    def blocks(self) -> Iterator[tuple[int, int, Draws]]:
        """The draws, block by block: the first number, how many, and the raw numbers; the same each time."""
        length = max(1, min(1024, BLOCK // max(1, self.claim.entries(self.sizes))))
        for block, start in enumerate(range(0, self.count, length)):
            if self.until is not None and time.monotonic() > self.until:
                raise _OutOfTime
            rng = np.random.default_rng([*self.words, block])
            # A whole block is drawn, so that more draws of a test begin with those of fewer.
            drawn = self.claim.draw(rng, length, self.sizes)
            yield start, min(length, self.count - start), drawn

    @cached_property
    def stated(self) -> Stated:
        """What is stated, of the first draw: its bounds."""
        _, _, drawn = next(self.blocks())
        with FLOAT64.working():
            return self.claim.at(drawn, self.sizes, 0)

    def place(self, limits: bool) -> Place:
        """Test the bounds that are stated."""
        sides = [(s, share) for s, share in ((">=", self.stated.least), ("<=", self.stated.most)) if share is not None]
        level = self.level / len(sides)
        for symbol, share in sides:
            self._require_power(symbol, share, level)
        floats = np.full(self.count, np.nan)
        certain: dict[int, arb] = {}
        broken = False
        try:
            for start, count, drawn in self.blocks():
                floats[start : start + count] = self._floats(drawn, count)
            for index in np.flatnonzero((floats < -1e-6) | (floats > 1 + 1e-6))[:1]:  # a value out of its interval
                self._read([int(index)], certain)
            for symbol, share in sides:
                if is_below(self._bound(symbol, share, _rough(symbol, floats)), level):
                    self._certify(symbol, share, level, floats, certain)
            if limits:
                self._read(range(self.count), certain)
        except _OutOfTime:
            broken = True
        tested = tuple(self._side(symbol, share, level, certain) for symbol, share in sides)
        known = floats[np.isfinite(floats)]
        mean = float(self.stated.given(Fraction(float(np.mean(known))))) if len(known) else None
        undecided = sum(not ball.rad() < 1e-3 for ball in certain.values())
        ends = self._limits(certain) if limits else None
        return Place(
            dict(self.sizes),
            self.stated.said,
            self.count,
            self.stated.seen(floats),
            mean,
            len(certain),
            undecided,
            tested,
            ends,
            broken,
        )

    def _require_power(self, symbol: str, share: Fraction, level: Fraction) -> None:
        """Refuse a test that draws which all go against the claim would not refute."""
        if not is_below(self._bound(symbol, share, arb(0 if symbol == ">=" else self.count)), level):
            raise ClaimError(
                f"claim {self.claim.id}: {self.count:,} draws cannot refute {self.stated.said} at level "
                f"{level_text(self.claim.level)}: expected more draws, or another bound"
            )

    # -- floats

    def _floats(self, drawn: Draws, count: int) -> Array:
        """The number of each draw in float64: of the batch, or one by one where the claim cannot take a batch."""
        some = {name: [raw[:count] for raw in raws] for name, raws in drawn.items()}
        with FLOAT64.working():
            try:
                batch = self.claim.at(some, self.sizes, None).floats(count)
                if _same(batch[0], self._float(drawn, 0)) and _same(batch[-1], self._float(drawn, count - 1)):
                    return batch
            except Exception:  # whatever a function written for one draw does to a batch
                pass
            return np.array([self._float(drawn, index) for index in range(count)])

    def _float(self, drawn: Draws, index: int) -> float:
        try:
            return float(self.claim.at(drawn, self.sizes, index).floats(1)[0])
        except (DomainError, ArithmeticLimit, ArithmeticError):
            return float("nan")

    # -- balls

    def _read(self, wanted: Any, certain: dict[int, arb]) -> None:
        """Read draws in balls: what is certain of each."""
        left = sorted(set(wanted) - set(certain))
        for start, count, drawn in self.blocks() if left else ():
            for index in (index for index in left if start <= index < start + count):
                if self.until is not None and time.monotonic() > self.until:
                    raise _OutOfTime
                certain[index] = self._certain(drawn, index - start)

    def _certain(self, drawn: Draws, index: int) -> arb:
        for pair in READINGS:
            first, second = (self._reading(drawn, index, bits) for bits in pair)
            if not first.overlaps(second):
                raise NotDeterministic(
                    f"claim {self.claim.id} is not deterministic: one draw was read as {first.str(6)}, and then as "
                    f"{second.str(6)}"
                )
            if second.rad() < 1e-3:
                return second
        return second

    def _reading(self, drawn: Draws, index: int, bits: int) -> arb:
        system = Ball(bits)
        with system.working():
            try:
                return self.claim.at(drawn, self.sizes, index, system).enclosed(system)
            except (ArithmeticLimit, DomainError):
                return anything()

    def _certify(self, symbol: str, share: Fraction, level: Fraction, floats: Array, certain: dict[int, arb]) -> None:
        """Read as many of the draws that look as if they went against a bound as it takes to refute it."""
        against = ~(floats >= 1) if symbol == ">=" else ~(floats <= 0)
        suspects = [int(index) for index in np.flatnonzero(against)]
        step = max(16, len(suspects) // 16)
        for end in range(step, len(suspects) + step, step):
            self._read(suspects[:end], certain)
            if is_below(self._bound(symbol, share, self._sum(symbol, certain)), level):
                return

    # -- bounds

    def _sum(self, symbol: str, certain: Mapping[int, arb]) -> arb:
        """The sum of all draws as far as it is certain: those that were not read count for the claim."""
        total = arb(0 if symbol == "<=" else self.count - len(certain))
        for ball in certain.values():
            total += ball.upper() if symbol == ">=" else ball.lower()
        return total

    def _bound(self, symbol: str, share: Fraction, total: arb) -> arb:
        """How likely a true claim has a sum so far against it, at most."""
        if symbol == "<=":  # the same, of what is missing to 1
            total, share = self.count - total, 1 - share
        if isinstance(self.stated, Probability):
            return binomial(self.count, int(total.upper().floor().unique_fmpz()), share)
        return hoeffding(self.count, total / self.count, share)

    def _side(self, symbol: str, share: Fraction, level: Fraction, certain: Mapping[int, arb]) -> Side:
        bound = self._bound(symbol, share, self._sum(symbol, certain))
        return Side(
            symbol, self.stated.given(share), is_below(bound, level), min(1.0, float(bound.upper()) * (1 + 1e-12))
        )

    def _limits(self, certain: Mapping[int, arb]) -> tuple[float, float]:
        """The multiples of 1/1000 nearest to the mean, below and above, beyond which every bound is refuted."""

        def refuted(symbol: str, k: int) -> bool:
            return is_below(self._bound(symbol, Fraction(k, GRID), self._sum(symbol, certain)), self.level / 2)

        low, high = 0, GRID  # mean <= low/GRID is refuted for low above 0, mean >= high/GRID for high below GRID
        for step in _halvings():
            if low + step < GRID and refuted("<=", low + step):
                low += step
            if high - step > 0 and refuted(">=", high - step):
                high -= step
        return float(self.stated.given(Fraction(low, GRID))), float(self.stated.given(Fraction(high, GRID)))


def _halvings() -> Iterator[int]:
    step = 1 << (GRID.bit_length() - 1)
    while step:
        yield step
        step >>= 1


def _rough(symbol: str, floats: Array) -> arb:
    """The sum of all draws in float64, those without a value counted against the claim: they are looked at."""
    return arb(float(np.sum(np.clip(np.nan_to_num(floats, nan=0.0 if symbol == ">=" else 1.0), 0, 1))))


def _same(one: float, other: float) -> bool:
    """Whether two floats may be of one number; no verdict rests on it, as what counts is read in balls."""
    return bool(one == other or (np.isnan(one) and np.isnan(other)) or abs(one - other) < 1e-6)


__all__ = ["ERROR", "NOT_REFUTED", "REFUTED", "STATUSES", "Place", "Side", "StatisticalVerdict", "by_draws"]
