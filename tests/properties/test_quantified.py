"""There is, and for all in a finite set: certain where everything was gone through, or where a witness is found."""

import dataclasses
import itertools
import random

import numpy as np
import pytest

from resstream.arithmetic import (
    RATIONAL,
    NoValue,
    absolute,
    amax,
    amin,
    descending,
    exact,
    largest_entry,
    log,
    sqrt,
    total,
)
from resstream.claim import at_least, at_most, claim, equal, exists, for_all, negation
from resstream.domains import (
    Domain,
    Given,
    Matrix,
    NonNegative,
    Orthogonal,
    Permutation,
    Piece,
    Positive,
    RowStochastic,
    Subset,
    Vector,
    Whole,
)
from resstream.domains.finite import members
from resstream.errors import ClaimError, DomainError, Undecided
from resstream.falsify import falsify
from resstream.falsify.formats.trace import trace
from resstream.prove import goals
from resstream.relations import HOLDS, UNDECIDED, VIOLATED, Exists, ExistsAmong, ForAll
from resstream.typeset import conclusion

N = {"n": range(1, 4)}


# ---- finite domains ---------------------------------------------------------


def written(value):
    return tuple(str(entry) for entry in value.flat)


@pytest.mark.parametrize(
    ("domain", "sizes", "count"),
    [
        (Permutation("n"), {"n": 4}, 24),
        (Permutation("n"), {"n": 5}, 120),
        (Subset("n"), {"n": 5}, 32),
        (Subset("n", 2), {"n": 5}, 10),
        (Whole(-1, 1, "n", "n"), {"n": 2}, 81),
        (Given(0, exact(1, 3), 1), {}, 3),
    ],
    ids=str,
)
def test_all_members_of_a_finite_domain(domain, sizes, count):
    found = members(domain, sizes)
    assert len({written(value) for value in found}) == len(found) == count
    assert all(domain.contains(value, sizes) for value in found)


@dataclasses.dataclass(frozen=True)
class Conditioned(Domain):
    """One matrix, which is known by a condition."""

    def piece(self, unknowns, sizes, options):  # noqa: ARG002
        x = np.array([[unknowns.one()]])
        unknowns.assume(x, ">")
        return Piece(x, {})

    def parts(self, sizes, options):  # noqa: ARG002
        return {}

    def build(self, raw, options, sizes):  # noqa: ARG002
        return RATIONAL.array([[1]])


@pytest.mark.parametrize(
    "domain",
    [
        Matrix("n", 1), RowStochastic("n"), Orthogonal("n"), NonNegative("n", 1), Positive("n", 1), Conditioned(),
    ],
)  # fmt: skip
def test_what_is_not_finite(domain):
    with pytest.raises(DomainError, match="expected a finite domain, got one with"):
        members(domain, {"n": 2})


@pytest.mark.parametrize("domain", [Permutation("n"), Whole(0, 2000), Subset("n"), Whole(0, 1, "n", "n")])
def test_what_is_too_large_to_be_gone_through(domain):
    with pytest.raises(Undecided, match="is not gone through: more than 256 pieces"):
        members(domain, {"n": 9})


def test_as_many_members_as_are_gone_through():
    assert [int(str(value.item())) for value in members(Whole(-5, 250), {})] == list(range(-5, 251))
    with pytest.raises(Undecided, match="more than 256 pieces"):
        members(Whole(-5, 251), {})


def test_sizes_at_which_there_are_too_many_members_are_undecided():
    @claim("finite.large", over={"x": Vector("n")}, sizes={"n": range(5, 7)})
    def stated(x):
        return for_all(Permutation("n"), lambda P: equal(total(x @ P), total(x)))

    assert stated.at(x=[1, 2, 3, 4, 5]).outcome == HOLDS
    assert stated.at(x=[1, 2, 3, 4, 5, 6]).outcome == UNDECIDED
    verdict = falsify(stated, 600)
    assert verdict.status == "undecided"
    assert "Permutation(n) is not gone through" in str(verdict)


