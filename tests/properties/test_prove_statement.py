"""What a relation of unknown objects says to the solver, held against the relation at numbers."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic import RATIONAL, square
from resstream.arithmetic.solver import Condition, Formula, number, variable
from resstream.arithmetic.unknowns import cases
from resstream.claim import (
    Claim,
    at_least,
    at_most,
    claim,
    either,
    equal,
    every,
    implies,
    in_some_entry,
    less_than,
    limit,
    more_than,
)
from resstream.domains import Count, Matrix, Norm, Positive, Scalar, Vector
from resstream.domains.base import Domain, Part, Piece
from resstream.errors import NotExpressible
from resstream.prove.statement import evaluated, instance, known, met, objects_of, pieces_of, state, violated
from resstream.relations import HOLDS, Differ, Exists, Less, differ, negation

HOLDS_AT = {">=": lambda v: v >= 0, ">": lambda v: v > 0, "==": lambda v: v == 0, "!=": lambda v: v != 0}

# Of two rows of two numbers, x and y.
STATEMENTS = {
    "at most": at_most,
    "at least": at_least,
    "less": less_than,
    "more": more_than,
    "equal": equal,
    "differ in every entry": Differ,
    "differ": differ,
    "every": lambda x, y: every(at_most(x, 1), less_than(y, x + 1)),
    "either": lambda x, y: either(at_most(x, y), less_than(y, x)),
    "in some entry": lambda x, y: in_some_entry(at_most(x, y)),
    "in some entry, equal": lambda x, y: in_some_entry(equal(x, y)),
    "implies": lambda x, y: implies(at_most(x, 0), more_than(y, x)),
    "and then": lambda x, y: negation(implies(at_most(x, 0), more_than(y, x))),
    "nested": lambda x, y: either(every(equal(x, 1), at_most(y, 1)), negation(either(equal(x, y), less_than(x, 0)))),
}


def is_met(alternatives, point):
    return any(all(HOLDS_AT[c.kind](evaluated(c.polynomial, point)) for c in some) for some in alternatives)


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_is_known_and_what_is_violated_are_the_relation_and_its_opposite(name):
    formula = Formula()
    relation = STATEMENTS[name](formula.real((1, 2)), formula.real((1, 2)))
    knows, violates = known(relation, formula), violated(relation, formula)
    rng, seen = random.Random(0), {True: 0, False: 0}
    for numbers in [[rng.randrange(-1, 3) for _ in range(4)] for _ in range(200)]:
        point = dict(enumerate(map(fmpq, numbers)))
        x, y = RATIONAL.array([numbers[:2]]), RATIONAL.array([numbers[2:]])
        holds = STATEMENTS[name](x, y).decide(RATIONAL).status == HOLDS
        assert (is_met(knows, point), is_met(violates, point)) == (holds, not holds), numbers
        seen[holds] += 1
    assert min(seen.values()) >= 2


def test_a_relation_that_nobody_knows_is_not_expressible():
    class Slightly(Less):
        """Another comparison than the four."""

    x = Formula().real((1, 1))
    for ask in (known, violated):
        for relation, name in ((Slightly(x, 1), "Slightly"), (Exists(()), "Exists")):
            with pytest.raises(NotExpressible, match=f"a relation of type {name}"):
                ask(relation, Formula())


def test_alternatives_have_a_limit():
    formula = Formula()
    pair, triple = formula.real((1, 8)), formula.real((1, 3))
    halves = every(*(in_some_entry(at_most(pair[:, k : k + 2], 0)) for k in range(0, 8, 2)))
    assert len(known(halves, formula)) == 16
    quarter = in_some_entry(at_most(np.concatenate([pair[:, :4]], axis=1), 0))
    assert len(known(every(halves, quarter), formula)) == 64  # as many as there may be
    with pytest.raises(NotExpressible, match="more than 64 alternatives"):
        known(every(halves, quarter, in_some_entry(at_most(triple, 0))), formula)


def test_a_side_without_a_value_is_not_expressible():
    x = Formula().real((1, 1))
    with pytest.raises(NotExpressible, match="a side without a value: division by zero in"):
        violated(at_most(x, x / (0 * x)), Formula())


# ---- statements of claims


def positive(x):
    return more_than(x, 0)


def large(x):
    return at_least(1 / x, 1)


def stated(conclusion, *assuming, over=None, conclude=True, **more):
    made = claim("trial", over=over or {"x": Scalar()}, assuming=assuming, **more)(conclusion)
    return state(made, Formula(next(cases())), {}, {}, conclude)


def test_a_statement_has_what_its_claim_says():
    found = stated(lambda x: at_most(2 / x, 5), positive, large)
    x, inverse = variable(0), variable(1)
    assert found.assumed == ((Condition(x, ">"), Condition(inverse - number(1), ">=")),)
    assert [(o.entry.polynomial, o.kind) for o in found.given] == [(x, "!=")]
    assert [(o.entry.polynomial, o.kind) for o in found.obligations] == [(x, "!=")]
    assert [[c.kind for c in some] for some in found.violations] == [[">"]]
    assert met(found.given[0]) == Condition(x, "!=")
    without = stated(lambda x: at_most(x, 5))
    assert (without.assumed, without.given, without.obligations) == (((),), (), ())
    assert stated(lambda x: at_most(1 / x, 5), positive, conclude=False).violations == ()


def test_what_cannot_be_stated_says_why():
    with pytest.raises(NotExpressible, match="a hypothesis that may hold where a part of it has no value"):
        stated(lambda x: at_most(x, 5), lambda x: implies(differ(x, 0), at_least(1 / x, 1)))
    stated(lambda x: at_most(x, 5), lambda x: implies(at_most(x, 0), at_least(x, -1)))  # every part has a value
    with pytest.raises(NotExpressible, match=r"^ClaimFault: .* raised AttributeError"):
        stated(lambda x: at_most(x.nothing, 5))
    with pytest.raises(NotExpressible, match=r"^the domain Squares, which states no pieces$"):
        stated(lambda x: at_most(x, 5), over={"x": Squares()})
    made = claim("trial", over={"x": Matrix("n", "d")}, where="n > d")(lambda x: at_most(x, 5))
    with pytest.raises(NotExpressible, match="the claim speaks of sizes with n > d"):
        state(made, Formula(next(cases())), {"n": 1, "d": 1}, {})


def test_of_a_size_that_grows_nothing_is_stated():
    growing = Claim("trial", {"c": Positive(), "L": Count("L")}, lambda c, L: c / L, (positive_c,), as_grows=limit("L"))
    with pytest.raises(NotExpressible, match="what holds as L grows, of which no size is a part"):
        state(growing, Formula(next(cases())), {"L": 2}, {})
    assert state(growing, Formula(next(cases())), {"L": 2}, {}, conclusion=False).violations == ()


def positive_c(c):
    return more_than(c, 1)


class Squares(Domain):
    """Squares, and nothing said of their pieces."""

    def parts(self, sizes, options):  # noqa: ARG002
        return {"": Part((1, 1))}

    def build(self, raw, options, sizes):  # noqa: ARG002
        return square(raw[""])


def test_options_go_to_the_variable_that_has_them():
    made = claim("trial", over={"x": Vector(2), "norm": Norm(2), "other": Norm(2)})(
        lambda x, norm, other: at_most(x, 1)  # noqa: ARG005
    )
    options = {"norm.kind": "l1", "norm.basis": "standard", "other.kind": "linf", "other.basis": "changed"}
    pieces = pieces_of(made, Formula(next(cases())), {}, options)
    assert (pieces["norm"].object.kind, pieces["norm"].object.basis) == ("l1", None)
    assert pieces["other"].object.kind == "linf"
    assert pieces["other"].object.basis.shape == (2, 2)
    objects = objects_of(pieces, {"d": 2})
    assert objects["x"] is not pieces["x"].object
    assert not objects["x"].flags.writeable


# ---- models


def test_a_polynomial_at_numbers():
    x, y = variable(0), variable(1)
    assert evaluated(x * x * y - y.times(fmpq(3)), {0: fmpq(2), 1: fmpq(5)}) == 5
    assert evaluated(x * y + number(1), {0: fmpq(2)}) == 1  # what has no value is 0
    assert evaluated(x - x, {}) == 0


def test_an_instance_has_the_raw_numbers_of_every_variable():
    over = {"x": Vector(2), "norm": Norm(1, bases=True)}
    made = claim("trial", over=over)(lambda x, norm: at_most(x, 1))  # noqa: ARG005
    options = {"norm.kind": "l1", "norm.basis": "changed"}
    statement = state(made, Formula(next(cases())), {}, options)
    found = instance(statement, {0: fmpq(1, 3), 1: fmpq(-2), 2: fmpq(7)}, {"n": 4}, options)
    assert {name: values.tolist() for name, values in found.arrays.items()} == {
        "x": [[Fraction(1, 3), -2]],
        "norm.lower": [[0]],
        "norm.upper": [[7]],
    }
    assert (found.sizes, found.options) == ({"n": 4}, options)
    silent = replace(statement, pieces={"x": Piece(statement.pieces["x"].object)})
    assert instance(silent, {}, {}, {}) is None


def without(statement, piece):
    return type(statement)(statement.formula, {"x": piece}, (), (), (), ())
