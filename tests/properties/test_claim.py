"""A claim as an object: what it refuses, how it is evaluated, what its own functions may raise, and its variants."""

import dataclasses
import functools
import operator
from dataclasses import dataclass

import numpy as np
import pytest

from resstream import cards
from resstream.arithmetic import FLOAT64, RATIONAL, exact, sqrt
from resstream.claim import (
    STATED,
    Batch,
    Claim,
    Instance,
    at_least,
    at_most,
    claim,
    equal,
    every,
    less_than,
    limit,
    more_than,
    place_of,
    rate,
    sealed,
)
from resstream.domains import Count, Domain, Given, Matrix, Norm, Part, Product, RowStochastic, Scalar, Stack
from resstream.domains.current import size
from resstream.errors import ClaimError, ClaimFault, NotExact, Undefined
from resstream.reference import diameter


def about(conclusion, *assuming, over=None, **more):
    return Claim("trial", over or {"x": Scalar()}, conclusion, assuming, **more)


def scalars(*values):
    return Batch({}, {}, {"x": np.array(values, dtype=float).reshape(-1, 1, 1)}, len(values))


def small(x):
    return at_most(x, 2)


def positive(x):
    return more_than(x, 0)


# ---- raw instances


def test_batches_are_taken_apart():
    batch = Batch({"n": 1}, {"norm": "l1"}, {"x": np.arange(4.0).reshape(4, 1, 1)}, 4)
    chosen = batch.take(np.array([3, 1]))
    assert (chosen.arrays["x"].ravel().tolist(), chosen.count) == ([3, 1], 2)
    masked = batch.take(np.array([True, False, True, True]))
    assert (masked.arrays["x"].ravel().tolist(), masked.count) == ([0, 2, 3], 3)
    assert (masked.sizes, masked.options) == ({"n": 1}, {"norm": "l1"})
    one = batch.at(2)
    assert (one.arrays["x"].tolist(), one.sizes, one.options) == ([[2]], {"n": 1}, {"norm": "l1"})
    assert [each.arrays["x"].item() for each in batch.instances()] == [0, 1, 2, 3]
    again = one.batch()
    assert (again.count, again.arrays["x"].shape, again.sizes, again.options) == (1, (1, 1, 1), one.sizes, one.options)


@dataclass(frozen=True)
class Pair:
    """An object of arrays, a list of them, and something else."""

    array: np.ndarray
    several: list
    name: str


def test_objects_are_sealed_however_deep():
    array = np.zeros(2)
    pair = sealed(Pair(array, [array, (array,)], "a"))
    shut = [sealed(array), *sealed([array]), *sealed((array,)), pair.array, pair.several[0], pair.several[1][0]]
    assert [one.flags.writeable for one in shut] == [False] * 6
    assert array.flags.writeable  # what was drawn stays as it was
    assert (type(sealed([array])), type(sealed((array,))), pair.name) == (list, tuple, "a")
    assert sealed(Pair) is Pair
    assert sealed("text") == "text"


# ---- what is refused


def test_badly_stated_claims_are_refused_with_what_is_wrong():
    with pytest.raises(ClaimError, match=r"claim trial: expect is 'true', expected 'holds' or 'fails'"):
        about(small, expect="true")
    for name in ("", "a b", "a/b", "a\n"):
        with pytest.raises(ClaimError, match="expected letters, digits and"):
            Claim(name, {"x": Scalar()}, small)
    with pytest.raises(
        ClaimError, match=r"argument 'y' of <lambda> \(.*test_claim.py, line \d+\) has no domain; .* x$"
    ):
        about(lambda y: at_most(y, 1))
    with pytest.raises(ClaimError, match="argument 'y' of <lambda>"):
        about(small, lambda y: at_most(y, 1))
    matrix = {"x": Matrix("n", "d")}
    with pytest.raises(ClaimError, match=r"sizes='m', expected one of \['d', 'n'\]"):
        about(small, over=matrix, sizes={"m": range(1, 2)})
    for bad in (range(2, 2), range(-1, 3)):
        with pytest.raises(ClaimError, match=r"size n has the range range\(.*, expected some sizes of at least 0"):
            about(small, over=matrix, sizes={"n": bad})
    assert about(small, over=matrix, sizes={"n": range(1, 3)}).size_ranges() == {"d": range(1, 7), "n": range(1, 3)}


def test_budgets_are_whole_numbers_of_at_least_one():
    assert about(small, budget=1).budget == 1
    assert about(small).budget is None
    for bad in (0, -1, True, 2.0, "3"):
        with pytest.raises(ClaimError, match=r"claim trial: budget is .*, expected a whole number of at least 1"):
            about(small, budget=bad)