def ordered():
    @claim("finite.sorted", over={"x": Vector("n")}, sizes=N)
    def stated(x):
        """Some order is the descending one."""
        return exists(Permutation("n"), lambda P: equal(x @ P, descending(x)))

    return stated


def balanced():
    @claim("finite.balanced", over={"x": Vector("n")}, sizes=N)
    def stated(x):
        """Some signs balance x: false."""
        return exists(Whole(0, 1, 1, "n"), lambda s: equal(total(x * (2 * s - 1)), 0))

    return stated


def invariant():
    @claim("finite.invariant", over={"x": Vector("n")}, sizes=N)
    def stated(x):
        """The sum is the same in every order."""
        return for_all(Permutation("n"), lambda P: equal(total(x @ P), total(x)))

    return stated


def decreasing():
    @claim("finite.decreasing", over={"x": Vector("n")}, sizes=N)
    def stated(x):
        """Every order is the descending one: false."""
        return for_all(Permutation("n"), lambda P: equal(x @ P, descending(x)))

    return stated


def test_searches_of_finite_quantifiers():
    assert falsify(ordered(), 3000).status == "survived"
    assert falsify(invariant(), 3000).status == "survived"
    for made, said in ((balanced(), "another alternative fails"), (decreasing(), "at [")):
        found = falsify(made, 3000)
        assert found.status == "refuted"
        assert said in str(found.counterexample)
        facts = trace(made, found.counterexample.raw).violation
        assert facts
        assert all(fact.holds() for fact in facts)


def test_every_reading_says_what_going_through_them_says():
    rng, seen = random.Random(0), {True: 0, False: 0}
    for _ in range(60):
        x = [rng.randrange(-2, 3) for _ in range(3)]
        wanted = any(
            sum(s * v for s, v in zip(signs, x, strict=True)) == 0 for signs in itertools.product((1, -1), repeat=3)
        )
        judged = balanced().at(x=x)
        assert judged.outcome == ("holds" if wanted else "violated")
        if wanted:
            assert "witness [" in str(judged)
        seen[wanted] += 1
    assert min(seen.values()) > 10


def test_proofs_of_finite_quantifiers():
    long = {"seconds": 120, "seconds_a_goal": 60}  # however busy the machine is
    assert all(answer.proved for answer in goals.prove(ordered(), sizes=[{"n": 2}], **long))
    assert all(answer.proved for answer in goals.prove(invariant(), sizes=[{"n": 3}], **long))
    assert not any(answer.proved for answer in goals.prove(balanced(), sizes=[{"n": 2}]))


def test_formulas():
    (formula,) = conclusion(invariant().conclusion)
    assert formula.latex.startswith(r"\forall P \in \text{Permutation(n)}: \operatorname{sum}")
    (formula,) = conclusion(near(3).conclusion)
    assert formula.latex.startswith(r"\exists c \in \text{Matrix(1, d)}: ")


# ---- domains without an end -------------------------------------------------


def near(parts, witness=True):
    @claim("endless.near", over={"X": Matrix("n", "d")}, sizes={"n": range(1, 4), "d": range(1, 3)})
    def stated(X):
        return exists(
            Matrix(1, "d"),
            lambda c: at_most(absolute(X - c), largest_entry(amax(X, -2) - amin(X, -2)) / parts),
            witnesses=[0 * amax(X, -2), (amax(X, -2) + amin(X, -2)) / 2] if witness else [],
        )

    return stated


def test_a_witness_settles_it_and_none_leaves_it_open_unless_z3_proves_it():
    assert falsify(near(2), 3000).status == "survived"
    assert falsify(near(3), 600).status == "refuted"
    said = near(2).at(X=[[3, 1], [1, 0]])
    assert said.outcome == HOLDS
    assert "witness [2 0.5]: 1 <= 1" in str(said)
    said = near(3).at(X=[[3, 1], [1, 0]])
    assert said.outcome == VIOLATED
    assert "that no other member does is proved by Z3" in str(said)
    assert not any(answer.proved for answer in goals.prove(near(2), sizes=[{"n": 1, "d": 1}]))


