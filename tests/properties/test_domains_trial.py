"""A domain on trial: at which sizes and of which raw numbers it is tried, and what is said where it is not its set."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, BallEntry, RationalEntry, exact, exp
from resstream.domains import Domain, Matrix, Part, Stack
from resstream.domains.base import Size
from resstream.domains.trial import foreign, require_its_set
from resstream.errors import ArithmeticLimit, DomainError, Undecided

NUMBERS = itertools.count()


@dataclass(frozen=True, eq=False)
class Own(Domain):
    """Whatever a test makes of raw numbers, and what it says of it; it keeps what it was asked."""

    n: Size = 1
    d: Size = 2
    made: Any = field(default=lambda raw: raw)
    held: Any = field(default=lambda value: True)  # noqa: ARG005
    choices: Any = ()
    seen: Any = field(default_factory=list)
    number: Any = field(default_factory=NUMBERS.__next__)

    def __str__(self):  # no two are taken for one
        return f"Own({self.number})"

    def options(self):
        return dict(self.choices)

    def parts(self, sizes, options):
        self.seen.append(("parts", dict(sizes), dict(options)))
        return {"": Part((sizes.get(self.n, self.n), sizes.get(self.d, self.d)))}

    def build(self, raw, options, sizes):  # noqa: ARG002
        self.seen.append(("build", raw[""]))
        return self.made(raw[""])

    def contains(self, value, sizes):  # noqa: ARG002
        return self.held(value)

    def of(self, what):
        return [rest for kind, *rest in self.seen if kind == what]


def tried(domain, **ranges):
    require_its_set(domain, ranges)
    return domain


def test_domains_that_are_not_ours_are_found_inside_others():
    own = Own()
    assert list(foreign(Matrix(1, 1))) == []
    assert list(foreign(own)) == [own]
    assert [str(found) for found in foreign(Stack(2, own))] == [str(own)]


def test_a_domain_is_tried_once_at_its_smallest_a_middle_and_its_largest_sizes():
    domain = tried(Own("n", "d"), n=range(2, 7), d=range(5, 7))
    sizes = [tuple(found.items()) for found, _ in domain.of("parts")]
    assert list(dict.fromkeys(sizes)) == [tuple({"d": d, "n": n}.items()) for n, d in ((2, 5), (3, 6), (6, 6))]
    alone = tried(Own("n"), n=range(4, 5))
    assert {tuple(found.items()) for found, _ in alone.of("parts")} == {(("n", 4),)}
    before = len(domain.seen)
    tried(domain, n=range(2, 7), d=range(5, 7))
    assert len(domain.seen) == before
    tried(domain, n=range(2, 7), d=range(5, 8))  # and again at what is new
    assert {tuple(found.items()) for found, _ in domain.of("parts")[len(sizes) :]} == {(("d", 7), ("n", 6))}


def test_zeros_small_whole_numbers_and_drawn_ones_are_tried_and_a_batch():
    domain = tried(Own())
    raws = [raw for (raw,) in domain.of("build")]
    assert [raw.shape for raw in raws] == [(1, 2)] * 13 + [(3, 1, 2)] + [(1, 2)] * 3
    assert all(type(entry) is RationalEntry for raw in raws for entry in raw.flat)
    assert (raws[0] == 0).all()
    small = np.concatenate(raws[1:7])
    assert {str(entry) for entry in small.flat} <= {"-2", "-1", "0", "1", "2"}
    wide = tried(Own(d=40)).of("build")[1:7]
    assert {str(entry) for (raw,) in wide for entry in raw.flat} == {"-2", "-1", "0", "1", "2"}
    drawn = [str(entry) for raw in raws[7:13] for entry in raw.flat]
    assert len(set(drawn)) > 6
    assert any("/" in entry for entry in drawn)
    for index, single in enumerate(raws[14:]):
        assert (raws[13][index] == single).all()


def test_up_to_eight_choices_are_tried():
    choices = (("a", ("1", "2", "3")), ("b", ("1", "2", "3", "4")))
    domain = tried(Own(choices=choices))
    found = list(dict.fromkeys(tuple(options.items()) for _, options in domain.of("parts")))
    assert found == [(("a", a), ("b", b)) for a in "12" for b in "1234"]


def test_what_is_built_outside_of_the_set_is_shown():
    with pytest.raises(
        DomainError, match=r"domain Own\(.*\) at n = 2 is not its set: raw = \[\[0.0, 0.0\], .*builds \["
    ):
        tried(Own("n", held=lambda value: False), n=range(2, 3))  # noqa: ARG005
    with pytest.raises(DomainError, match=r"domain Own\(.*\) is not its set: raw = .* builds text, which it does not"):
        tried(Own(d=3, made=lambda raw: "text", held=lambda value: value != "text"))  # noqa: ARG005


def raises(failure):
    def function(_):
        raise failure

    return function


def test_what_a_domain_raises_is_told_with_the_place():
    with pytest.raises(DomainError, match=r"domain Own\(.*\): ZeroDivisionError: by zero"):
        tried(Own(made=raises(ZeroDivisionError("by zero"))))
    with pytest.raises(DomainError, match=r"^as it is$"):
        tried(Own(made=raises(DomainError("as it is"))))
    with pytest.raises(KeyboardInterrupt):
        tried(Own(made=raises(KeyboardInterrupt())))


def test_what_rationals_cannot_say_is_asked_of_enclosures():
    def irrational(raw):
        return exp(raw + exact(1, 3))

    domain = tried(Own(made=irrational, held=lambda value: type(value.flat[0]) is BallEntry))
    kinds = [type(raw.flat[0]) for (raw,) in domain.of("build")]
    assert kinds[:2] == [RationalEntry, BallEntry]
    with pytest.raises(DomainError, match=r"is not its set: raw = \[\[0\.0, 0\.0\]\] builds"):
        tried(Own(made=irrational, held=lambda value: False))  # noqa: ARG005
    tried(Own(made=raises(ArithmeticLimit("too large"))))
    tried(Own(held=raises(NotImplementedError())))


def test_a_batch_is_its_instances_in_shape_and_entries():
    tried(Own(made=lambda raw: (raw, raw)))  # what is no array is not looked at
    tried(Own(made=lambda raw: RATIONAL.array([[1, 2]])))  # noqa: ARG005 - a constant stands for every instance
    for made, message in (
        (lambda raw: raw[..., 0, :], r"builds an array of shape \(2,\), expected two axes: a row is \(1, d\)"),
        (lambda raw: raw if raw.ndim == 2 else raw[..., :1], "builds of a batch something else than of its instances"),
        (lambda raw: raw if raw.ndim == 2 else raw + 1, "builds of a batch something else than of its instances"),
        (lambda raw: exp(raw) if raw.ndim == 2 else exp(raw) + 1, "builds of a batch something else than of its"),
    ):
        with pytest.raises(DomainError, match=message):
            tried(Own(made=made))


def test_enclosures_that_overlap_are_no_difference():
    def wide(raw):
        return exp(raw) - exp(raw)

    compared = []

    def undecided(value):
        try:
            compared.append(bool(value.flat[0] != 0))
        except Undecided:
            compared.append(None)
        return True

    tried(Own(made=wide, held=undecided))
    assert None in compared

    def later(raw):  # the first entry is not made out, the second differs
        found = wide(raw)
        return found if raw.ndim == 2 else np.concatenate([found[..., :1], found[..., 1:] + 1], axis=-1)

    with pytest.raises(DomainError, match="builds of a batch something else"):
        tried(Own(made=later, held=undecided))
