"""Relations between sizes, sizes by their sum, and the ranges that are left where some domain is empty."""

import itertools
from dataclasses import dataclass
from typing import Any

import pytest

from resstream.domains import Domain
from resstream.domains.base import Size
from resstream.domains.sizes import TRIED, Where, choices, inhabited
from resstream.errors import DomainError

SIZES = {"n": 7, "d": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n + d == 10", True), ("n - d == 4", True), ("n * d == 21", True), ("n // d == 2", True), ("n % d == 1", True),
        ("n <= 7", True), ("n <= 6", False), ("n < 7", False), ("n < 8", True), ("n >= 7", True), ("n >= 8", False),
        ("n > 7", False), ("n > 6", True), ("n == 7", True), ("n == d", False), ("n != 7", False), ("n != d", True),
        ("-d == 0 - 3", True), ("-d == 3", False), ("not n == d", True), ("not n == 7", False),
        ("1 < d < n", True), ("1 < d < 2", False), ("5 < d < n", False), ("d < n > 2 != 3", True),
        ("n == 7 and d == 3", True), ("n == 7 and d == 4", False), ("n == 8 or d == 3", True),
        ("n == 8 or d == 4", False), (" 2 * d + 1 == n ", True), ("n // (d - 3) == 0", False),
        ("n % (d - 3) >= 0", False),
    ],
)  # fmt: skip
def test_a_relation_holds_or_does_not(text, value):
    assert Where(text).holds(SIZES) is value


def test_a_relation_speaks_of_its_names_alone():
    assert Where("n >= d + 1 and k == k").names == {"n", "d", "k"}
    assert Where("1 < 2").names == set()
    for wrong in (
        ("n +", "expected a relation of sizes"),
        (3, "expected a relation of sizes"),
        ("n + d", "expected a comparison of sizes"),
        ("n", "expected a comparison of sizes"),
        ("n > 1.5", r"'1\.5' is no part of a relation"),
        ("n == True", "'True' is no part of a relation"),
        ("f(n) > 1", r"'f\(n\)' is no part of a relation"),
        ("n / d > 1", "is no part of a relation"),
        ("n ** 2 > 1", "is no part of a relation"),
        ("n in d", "is no part of a relation"),
    ):
        with pytest.raises(DomainError, match=wrong[1]):
            Where(wrong[0])


@pytest.mark.parametrize(
    "ranges",
    [
        {"n": range(1, 4), "d": range(2, 5)},
        {"n": range(3, 0, -1), "d": range(0, 9, 4), "k": range(2, 3)},
        {"n": range(5, 6)},
        {},
    ],
)
def test_choices_are_all_of_them_by_their_sum_and_then_in_order(ranges):
    found = list(choices(ranges, None))
    every = [dict(zip(ranges, values, strict=True)) for values in itertools.product(*map(sorted, ranges.values()))]
    assert found == sorted(every, key=lambda sizes: sum(sizes.values()))
    assert all(list(sizes) == list(ranges) for sizes in found)
    if "d" in ranges:
        some = [sizes for sizes in found if sizes["d"] > sizes["n"]]
        assert list(choices(ranges, Where("d > n"))) == some
        assert some


@dataclass(frozen=True)
class Somewhere(Domain):
    """Has members where a function of its sizes says so; it keeps at which it was asked."""

    n: Size = "n"
    d: Size | None = None
    full: Any = None
    asked: Any = None

    def parts(self, sizes, options):  # noqa: ARG002
        return {}

    def build(self, raw, options, sizes):  # noqa: ARG002
        return None

    def why_empty(self, sizes):
        if self.asked is not None:
            self.asked.append(dict(sizes))
        return "" if self.full(**sizes) else "nothing fits"

    def __str__(self):
        return "Somewhere"


def left(full, where=None, d=None, **ranges):
    return inhabited({"x": Somewhere("n", d, full)}, ranges, where)


def test_sizes_without_members_are_left_out_and_said():
    note = "n = {} is left out: Somewhere has no members there (nothing fits)"
    assert left(lambda n: True, n=range(1, 5), q=range(3)) == ({"n": range(1, 5), "q": range(3)}, ())  # noqa: ARG005
    assert left(lambda n: n > 2, n=range(1, 5)) == ({"n": range(3, 5)}, (note.format(1), note.format(2)))
    assert left(lambda n: n % 2 == 0, n=range(1, 8))[0] == {"n": range(2, 7, 2)}
    assert left(lambda n: n == 3, n=range(1, 5))[0] == {"n": range(3, 4)}
    assert left(lambda n: n in (2, 4), n=range(1, 5))[0] == {"n": range(2, 5, 2)}
    assert left(lambda n: n < 4, n=range(5, 0, -1))[0] == {"n": range(3, 0, -1)}
    twice = {"x": Somewhere(full=lambda n: n > 1), "y": Somewhere(full=lambda n: n > 1)}
    assert inhabited(twice, {"n": range(1, 4)}) == ({"n": range(2, 4)}, (note.format(1),))
    with pytest.raises(DomainError, match=r"Somewhere has no members at any of its sizes \(nothing fits\)"):
        left(lambda n: False, n=range(1, 5))  # noqa: ARG005
    with pytest.raises(DomainError, match=r"size n: what is left of its range, \[1, 2, 4\], is no range: expected"):
        left(lambda n: n != 3, n=range(1, 5))


def of_two(full, where=None):
    return inhabited({"x": Somewhere("n", "d", full)}, {"n": range(1, 4), "d": range(1, 4)}, where)


def test_two_sizes_together_that_leave_a_domain_empty_are_refused_unless_a_relation_says_so():
    assert of_two(lambda n, d: d > 1)[0] == {"n": range(1, 4), "d": range(2, 4)}  # noqa: ARG005
    with pytest.raises(
        DomainError, match=r"no members at d = 1, n = 3 \(nothing fits\): expected ranges of sizes with"
    ):
        of_two(lambda n, d: (n, d) != (3, 1))
    with pytest.raises(DomainError, match="no members at d = 1, n = 2"):
        of_two(lambda n, d: d >= n)
    assert of_two(lambda n, d: d >= n, Where("d >= n")) == ({"n": range(1, 4), "d": range(1, 4)}, ())
    with pytest.raises(DomainError, match="no members at d = 1, n = 2"):
        of_two(lambda n, d: d >= n, Where("d >= n and k > 1"))  # which speaks of another domain's size as well
    # What the relation rules out altogether is no reason to leave a size out.
    assert of_two(lambda n, d: d >= n and n < 3, Where("d >= n and n < 3"))[0]["n"] == range(1, 4)


def test_of_a_long_range_both_ends_are_looked_at():
    for most, looked_at in (
        (20, range(1, 21)),
        (2 * TRIED, range(1, 25)),
        (25, [*range(1, 13), *range(14, 26)]),
        (101, [*range(1, 13), *range(90, 102)]),
    ):
        asked = []
        inhabited({"x": Somewhere(full=lambda n: True, asked=asked)}, {"n": range(1, most + 1)})  # noqa: ARG005
        assert [sizes["n"] for sizes in asked] == list(looked_at)