def test_that_there_is_none_is_refuted_by_a_witness():
    def none(parts):
        inner = near(parts)
        return claim("endless.none", over=inner.over, sizes=inner.sizes)(lambda X: negation(inner.conclusion(X)))

    assert none(2).at(X=[[3, 1], [1, 0]]).outcome == VIOLATED
    assert none(3).at(X=[[3, 1], [1, 0]]).outcome == HOLDS
    found = falsify(none(2), 2000)
    assert found.status == "refuted"
    assert "witness [" in str(found.counterexample)


def test_a_witness_that_is_no_member_is_none():
    @claim("endless.outside", over={"x": Vector("d")}, sizes={"d": range(1, 3)})
    def stated(x):
        """False where x < 0: the witness is no member then."""
        return exists(NonNegative(1, "d"), lambda y: equal(x, y), witnesses=[x])

    assert stated.at(x=[1, 2]).outcome == HOLDS
    said = stated.at(x=[-1, 2])
    assert said.outcome == UNDECIDED
    assert "a witness is not certain to be a member" in str(said)


class Silent(Matrix):
    """Matrices that do not say what is one of them."""

    def contains(self, value, sizes):
        return Domain.contains(self, value, sizes)


def test_quantifiers_that_are_none():
    def at(relation):
        return claim("quantified.bad", over={"x": Vector("n")}, sizes=N)(relation).at(x=[1])

    with pytest.raises(ClaimError, match=r"exists: Matrix.* expected a finite domain, .*; give witnesses"):
        at(lambda x: exists(Matrix(1, "n"), lambda c: equal(x, c)))
    with pytest.raises(ClaimError, match=r"for_all: Matrix.* expected a finite domain"):
        at(lambda x: for_all(Matrix(1, "n"), lambda c: equal(x, c)))
    with pytest.raises(ClaimError, match="for_all: expected a function that gives a relation, got Entries"):
        at(lambda x: for_all(Permutation("n"), lambda P: x @ P))
    with pytest.raises(ClaimError, match="exists: domain: expected a domain such as"):
        at(lambda x: exists(Permutation, lambda P: equal(x @ P, x)))
    with pytest.raises(ClaimError, match="exists: domain: expected a domain such as"):
        at(lambda x: exists(Permutation, lambda P: equal(x @ P, x), witnesses=[x]))
    with pytest.raises(ClaimError, match=r"exists: .*, so that no witness can be one of its members"):
        at(lambda x: exists(Silent(1, "n"), lambda c: equal(x, c), witnesses=[x]))
    with pytest.raises(ClaimError, match="no instance is being evaluated"):
        for_all(Permutation("n"), lambda P: at_least(P, 0))


# ---- what members and witnesses decide, one by one --------------------------


def small(value):
    """value <= 2, of a number or of one that may have no value."""
    return at_most(RATIONAL.array([[value]]) if isinstance(value, int) else np.array([[value]]), 2)


def decided(candidates, negated=False):
    return Exists(tuple((name, inside, small(value)) for name, inside, value in candidates), negated).decide(RATIONAL)


def test_the_first_witness_that_certainly_does_decides():
    for negated, status in ((False, HOLDS), (True, VIOLATED)):
        found = decided([("a", True, 5), ("b", False, 0), ("c", True, 1), ("d", True, 0)], negated)
        assert (found.status, found.lhs, found.rhs) == (status, 1, 2)
        assert found.beside == (("witness c", 1, "<=", 2),)
        assert len(found.sides) == 4


