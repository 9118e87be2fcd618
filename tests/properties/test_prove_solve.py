"""The solver: what it proves of random formulas is so, whole or case by case, and what a case keeps and leaves out."""

import random
import time

import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic.solver import Choice, Condition, Formula, Polynomial, number, variable
from resstream.prove import solve
from resstream.prove.solve import has_no_model, settle
from resstream.prove.statement import evaluated

HOLDS = {">=": lambda v: v >= 0, ">": lambda v: v > 0, "==": lambda v: v == 0, "!=": lambda v: v != 0}
x, y, z = map(variable, range(3))


def soon(seconds=30.0):
    return time.monotonic() + seconds


def formula(count=3, conditions=(), maxima=()):
    """Of `count` fresh unknowns, and maxima of polynomials in what was there before."""
    made = Formula()
    made.real((count,))
    for alternatives in maxima:
        made.maximum(tuple(alternatives))
    return made.knowing([Condition(polynomial, kind) for polynomial, kind in conditions])


def proved(violation, kind=">", **known):
    found, model = settle(formula(**known), [Condition(violation, kind)], soon())
    assert model is None or not found
    return found


# ---- whole formulas


@pytest.mark.parametrize(
    ("conditions", "impossible"),
    [
        ([(x, ">="), (-x, ">")], True),
        ([(x, ">="), (-x, ">=")], False),
        ([(x, ">"), (-x, ">=")], True),
        ([(x, "=="), (x, "!=")], True),
        ([(x, "=="), (x - number(1), "!=")], False),
        ([(x * x - number(2), "=="), (x, ">")], False),
        ([(x * x + number(fmpq(1, 3)), "==")], True),
        ([(x.times(fmpq(1, 3)) - number(1), "=="), (x - number(3), "!=")], True),
        ([(number(0), ">")], True),
        ([(number(1), ">")], False),
        ([(Polynomial({}), ">=")], False),
        ([(x * y - number(1), ">="), (x, ">="), (-y, ">=")], True),
    ],
)
def test_conditions_without_a_model(conditions, impossible):
    assert has_no_model([Condition(polynomial, kind) for polynomial, kind in conditions]) is impossible


def test_a_bound_on_the_work_leaves_it_open():
    square = x + y + z
    hard = [Condition(-(square * square * square * square) - x * x * y * y - number(1), ">=")]
    assert not has_no_model(hard, work=1)
    assert has_no_model([*hard, Condition(x, "==")])


def test_a_violation_is_impossible_or_has_a_model():
    assert proved(-x * x)
    assert not proved(x * x)
    assert proved(-x * x - number(1), ">=")
    assert not proved(-x * x, ">=")
    assert proved(-x, conditions=[(x - number(1), ">=")])
    assert proved(number(0))
    assert not proved(number(0), ">=")
    assert not proved(number(1))
    answer, model = settle(formula(), [Condition(-x * x, ">"), Condition(x - y - number(5), ">")], soon())
    assert not answer
    assert model[0] - model[1] > 5
    assert set(model) == {0, 1, 2}
    assert settle(formula(), [Condition(x, ">")], soon(-1)) == (False, None)
    assert settle(formula(), [Condition(number(0), ">")], soon()) == (True, None)


def test_a_model_of_irrational_numbers_is_rounded():
    conditions = [(x * x - number(2), "=="), (x, ">")]
    _, model = settle(formula(conditions=conditions), [Condition(number(1), ">")], soon())
    assert abs(model[0] ** 2 - 2) < fmpq(1, 10**15)


def test_whole_numbers_are_whole():
    made = Formula()
    made.whole((1,), 0, 3)
    assert settle(made, [Condition(x * x - x.times(fmpq(2)) + number(fmpq(1, 2)), "==")], soon()) == (True, None)
    _, model = settle(made, [Condition(x - number(2), ">")], soon())
    assert model == {0: 3}