def test_an_instance_has_a_largest_size():
    def wide(rows, columns):
        return about(lambda X: at_most(X, 1), over={"X": Matrix("n", columns)}, sizes={"n": range(rows - 1, rows + 1)})

    assert wide(2000, 2000).size_ranges() == {"n": range(1999, 2001)}
    with pytest.raises(
        ClaimError, match=r"take 4,002,000 raw numbers at the largest sizes, expected at most 4,000,000"
    ):
        wide(2000, 2001)
    both = {"X": Matrix("n", 1), "Y": Matrix("n", 2)}
    with pytest.raises(ClaimError, match="take 4,500,000 raw numbers"):
        about(lambda X, Y: at_most(X, Y), over=both, sizes={"n": range(1_500_000, 1_500_001)})
    norms = {"norm": Norm("d", bases=True)}  # in the last basis: two matrices
    with pytest.raises(ClaimError, match="take 4,500,000 raw numbers"):
        about(lambda norm: at_most(0, 1), over=norms, sizes={"d": range(1500, 1501)})  # noqa: ARG005
    with pytest.raises(ClaimError, match="take 4,000,001 raw numbers"):
        wide(1, 4_000_001)

    class Levels(Domain):
        """Of three levels, the last of which takes most."""

        def options(self):
            return {"level": ("low", "middle", "high")}

        def parts(self, sizes, options):  # noqa: ARG002
            return {"": Part((1, {"low": 1, "middle": 10, "high": 5_000_000}[options["level"]]))}

        def build(self, raw, options, sizes):  # noqa: ARG002
            return raw[""]

        def piece(self, unknowns, sizes, options):
            raise NotImplementedError

        def contains(self, value, sizes):
            raise NotImplementedError

    with pytest.raises(ClaimError, match="take 5,000,000 raw numbers"):
        about(small, over={"x": Levels()})


def test_domains_and_relations_of_sizes_are_looked_at():
    with pytest.raises(ClaimError, match=r"^claim trial: over\['x'\]: expected a domain such as"):
        about(small, over={"x": Scalar})
    matrix = {"x": Matrix("n", "d")}
    with pytest.raises(ClaimError, match=r"size n has the range \[1, 2\], expected"):
        about(small, over=matrix, sizes={"n": [1, 2]})
    narrowed = about(small, over=matrix, sizes={"n": range(2)})
    assert (narrowed.size_ranges()["n"], len(narrowed.notes)) == (range(1, 2), 1)  # of size 0 there is none
    with pytest.raises(ClaimError, match=r"claim trial: where='m > n': m is no size of it, expected d, n"):
        about(small, over=matrix, where="m > n")
    with pytest.raises(ClaimError, match="n is no size of it, expected none"):
        about(small, where="n > 1")
    with pytest.raises(ClaimError, match=r"claim trial: where='n \+': expected a relation of sizes"):
        about(small, over=matrix, where="n +")
    with pytest.raises(ClaimError, match=r"claim trial: where=3: expected a relation of sizes"):
        about(small, over=matrix, where=3)


def test_what_is_no_relation_is_refused():
    for wrong in (about(lambda x: x), about(small, lambda x: True)):  # noqa: ARG005
        with pytest.raises(ClaimError, match=r"returned (ndarray|bool), expected a relation"):
            wrong.assess(scalars(1))


def test_margins_are_taken_of_batches():
    with pytest.raises(ClaimError, match=r"claim trial: margins are taken of batches, got Instance: use raw.batch\(\)"):
        about(small).assess(scalars(1).at(0))


# ---- what it is made of


def test_sizes_options_and_parts_are_those_of_its_domains():
    made = about(
        lambda A, X, norm: at_most(diameter(A @ X, norm), diameter(X, norm)),
        over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "norm": Norm("d")},
        sizes={"d": range(2, 4)},
    )
    assert made.size_ranges() == {"d": range(2, 4), "n": range(1, 7)}
    values = made.option_values()
    assert "linf" in values["norm.kind"]
    assert {name.split(".")[0] for name in values} <= set(made.over)
    sizes, options = {"n": 3, "d": 2}, {name: kinds[0] for name, kinds in values.items()}
    parts = made.parts(sizes, options)
    assert "X" in parts
    assert parts["X"].shape == (3, 2)
    assert len([name for name in parts if name.split(".")[0] == "A"]) >= 1
    arrays = {name: part.draw(np.random.default_rng(0), 5) for name, part in parts.items()}
    met, margin = made.margin(Batch(sizes, options, arrays, 5))
    assert met.tolist() == [True] * 5
    assert margin.slack.min() >= -1e-12
    nested = about(lambda W: at_most(0, 1), over={"W": Stack("L", Matrix("d", "d"))})  # noqa: ARG005
    assert list(nested.size_ranges()) == ["L", "d"]