def test_without_one_it_is_open_and_the_nearest_is_shown():
    more = ", and that there is no other cannot be told"
    for negated in (False, True):
        found = decided([("a", True, 4), ("b", True, 3), ("c", True, 5)], negated)
        assert (found.status, found.lhs, found.beside, len(found.sides)) == (UNDECIDED, 3, (), 3)
        assert (found.reason, found.unsure) == ("no witness is certain" + more, False)
    assert decided([("a", False, 4), ("b", True, 3)]).reason == "no witness is certain" + more
    found = decided([("a", True, 4), ("b", False, 1)])
    assert (found.status, found.reason) == (UNDECIDED, "a witness is not certain to be a member" + more)
    assert decided([("a", True, 4), ("b", True, NoValue("perhaps", False))]).unsure


def test_quantifiers_in_floats_and_in_words():
    x = np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1)
    candidates = (("a", True, at_most(x, 2)), ("b", True, at_most(x, 3)))
    there_is, none = Exists(candidates), Exists(candidates).negation()
    assert there_is.margin(3).relative.tolist() == pytest.approx([2 / 4, 1 / 5, -1 / 7], rel=1e-15)
    assert none.margin(3).relative.tolist() == pytest.approx([-2 / 4, -1 / 5, 1 / 7], rel=1e-15)
    assert (there_is.wording, none.wording) == ("there is one with lhs <= rhs", "there is none with lhs <= rhs")
    assert none.negation() == there_is
    assert [comparison.rhs for comparison in there_is] == [2, 3]
    several = tuple(relation for *_, relation in candidates)
    assert ForAll(several, ("a", "b")).wording == "each of 2 has lhs <= rhs"
    assert ExistsAmong(several, ("a", "b")).wording == "one of 2 has lhs <= rhs"


def test_the_member_that_decides_is_named():
    members = ([small(value) for value in values] for values in ([1, 5, 3], [2, 1, 0], [5, 3, 1]))
    violated, held, one = (tuple(relations) for relations in members)
    names = ("a", np.array([[0.5, 1 / 3]]), "c" * 100)
    found = ForAll(violated, names).decide(RATIONAL)
    assert (found.status, found.lhs, found.beside) == (VIOLATED, 5, (("at [0.5 0.333333]", None, "", None),))
    assert len(found.sides) == 3
    assert ForAll(held, names).decide(RATIONAL).beside == ()
    found = ExistsAmong(one, names).decide(RATIONAL)
    assert (found.status, found.beside) == (HOLDS, (("witness " + "c" * 80, 1, "<=", 2),))
    assert ExistsAmong(held, names).decide(RATIONAL).beside[0][0] == "witness a"
    many = (np.arange(1000, 1100), *names[1:])
    assert len(ExistsAmong(held, many).decide(RATIONAL).beside[0][0]) == len("witness []") + 80


def with_witness(x, witness):
    @claim("endless.witness", over={"x": Vector("d")}, sizes={"d": range(1, 3)})
    def stated(x):
        return exists(NonNegative(1, "d"), lambda y: equal(y, y), witnesses=[witness(x)])

    return stated.at(x=x)


def test_a_witness_of_any_number_system_is_shown():
    for x, witness, shown in (
        ([2], lambda x: sqrt(x) * sqrt(x) - sqrt(x * x), "[0]"),  # zero, as exponential sums can tell
        ([2, 3], lambda x: sqrt(x), "[1.41421 1.73205]"),
        ([1], lambda x: x / 3, "[0.333333]"),
    ):
        found = with_witness(x, witness)
        assert found.outcome == HOLDS
        assert f"witness {shown}: " in str(found)


def test_of_a_witness_that_enclosures_do_not_tell_nothing_is_known():
    unclear = with_witness([3], lambda x: log(2 * x) - log(0 * x + 2) - log(x))
    assert unclear.outcome == UNDECIDED
    assert "a witness is not certain to be a member" in str(unclear)


def test_what_proves_that_there_is_none_is_no_part_of_what_an_existential_says():
    x = RATIONAL.array([[4]])
    said = Exists(((2, True, equal(x, 4)),))
    proved = dataclasses.replace(said, absent=lambda: True)
    assert proved == said
    assert "absent" not in repr(proved)