def test_a_maximum_is_one_of_its_alternatives_and_no_less_than_any():
    largest, maxima = variable(3), [(x, y)]
    for polynomial, wanted in (
        (x - largest, True),
        (largest - x, False),
        ((largest - x) * (largest - y), True),
        ((x - largest) * (largest - y), True),
    ):
        assert proved(polynomial, maxima=maxima) is wanted
    assert proved(largest - x - y, maxima=maxima, conditions=[(x, ">="), (y, ">=")])


# ---- case by case


def random_formula(rng):
    """Signs of three unknowns, two maxima of linear forms, the second above the first, and what may not be of them."""

    def linear(among=range(3)):
        return sum(
            (variable(u).times(fmpq(int(c))) for u, c in zip(among, rng.integers(-1, 3, len(among)), strict=True)),
            number(0),
        )

    first = [linear() for _ in range(int(rng.integers(1, 4)))]
    second = [linear(), variable(3) + linear(range(int(rng.integers(0, 2))))]
    low, high = variable(3), variable(4)
    kinds = [str(kind) for kind in rng.choice(["", ">=", ">"], 3)]
    conditions = [(variable(u), kind) for u, kind in enumerate(kinds) if kind]
    if rng.random() < 0.3:
        conditions.append((low - linear(), str(rng.choice([">=", "=="]))))
    pick = [
        lambda: first[0] - low,
        lambda: low - sum(first, number(0)),
        lambda: second[0] - high,
        lambda: low - high,
        lambda: high - low - second[0],
        lambda: high - sum(second, number(0)),
        lambda: low + high - linear().times(fmpq(3)),
        lambda: high.times(fmpq(2)) - low - linear(),
    ]
    shift = number(int(rng.integers(-1, 1)))
    violations = [Condition(pick[k]() + shift, str(rng.choice([">", ">", "=="]))) for k in rng.integers(0, 8, 2)]
    return formula(conditions=conditions, maxima=[first, second]), violations[: int(rng.integers(1, 3))]


def test_what_is_proved_case_by_case_has_no_model_as_a_whole(monkeypatch):
    whole, rng = solve._whole, np.random.default_rng(0)
    found = {}
    for _ in range(80):
        made, violations = random_formula(rng)
        answer, model = whole(made, violations, 20.0)
        if model is not None:
            values = {u: model[u] for u in range(5)}
            assert all(HOLDS[c.kind](evaluated(c.polynomial, values)) for c in made.conditions)
            assert any(HOLDS[v.kind](evaluated(v.polynomial, values)) for v in violations)
            for choice in made.choices.values():
                assert values[choice.unknown] == max(evaluated(a, values) for a in choice.alternatives)
        monkeypatch.setattr(solve, "_whole", lambda *_: ("unknown", None))
        split, _ = settle(made, violations, soon())
        monkeypatch.setattr(solve, "_whole", whole)
        found[answer, split] = found.get((answer, split), 0) + 1
    assert ("sat", True) not in found
    assert found["unsat", True] >= 15
    assert found["unsat", False] <= 3  # a maximum that stands in a condition alone is not split


def case(violation, conditions=(), choices=(), made_of=None):
    made_of = made_of or {u: {u} for u in range(4)}
    return solve._Case(Condition(violation, ">"), tuple(conditions), tuple(choices), made_of)


def positive(polynomial):
    return Condition(polynomial, ">=")