def test_where_says_of_which_sizes_it_speaks():
    matrix = {"x": Matrix("n", "d")}
    anywhere, tall = about(small, over=matrix), about(small, over=matrix, where="n > 3 * d")
    assert (anywhere.fits({"n": 1, "d": 6}), tall.fits({"n": 1, "d": 6}), tall.fits({"n": 4, "d": 1})) == (1, 0, 1)
    assert list(tall.size_choices()) == [{"d": 1, "n": n} for n in (4, 5, 6)]
    assert len(list(anywhere.size_choices())) == 36
    asked = {"n": 2, "d": 1}
    assert anywhere.nearest_fit(asked) == asked
    assert anywhere.nearest_fit(asked) is not asked
    assert tall.nearest_fit(asked) == {"n": 4, "d": 1}
    assert tall.nearest_fit({"n": 6, "d": 6}) == {"n": 6, "d": 1}
    assert tall.require_sizes() is tall
    nowhere = about(small, over=matrix, where="n > 9 * d")
    assert nowhere.nearest_fit(asked) == asked
    with pytest.raises(ClaimError, match=r"where='n > 9 \* d': expected sizes of its ranges at which it holds"):
        nowhere.require_sizes()
    batch = Batch({"n": 2, "d": 1}, {}, {"x": np.zeros((3, 2, 1))}, 3)
    found = tall.assess(batch)
    assert (found.met.tolist(), found.missing.tolist()) == ([False] * 3, [1, 1, 1])
    assert (found.conclusion.slack.shape, found.conclusion.scale.shape) == ((0,), (0,))


def test_it_is_called_with_every_variable_by_name():
    stated = about(lambda x: at_most(x, 2), over={"x": Scalar(), "y": Scalar()})
    assert stated(x=3, y=1).stated == (3, "<=", 2)
    for wrong in ({"x": 3}, {"x": 3, "y": 1, "z": 2}):
        with pytest.raises(ClaimError, match=r"claim trial: called with \[.*\], expected its variables \['x', 'y'\]"):
            stated(**wrong)
    assert (about(small).__name__, about(functools.partial(small)).__name__) == ("small", "trial")