def test_a_case_keeps_what_speaks_of_its_unknowns():
    """Of x0 and x1: x2 is another, x3 is made of x0, x4 of x0 and x2; x5 to x7 are maxima."""
    made_of = {0: {0}, 1: {1}, 2: {2}, 3: {0}, 4: {0, 2}, 5: {0, 1}, 6: {0, 2}, 7: {0, 1}}
    u = [variable(k) for k in range(8)]
    conditions = [positive(u[0]), positive(u[2]), positive(u[3] - u[5]), positive(u[4])]
    largest = [Choice(5, (u[0], u[1])), Choice(6, (u[0], u[2])), Choice(7, (u[0], u[1]))]
    kept = solve._relevant(case(u[0] - u[1] - u[6], conditions, largest, made_of))
    assert kept.conditions == (conditions[0], conditions[2])
    assert kept.choices == (Choice(6, (u[0],), whole=False), Choice(5, (u[0], u[1])))
    nested = [Choice(5, (u[0], u[1])), Choice(7, (u[0], u[5]))]
    assert len(solve._relevant(case(u[0] + u[1] - u[7], (), nested, made_of)).choices) == 2
    assert solve._relevant(case(u[0] + u[1] - u[5], (), nested, made_of)).choices == (nested[0],)
    elsewhere = [Choice(6, (u[2], u[4]))]
    assert solve._relevant(case(u[0] - u[6], (), elsewhere, made_of)).choices == ()
    partial = [Choice(5, (u[0], u[1]), whole=False)]
    assert solve._relevant(case(u[0] + u[1] - u[5], (), partial, made_of)).choices == tuple(partial)
    derived = case(u[3] - u[5], conditions, largest, made_of)  # speaks of no fresh unknown: all may matter
    assert solve._relevant(derived) is derived


def test_a_maximum_on_the_left_is_each_of_its_alternatives():
    u = [variable(k) for k in range(5)]
    left = solve._is_on_the_left
    assert left(3, u[3].times(fmpq(2)) - u[0])
    assert not left(3, u[0] - u[3])
    assert not left(3, u[3] * u[0])
    assert not left(3, u[3] + u[3] * u[0])
    assert not left(3, u[0])
    made = formula(maxima=[(x, y), (z, u[3])], conditions=[(u[3] - z, ">=")])
    cases = list(solve._cases(made, [Condition(u[3] - z, ">"), Condition(x - u[4], ">")]))
    assert [one.violation.polynomial for one in cases] == [x - z, y - z, x - u[4]]
    first = cases[0]
    assert first.conditions == (positive(x - z), positive(x - y))
    assert first.choices == (Choice(4, (z, x)),)
    assert first.below() == [positive(u[4] - z), positive(u[4] - x)]
    assert cases[2].conditions == tuple(made.conditions)
    part = case(u[3] - x, (), [Choice(3, (x, y), whole=False)]).substitute(Choice(3, (x, y)), x)
    assert part.choices == (Choice(3, (x, y), whole=False),)  # another than the one that is replaced
    assert (part.violation, part.conditions) == (Condition(x - x, ">"), (positive(x - y),))


def test_only_a_whole_maximum_of_the_violation_is_split():
    u = [variable(k) for k in range(6)]
    whole, part, other = Choice(3, (x, y)), Choice(4, (x, y), whole=False), Choice(5, (x, y))
    assert solve._to_split(case(x - u[3] - u[4], (), [whole, part, other])) == [whole]


def test_a_case_like_one_that_was_proved_is_proved():
    end, settled = soon(), set()
    assert solve._has_no_model(case(-x * x - y * y), settled, end)
    assert solve._has_no_model(case(-y * y - z * z), settled, soon(-1))  # as it was, in other names
    assert not solve._has_no_model(case(-x * x - number(1)), settled, soon(-1))
    assert not solve._has_no_model(case(x), settled, end)
    assert len(settled) == 1
    split = case(x + y - variable(3).times(fmpq(2)), (), [Choice(3, (x, y))])
    assert solve._has_no_model(split, settled, end)


def test_a_case_is_seen_to_have_a_model():
    end = soon()
    assert solve._has_a_model(case(x), end)
    assert not solve._has_a_model(case(x, [positive(-x)]), end)
    assert not solve._has_a_model(case(x - variable(3), (), [Choice(3, (x, y))]), end)
    assert solve._has_a_model(case(variable(3) - x - y - number(1), (), [Choice(3, (x, y), whole=False)]), end)
    assert not solve._has_a_model(case(x), soon(-1))


# ---- what nothing meets, and names of cases


@pytest.mark.parametrize(
    ("known", "asked", "nothing"),
    [
        ({}, [(x, ">"), (-x, ">")], True),
        ({}, [(x, ">"), (y, ">")], False),
        ({"conditions": [(x - number(1), ">=")]}, [(-x, ">")], True),
        ({"conditions": [(x - number(1), ">=")]}, [(x, ">")], False),
        ({"count": 2, "maxima": [(x, y)]}, [(x - z, ">")], True),  # z is the larger of the two
        ({"count": 2, "maxima": [(x, y)]}, [(z - x, ">"), (z - y, ">")], True),
        ({"count": 2, "maxima": [(x, y)]}, [(z - x, ">")], False),
    ],
)
def test_what_nothing_meets(known, asked, nothing):
    conditions = [Condition(polynomial, kind) for polynomial, kind in asked]
    assert solve.nothing_meets(formula(**known), conditions) is nothing


def test_a_maximum_is_on_the_left_where_it_stands_once_and_positively():
    left = {"x": x, "third of x": x.times(fmpq(1, 3)), "x and more": x + y * z}
    right = {"-x": -x, "-x/2": x.times(fmpq(-1, 2)), "x y": x * y, "x and its square": x + x * x, "nowhere": y}
    assert all(solve._is_on_the_left(0, polynomial) for polynomial in left.values())
    assert not any(solve._is_on_the_left(0, polynomial) for polynomial in right.values())


def cycle(order, kind=">="):
    """A condition on each of six unknowns and the next, in a circle of that order."""
    ring = list(map(variable, order))
    conditions = [Condition(one * other, kind) for one, other in zip(ring, ring[1:] + ring[:1], strict=True)]
    return case(variable(6), conditions, made_of={u: {u} for u in range(7)})


def test_cases_that_no_refinement_tells_apart_have_one_name():
    """Of a circle every unknown looks alike."""
    first = solve.canonical(cycle(range(6)))
    assert solve.canonical(cycle([3, 0, 5, 1, 4, 2])) == first
    two_of_three = [0, 1, 2], [3, 4, 5]
    triangles = [Condition(variable(ring[k]) * variable(ring[k - 1]), ">=") for ring in two_of_three for k in range(3)]
    assert solve.canonical(case(variable(6), triangles, made_of={u: {u} for u in range(7)})) != first


def test_cases_of_different_relations_have_different_names():
    names = [solve.canonical(cycle(range(6), kind)) for kind in (">=", ">", "==", "!=")]
    assert len(set(names)) == 4


def test_a_maximum_of_which_all_is_known_has_another_name_than_one_of_which_not_all_is():
    for k in range(1, 41):  # by chance the two are numbered in another order
        violation = z.times(k) - x
        names = {solve.canonical(case(violation, (), [Choice(2, (x, y), whole)])) for whole in (True, False)}
        assert len(names) == 2


def squares(count, seed=1):
    """Of random polynomials in seven unknowns, and a thousandth: positive, which Z3 does not see soon."""
    rng = random.Random(seed)
    result = number(fmpq(1, 1000))
    for _ in range(count):
        root = number(0)
        for _ in range(8):
            term = number(rng.randint(1, 5))
            for _ in range(rng.randint(1, 3)):
                term = term * variable(rng.randrange(7))
            root = root + term.times(fmpq(rng.choice((-1, 1)), rng.randint(1, 4)))
        result = result + root * root
    return result


def test_what_is_not_decided_in_time_is_not_known():
    """The hard goal of minutes ends where its time does."""
    impossible = [Condition(-squares(5), ">=")]
    assert not solve._conjunction(impossible, 0.05)
    assert solve._whole(formula(7), impossible, 0.05) == ("unknown", None)
    assert not solve.nothing_meets(formula(7), impossible, work=1000)