def test_a_claim_does_not_change_but_for_the_marks_of_pytest():
    stated = about(small)
    stated.pytestmark = ["slow"]
    assert stated.pytestmark == ["slow"]
    for name in ("id", "conclusion", "anything"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(stated, name, "other")
    for name in ("notes", "_ranges", "_where"):  # what is worked out is not given
        with pytest.raises(TypeError, match=name):
            about(small, **{name: None})
    assert stated == dataclasses.replace(stated, origin="a file")
    assert stated != dataclasses.replace(stated, source="a book")


def test_how_it_is_shown_in_a_notebook():
    stated = about(small, statement="It is $x \\le 2$.")
    assert stated._repr_html_() == cards.claim_html(stated) != ""
    assert stated._repr_latex_() == cards.claim_latex(stated)
    assert cards.claim_latex(stated)


def test_functions_without_attributes_may_state_it():
    stated = Claim("builtin", {"a": Scalar(), "b": Scalar()}, operator.le)
    with pytest.raises(ClaimFault, match="claim builtin: le raised TypeError"):  # it takes none by name
        stated.conclude({"a": 1, "b": 2})


def test_it_says_what_it_is():
    stated = about(small, positive, statement="All  are\nsmall.\n\nAnd a remark.", expect="fails")
    assert stated.headline == "All are small."
    assert repr(stated) == "<claim trial, expected: fails: All are small.>"
    assert [code.splitlines()[0] for code in stated.code()] == ["def positive(x):", "def small(x):"]
    assert about(small).seed_words() != Claim("other", {"x": Scalar()}, small).seed_words()
    assert place_of(small).startswith("small (")
    assert place_of(np.exp) == "exp"
    assert place_of(functools.partial(small, 3)).startswith("functools.partial")


def test_the_module_is_the_decorator_too():
    import resstream.claim as module

    assert module("called", over={"x": Scalar()})(small) == claim("called", over={"x": Scalar()})(small)


def test_the_decorator_takes_everything():
    made = claim(
        "made",
        over={"x": Matrix("n", 1)},
        source="a book",
        assuming=[positive],
        sizes={"n": range(1, 3)},
        batched=False,
    )(small)
    assert (made.id, made.source, made.assuming, made.sizes) == ("made", "a book", (positive,), {"n": range(1, 3)})
    assert (made.conclusion, made.batched, made.expect, made.statement) == (small, False, "holds", "")
    plain = claim("plain", over={"x": Matrix("n", 1)}, where="n > 2", expect="fails", budget=7)(small)
    assert (plain.batched, plain.where, plain.expect, plain.budget, plain.sizes) == (None, "n > 2", "fails", 7, {})
    assert globals()[STATED][-2:] == [made, plain]
    with pytest.raises(ClaimError, match="expected sizes of its ranges at which it holds"):
        claim("nowhere", over={"x": Matrix("n", 1)}, where="n > 6")(small)

    def documented(x):
        """Indented,

        as it is.
        """
        return small(x)

    assert claim("documented", over={"x": Scalar()})(documented).statement == "Indented,\n\nas it is."


# ---- evaluation


def test_hypotheses_are_filtered_with_slack_and_strict_ones_without():
    nearly = about(lambda x: at_most(x, 9), lambda x: at_most(x, 1))
    met, margin = nearly.margin(scalars(0, 1, 1 + 1e-10, 1 + 1e-8, 2))
    assert met.tolist() == [True, True, True, False, False]
    assert margin.slack.tolist() == pytest.approx([9, 8, 8], rel=1e-9, abs=1e-9)
    absolute = about(small, lambda x: at_most(x, 0)).margin(scalars(1e-13, 1e-11))[0]
    assert absolute.tolist() == [True, False]
    large = about(lambda x: at_most(0, 1), lambda x: at_most(x, 1e6))  # noqa: ARG005 - slack is relative to the scale
    assert large.margin(scalars(1e6 + 1e-4, 1e6 + 1e-2))[0].tolist() == [True, False]
    assert about(small, positive).margin(scalars(1e-300, 0, -1e-13))[0].tolist() == [True, False, False]
    mixed = about(small, lambda x: every(at_most(x, 1), more_than(x, 0)))
    assert mixed.margin(scalars(1 + 1e-12, 0, 1))[0].tolist() == [True, False, True]


@pytest.mark.parametrize("batched", [None, False])
def test_what_misses_says_by_how_much_and_only_what_meets_is_concluded(batched):
    seen = []

    def conclusion(x):
        seen.append(np.size(x))
        return at_most(x, 2)

    two = about(conclusion, positive, lambda x: at_most(x, 3), batched=batched)
    found = two.assess(scalars(1, -1, 5, 2.5))
    assert found.met.tolist() == [True, False, False, True]
    assert found.missing.tolist() == pytest.approx([0, 1, 0.25, 0], rel=1e-12, abs=1e-12)
    assert found.conclusion.slack.tolist() == [1, -0.5]
    assert found.conclusion.scale.tolist() == [3, 4.5]
    assert seen == ([2] if batched is None else [1, 1])
    seen.clear()
    none = two.assess(scalars(-1, -2))
    assert (none.met.tolist(), none.conclusion.slack.shape, none.conclusion.scale.shape) == ([False] * 2, (0,), (0,))
    assert seen == []
    everything = about(conclusion, positive, batched=batched)
    assert everything.assess(scalars(1, 2, 3)).conclusion.slack.tolist() == [1, 0, -1]
    assert seen == ([3] if batched is None else [1, 1, 1])


def test_misses_of_several_hypotheses_add_up():
    both = about(small, lambda x: at_most(x, 1), lambda x: every(at_most(x, 0), at_most(x, 2)))
    assert both.assess(scalars(3)).missing.tolist() == pytest.approx([2 / 4 + 3 / 3 + 1 / 5], rel=1e-12, abs=1e-12)
    alone = about(small, lambda x: at_most(x, 5), lambda x: at_most(x, 1), lambda x: at_most(x, 0), batched=False)
    assert alone.assess(scalars(3)).missing.tolist() == pytest.approx([2 / 4], rel=1e-12, abs=1e-12)


def test_one_at_a_time_a_value_that_does_not_exist_is_none():
    def conclusion(x):
        if x.item() == 2:
            raise ZeroDivisionError("division by zero")
        return at_most(x, 3)

    found = about(conclusion, positive, batched=False).assess(scalars(1, 2, -1, 4))
    assert found.met.tolist() == [True, True, False, True]
    assert found.missing.tolist() == [0, 0, 1, 0]
    assert np.array_equal(found.conclusion.slack, [2, np.nan, -1], equal_nan=True)
    assert np.array_equal(found.conclusion.scale, [4, np.nan, 7], equal_nan=True)


def test_one_at_a_time_objects_may_have_any_axes():
    def below(bound):
        return lambda W: at_most(np.array(W), bound)

    over = {"W": Stack(3, Matrix(1, 1))}
    stated = about(below(2), below(9), over=over, batched=False)
    arrays = {"W": np.array([[1.0, 4.0, 3.0], [1.0, 2.0, 1.5], [1.0, 10.0, 1.0]]).reshape(3, 3, 1, 1)}
    found = stated.assess(Batch({}, {}, arrays, 3))
    assert found.met.tolist() == [True, True, False]
    assert found.missing.tolist() == pytest.approx([0, 0, 1 / 19], rel=1e-15, abs=0)
    assert (found.conclusion.slack.tolist(), found.conclusion.scale.tolist()) == ([-2, 0], [6, 4])


def test_it_is_judged_at_given_objects():
    found = about(small).at(x=3)
    assert (found.outcome, found.lhs, found.rhs) == ("violated", 3, 2)


def test_objects_are_made_anew_and_read_only_for_hypotheses_and_conclusion():
    raw = Instance({}, {}, {"x": np.array([[3.0]])})
    made = about(small)
    first, second = made.build(raw), made.build(raw)
    assert first["x"] is not second["x"]
    assert not first["x"].flags.writeable
    assert made.build(raw, RATIONAL)["x"].dtype == object
    assert made.build(raw, FLOAT64)["x"].dtype == float
    assert made.hypotheses.__doc__
    with pytest.raises(ClaimError, match="expected some relations, got none"):
        made.hypotheses(first)


# ---- as a size grows

LAYERS = {"xs": Stack("L", Scalar()), "c": Scalar()}


def growing(quantity, as_grows, over=LAYERS, **more):
    return about(quantity, over=over, as_grows=as_grows, **more)


def layers(stated, *numbers, c=1):
    raw = Instance({"L": len(numbers)}, {}, {"xs": np.array(numbers, dtype=float).reshape(-1, 1, 1), "c": [[c]]})
    return stated.build(raw, RATIONAL)


def test_its_conclusion_is_what_is_stated_of_the_first_so_many_objects():
    stated = growing(lambda xs, c: c * xs[-1], limit("L", lambda c: 2 * c, monotone="decreasing"))
    for numbers, wanted in (((9, 7, 6, 5), True), ((9, 7, 6, 8), False), ((9, 7, 6, 1), False), ((9, 3, 6, 4), False)):
        found = stated.conclude(layers(stated, *numbers, c=3))
        assert (found.decide(RATIONAL).status == "holds") is wanted, numbers


def test_a_quantity_is_evaluated_along_the_objects():
    seen = []

    def quantity(xs, c):
        seen.append(size("L"))
        return c * len(xs) * xs[-1]

    stated = growing(quantity, rate("L", lambda L: L))
    objects = layers(stated, 9, 7, 6, 5, c=2)
    values = stated.along(objects)
    assert [values(None, count) for count in (1, 2, 4, 2)] == [18, 28, 40, 28]
    assert seen == [1, 2, 4]  # each once
    assert (values(exact(1, 3), 2), values(lambda L, c: L + c, 3)) == (exact(1, 3), 5)
    assert type(values(lambda: 7, 3)) is int
    inside = stated.along(objects, RATIONAL.array([[0]]))
    assert (inside(lambda: 7, 3).shape, inside(lambda: 7, 3).item()) == ((1, 1), 7)
    counted = growing(lambda L, c: c * L, limit("L"), {"L": Count("L"), "c": Scalar()})
    raw = Instance({"L": 4}, {}, {"c": np.array([[2.0]])})
    assert counted.along(counted.build(raw, RATIONAL))(None, 3) == 6


def test_growth_is_said_of_objects_of_a_known_size():
    stated = growing(lambda xs: xs[-1], limit("L"))
    with pytest.raises(ClaimError, match="claim trial tends to 0 as L grows, which says nothing of one size"):
        stated.along({"xs": [1], "c": 1})
    ordinary = about(small)
    with pytest.raises(ClaimError, match="claim trial says nothing of a size that grows"):
        ordinary.along(ordinary.build(scalars(1)))
    relation = growing(lambda xs: small(xs[-1]), limit("L"))
    with pytest.raises(ClaimError, match=r"<lambda> \(.* returned a relation, expected the quantity that tends to 0"):
        relation.along(layers(relation, 1))(None, 1)
    broken = growing(lambda xs: xs[7], limit("L"))
    with pytest.raises(ClaimFault, match=r"claim trial: line \d+ of test_claim.py raised IndexError"):
        broken.along(layers(broken, 1))(None, 1)


def test_growth_that_cannot_be_meant_is_refused():
    def last(xs):
        return xs[-1]

    for wrong, said in (
        ("L", r"claim trial: as_grows is 'L', expected limit\(...\) or rate\(...\)"),
        (limit("n"), r"claim trial: as_grows: 'n' is no size of its domains, expected one of L$"),
        (limit("L", lambda L: L), r"limit: to is a function of 'L', expected one of \['c'\]"),
        (limit("L", lambda xs: xs[0]), r"limit: to is a function of 'xs', expected one of \['c'\]"),
        (rate("L", constant=lambda y: y), r"rate: constant is a function of 'y', expected one of \['xs', 'c', 'L'\]"),
    ):
        with pytest.raises(ClaimError, match=said):
            growing(last, wrong)
    for allowed in (limit("L", lambda c: c), rate("L", lambda xs, c, L: L * c * len(xs), constant=lambda c, L: c * L)):
        assert growing(last, allowed).as_grows is allowed
    with pytest.raises(ClaimError, match=r"'n' is no size of its domains, expected one of \(none\)"):
        about(small, as_grows=limit("n"))
    with pytest.raises(
        ClaimError, match=r"as_grows: x in Matrix\(L, 1\) is no list of L objects, expected Stack\('L', "
    ):
        growing(last, limit("L"), {"xs": Stack("L", Scalar()), "x": Matrix("L", 1)})


# ---- what a claim's own functions raise


def raised(conclusion, error=ClaimFault):
    with pytest.raises(error) as found:
        about(conclusion).conclude({"x": RATIONAL.array([[3]])})
    return str(found.value)


def fails_with(failure):
    def conclusion(x):  # noqa: ARG001
        raise failure

    return conclusion


def test_what_a_function_raises_is_said_with_its_line():
    for failure, said in (
        (ValueError("no"), "raised ValueError: no"),
        (ValueError(), "raised ValueError"),
        (SystemExit(3), "raised SystemExit: 3"),
        (RecursionError("deep"), "raised RecursionError: deep"),
        (
            ValueError("assignment destination is read-only"),
            "raised ValueError: assignment destination is read-only; the",
        ),
        (TypeError("assignment destination is read-only"), "raised TypeError: assignment destination is read-only"),
        (
            TypeError("a ufunc is missing"),
            "raised TypeError: a ufunc is missing; NumPy's function has no exact reading",
        ),
        (TypeError("not dtype('O')"), "raised TypeError: not dtype('O'); NumPy's function has no exact reading"),
        (ValueError("a ufunc is missing"), "raised ValueError: a ufunc is missing"),
    ):
        message = raised(fails_with(failure))
        assert message.startswith("claim trial: line ")
        assert said in message
        if ";" not in said:
            assert message.endswith(said)


def test_limits_and_values_that_do_not_exist_are_passed_on():
    assert raised(lambda x: at_most(sqrt(x - 1), 1), NotExact) == "the square root of 2 is not rational"
    assert raised(fails_with(KeyboardInterrupt()), KeyboardInterrupt) == ""
    assert raised(fails_with(ClaimError("as it is")), ClaimError) == "as it is"
    assert "division by zero in line" in raised(fails_with(ZeroDivisionError("division by zero")), Undefined)
    assert raised(lambda x: at_most(0.1 * x, 1)).startswith("claim trial: the float 0.1 in line")


def test_the_line_is_the_innermost_of_the_claims_file():
    def helper(x):
        return x.nothing

    def conclusion(x):
        return at_most(helper(x), 1)

    wanted = helper.__code__.co_firstlineno + 1
    assert f"line {wanted} of test_claim.py raised AttributeError" in raised(conclusion)
    elsewhere = about(functools.partial(fails_with(ValueError("no"))))
    with pytest.raises(ClaimFault, match=r"functools.partial\(.*raised ValueError: no"):
        elsewhere.conclude({"x": 1})
    replaced = about(small).replace(rhs=functools.partial(lambda rhs: rhs.nothing))
    with pytest.raises(ClaimFault, match="a modified side raised AttributeError"):
        replaced.conclude({"x": 1})


# ---- variants


def test_sides_are_replaced_as_they_are_stated():
    stated = about(lambda x: at_least(x, 2))
    relation = stated.replace(rhs=lambda rhs, x: rhs + x, lhs=lambda lhs: 10 * lhs).conclude({"x": 3})
    assert relation.stated == (30, ">=", 5)
    assert stated.replace(rhs=lambda: 7).conclude({"x": 3}).stated == (3, ">=", 7)
    assert stated.replace(lhs=lambda x: -x).conclude({"x": 3}).stated == (-3, ">=", 2)
    with pytest.raises(ClaimError, match=r"a new side uses 'y', expected lhs, rhs or one of \['x'\]"):
        stated.replace(rhs=lambda y: y)
    several = about(lambda x: every(at_most(x, 2), equal(x, x))).replace(rhs=lambda rhs: rhs)
    with pytest.raises(ClaimError, match="claim trial states several relations"):
        several.conclude({"x": 3})


def test_a_new_conclusion_may_use_the_present_sides():
    stated = about(lambda x: at_least(x, 2))
    relation = stated.replace(conclusion=lambda lhs, rhs, x: less_than(lhs + rhs, x)).conclude({"x": 3})
    assert relation.stated == (5, "<", 3)
    assert stated.replace(conclusion=lambda rhs: equal(rhs, 2)).conclude({"x": 3}).stated == (2, "==", 2)
    assert stated.replace(conclusion=small).conclusion is small
    several = about(lambda x: every(at_most(x, 2), equal(x, x)))
    assert several.replace(conclusion=small).conclude({"x": 3}).stated == (3, "<=", 2)
    with pytest.raises(ClaimError, match="claim trial states several relations"):
        several.replace(conclusion=lambda lhs: at_most(lhs, 2)).conclude({"x": 3})
    with pytest.raises(ClaimError, match=r"a new conclusion uses 'y', expected lhs, rhs or one of \['x'\]"):
        stated.replace(conclusion=lambda y: at_most(y, 1))
    for sides in ({"lhs": lambda x: x}, {"rhs": lambda x: x}):
        with pytest.raises(ClaimError, match="expected a new conclusion, or new sides of the present one, not both"):
            stated.replace(conclusion=small, **sides)


def test_everything_else_is_replaced_too():
    stated = about(
        small, positive, over={"x": Matrix("n", 1)}, sizes={"n": range(1, 3)}, origin="a file", expect="fails"
    )
    plain = stated.replace()
    assert (plain.id, plain.expect, plain.origin, plain.conclusion) == ("trial+modified", "holds", None, small)
    assert (plain.assuming, plain.over, plain.sizes) == (stated.assuming, stated.over, stated.sizes)

    def other(x):
        return less_than(x, 9)

    made = stated.replace(assuming=[other], without="positive", over={"x": Matrix("n", 2)}, id="b", expect="fails")
    assert (made.id, made.expect, made.assuming) == ("b", "fails", (other,))
    assert made.parts({"n": 3}, {})["x"].shape == (3, 2)
    assert stated.replace(sizes={"n": range(4, 5)}).size_ranges() == {"n": range(4, 5)}
    assert stated.replace(without=["positive"]).assuming == ()
    assert stated.replace(over={"x": Scalar()}).sizes == {}  # what has no sizes any more
    tall = stated.replace(where="n > 1")
    assert (stated.where, tall.where, tall.replace().where, tall.replace(where="").where) == ("", "n > 1", "n > 1", "")
    with pytest.raises(ClaimError, match=r"without='finite', expected one of its hypotheses \['positive'\]"):
        stated.replace(without=["finite"])
    with pytest.raises(ClaimError, match=r"expected one of its hypotheses \(none\)"):
        about(small).replace(without="finite")
    with pytest.raises(ClaimError, match=r"over='y', expected one of its variables \['x'\]"):
        stated.replace(over={"y": Scalar()})


def test_variables_may_vary_together():
    def sum_at_most(x, y, z):
        return at_most(x + 10 * y, z)

    def ordered(x, z):
        return less_than(x, z)

    def apart(z):
        return more_than(z, 0)

    scalar = dict.fromkeys("xyz", Scalar())
    stated = about(sum_at_most, ordered, apart, over=scalar)
    for joint, others, pair in (
        ("x_y", ["x_y", "z"], (1, 2)),
        ("x_z", ["x_z", "y"], (1, 3)),
        ("y_z", ["x", "y_z"], (2, 3)),
    ):
        made = stated.replace(over={tuple(joint.split("_")): Given(([[1]], [[2]]), ([[3]], [[4]]))})
        assert list(made.over) == others
        assert isinstance(made.over[joint], Given)
        objects = {"x": 1, "y": 2, "z": 3, joint: pair}
        assert made.conclude({name: objects[name] for name in others}).stated == (21, "<=", 3)
        assert made.hypotheses({name: objects[name] for name in others}).wording
        assert [made._call(f, objects).stated for f in made.assuming] == [(1, "<", 3), (3, ">", 0)]
        assert (made.assuming[1] is apart) is ("z" not in joint)
    both = stated.replace(over={("x", "y"): Product(Scalar(), Scalar()), "z": Scalar(0, 1)}, without="apart")
    assert (list(both.over), both.over["z"], len(both.assuming)) == (["x_y", "z"], Scalar(0, 1), 1)
    everything = stated.replace(over={("x", "y", "z"): Product(*scalar.values())})
    assert everything.conclude({"x_y_z": (1, 2, 3)}).stated == (21, "<=", 3)
    pair = Product(Scalar(), Scalar())
    for over, said in (
        ({("x", "y"): pair, "x": Scalar()}, r"over='x', expected each once, of \['x', 'y', 'z'\]"),
        ({("x", "t"): pair}, "over='t', expected one of its variables"),
        ({("x", "y"): 3}, r"claim trial: over\[\('x', 'y'\)\]: expected a domain such as"),
        ({("x", "y", "z"): pair}, r"expected a domain of tuples of 3 objects \(two or more\).*, got Product"),
        ({("x", "y"): Scalar()}, "expected a domain of tuples of 2 objects"),
        ({("x",): Product(Scalar())}, "expected a domain of tuples of 1 objects"),
    ):
        with pytest.raises(ClaimError, match=said):
            stated.replace(over=over)


def test_sizes_are_told_by_the_objects_that_are_given():
    stated = about(lambda X, Y: at_most(X, Y), over={"X": Matrix("n", "d"), "Y": Matrix("n", "d")})
    two = np.ones((2, 3))
    assert stated.replace(over={"X": Given(two)}).size_ranges() == {"n": range(2, 3), "d": range(3, 4)}
    both = stated.replace(over={("X", "Y"): Given((two, two))})
    assert both.size_ranges() == {}
    assert stated.replace(over={"X": Given(two)}, sizes={"n": range(2, 5)}).size_ranges()["n"] == range(2, 5)
    for over in ({"X": Given(two), "Y": Given(two.T)}, {("X", "Y"): Given((two, two.T))}):
        with pytest.raises(ClaimError, match="claim trial: n would be 2 and 3"):
            stated.replace(over=over)
    for other in (
        Stack("n", Scalar()),
        Product(Scalar(), Matrix(2, 2)),
        Matrix("m", "n"),
    ):  # no numbers: nothing is told
        assert stated.replace(over={"X": other}).size_ranges()["n"] == range(1, 7)
    listed = about(lambda xs: at_most(xs, 1), over={"xs": Stack("L", Scalar())})
    assert listed.replace(over={"xs": Given(two)}).size_ranges() == {}


def test_what_is_said_as_a_size_grows_is_replaced_with_the_conclusion_alone():
    stated = growing(lambda xs: xs[-1], limit("L"))
    assert stated.replace(over={"c": Scalar(0, 1)}).as_grows is stated.as_grows
    ordinary = stated.replace(conclusion=lambda c: at_most(c, 1))
    assert (ordinary.as_grows, ordinary.conclude({"xs": [], "c": 3}).stated) == (None, (3, "<=", 1))
    for sides in ({"lhs": lambda lhs: lhs}, {"rhs": lambda rhs: rhs}):
        with pytest.raises(ClaimError, match="claim trial: it tends to 0 as L grows, and has no sides"):
            stated.replace(**sides)


def test_exact_literals_stand_in_sides():
    assert about(small).replace(rhs=lambda: exact(1, 2)).margin(scalars(1))[1].slack.tolist() == [-0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": 3}, "claim id 3: expected text"),
        ({"over": [Scalar()]}, r"claim trial: over is \[Scalar.*\], expected a mapping by name, such as a dict"),
        ({"over": {3: Scalar()}}, r"claim trial: over is \{3: Scalar.*\}, expected a mapping by name"),
        ({"assuming": small}, r"claim trial: assuming is <function small .*, expected a list of functions"),
        ({"assuming": [3]}, r"claim trial: assuming is \[3\], expected a list of functions"),
    ],
)
def test_arguments_of_a_wrong_kind_are_refused_by_name(arguments, message):
    with pytest.raises(ClaimError, match=message):
        claim(**{"id": "trial", "over": {"x": Scalar()}, **arguments})(small)


def test_what_is_no_function_is_no_claim():
    with pytest.raises(ClaimError, match="claim trial: expected a function that returns a relation, got 3"):
        claim("trial", over={"x": Scalar()})(3)


def test_what_grows_needs_a_quantity_beside_it():
    stated = about(small)
    with pytest.raises(ClaimError, match="as_grows: expected a conclusion beside it, which gives the quantity"):
        stated.replace(as_grows=limit("n"))
    over = {"c": Scalar(1, 2), "L": Count("L")}
    grown = about(small, over={"x": Scalar(), **over}).replace(conclusion=lambda c, L: c * L, as_grows=limit("L"))
    assert grown.replace(as_grows=limit("L", monotone="decreasing")).as_grows.monotone == "decreasing"
