"""What every exact number system shares: operators, three-valued comparisons, what is refused, what has no value."""

import _thread
import contextlib
import math
import operator
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from flint import arb, ctx, fmpq, fmpz

import resstream
from resstream.arithmetic import RATIONAL, SYMBOLIC, Ball, BallEntry, DualEntry, RationalEntry, SymbolicEntry, exact, pi
from resstream.arithmetic.entries import Entries, Entry, NoValue, at_most_one, entries_of, negated, place, refuse
from resstream.arithmetic.rationals import one_entry
from resstream.arithmetic.solver import Formula
from resstream.errors import ForeignNumber, NotExact, NotExpressible, Unbounded, Undecided, Undefined

BALL = Ball(128)
THREE, TWO = RationalEntry(fmpq(3)), RationalEntry(fmpq(2))
NUMBERS = [2, np.int64(2), np.uint8(2), fmpq(2), fmpz(2), Fraction(2), exact(2), 2.0, np.float64(2), np.float32(2)]
NONE = NoValue("none", True)


def in_each(number):
    """The same number in every exact number system, with how its value is read."""
    formula = Formula()
    return [
        (RATIONAL.array([number])[0], lambda e: Fraction(int(e.value.p), int(e.value.q))),
        (BALL.array([number])[0], lambda e: Fraction(float(e.value))),
        (SYMBOLIC.array([number])[0], lambda e: Fraction(int(e.value.p), int(e.value.q))),
        (formula.array([number])[0], lambda e: Fraction(int(e.polynomial.known().p), int(e.polynomial.known().q))),
        (
            DualEntry(RATIONAL.array([number])[0], RationalEntry(fmpq(0)), 1),
            lambda e: Fraction(int(e.value.value.p), int(e.value.value.q)),
        ),
    ]


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]


@pytest.mark.parametrize("question", OPERATORS, ids=lambda f: f.__name__)
def test_operators_with_every_kind_of_number_from_both_sides(question):
    compared = 0
    for entry, read in in_each(3):
        for number in NUMBERS:
            assert read(question(entry, number)) == question(Fraction(3), Fraction(2)), (entry, number)
            if not isinstance(number, (np.generic, fmpq, fmpz)):
                slack = Fraction(1, 2**50) if isinstance(entry, BallEntry) else 0
                assert abs(read(question(number, entry)) - question(Fraction(2), Fraction(3))) <= slack, (entry, number)
            compared += 1
        for number in (True, np.True_):
            assert read(question(entry, number)) == question(Fraction(3), 1)
        for number in (-17, -16, 16, 17, 10**30):
            assert read(question(entry, number)) == question(Fraction(3), number) or type(entry) is BallEntry
    assert compared == 50


def test_literals_that_are_no_fraction_are_met_as_numbers_of_the_system():
    with BALL.working():
        three, circle = BALL.array([3])[0], BALL.array([0])[0].pi()
        for question in OPERATORS:
            for found, wanted in (
                (question(three, pi), question(three, circle)),
                (question(pi, three), question(circle, three)),
            ):
                assert found.value.overlaps(wanted.value)
                assert found.value.rad() < 1e-30
        assert three < pi < three + 1


def test_powers():
    for entry, read in in_each(3):
        for exponent in (0, 1, 2, 3, 4, 5, -1, -2, 2.0, np.int64(2), exact(2), np.float64(3)):
            whole = int(exponent.value) if hasattr(exponent, "value") else int(exponent)
            if type(entry) is BallEntry and whole < 0:
                assert abs(read(entry**exponent) - Fraction(3) ** whole) < Fraction(1, 2**50)
            else:
                assert read(entry**exponent) == Fraction(3) ** whole
        for wrong in (0.5, exact(1, 2), np.float64(0.5), "2", None):
            with pytest.raises(
                ForeignNumber, match=r"the power .* in line \d+ of test_arithmetic_entries.py: exact numbers"
            ):
                entry**wrong
        with pytest.raises(ForeignNumber, match=r"a power with an exact exponent in line"):
            2**entry
    squares = THREE ** np.array([1, 2])
    assert (squares.dtype, squares.tolist()) == (object, [3, 9])


def test_signs_and_absolute_values():
    for (entry, read), (minus, _) in zip(in_each(3), in_each(-3), strict=True):
        assert (read(-entry), read(+entry)) == (-3, 3)
        if type(entry).__name__ != "SolverEntry":
            assert (read(abs(entry)), read(abs(minus))) == (3, 3)
        assert entry.conjugate() is entry
        assert +entry is entry


def test_comparisons_with_every_kind_of_number():
    for entry, _ in in_each(2):
        for number in NUMBERS:
            found = (entry < number, entry <= number, entry == number, entry != number, entry >= number, entry > number)
            assert found == (False, True, True, False, True, False), (entry, number)
        assert (entry < 3, entry <= 3, entry == 3, entry != 3, entry >= 3, entry > 3) == (
            True,
            True,
            False,
            True,
            False,
            False,
        )
        assert (entry < 1, entry <= 1, entry == 1, entry != 1, entry >= 1, entry > 1) == (
            False,
            False,
            False,
            True,
            True,
            True,
        )
        assert bool(entry)
        assert not bool(entry - 2)
        assert (1 < entry, 3 < entry, 2 <= entry, 1 >= entry) == (True, False, True, False)  # noqa: SIM300


def test_what_is_not_known_is_neither_true_nor_false():
    wide, narrow = BallEntry(arb(1, 0.5)), BallEntry(arb(1.25))
    for question, sign in (
        (operator.lt, "<"),
        (operator.le, "<="),
        (operator.eq, "=="),
        (operator.ne, "!="),
        (operator.gt, ">"),
        (operator.ge, ">="),
    ):
        with pytest.raises(Undecided, match=f"whether .* {sign} 1.25.* is not known at this precision"):
            question(wide, narrow)
    assert wide <= wide  # however little is known of it
    assert (at_most_one(wide, wide), at_most_one(wide, narrow), at_most_one(narrow, BallEntry(arb(1)))) == (
        True,
        None,
        False,
    )
    assert at_most_one(BallEntry(arb(1)), narrow) is True
    assert (negated(True), negated(False), negated(None)) == (False, True, None)
    assert NotImplemented is THREE.__lt__("text")
    assert NotImplemented is THREE.__eq__(None)
    with pytest.raises(TypeError):
        assert THREE < "text"
    assert (THREE == "text", THREE != None) == (False, True)  # noqa: E711


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        (
            0.1,
            r'the float 0.1 in line \d+ of test_arithmetic_entries.py meets exact numbers: write exact\("0.1"\) if',
        ),
        (np.float64(0.5), r'the float 0.5 in .*: write exact\("0.5"\)'),
        (float("nan"), "the number nan in .*: claims are about real numbers"),
        (float("inf"), "the number inf in .*: claims are about real numbers"),
        (1j, "the number 1j in .*: claims are about real numbers"),
        (np.complex128(2), r"the number \(2\+0j\) in .*: claims are about real numbers"),
    ],
)
def test_foreign_numbers_are_refused_with_the_line_and_the_mend(foreign, message):
    for entry, _ in in_each(3):
        for question in (*OPERATORS, operator.lt, operator.ge, operator.eq, operator.ne):
            with pytest.raises(ForeignNumber, match=message):
                question(entry, foreign)


def test_what_is_no_number_is_left_to_python():
    for entry, _ in in_each(3):
        for other in ("text", None, [1]):
            with pytest.raises(TypeError):
                entry + other
            with pytest.raises(TypeError):
                other - entry


def test_entries_of_one_system_meet_another_where_it_knows_rationals():
    ball = BALL.array([3])[0]
    assert isinstance(ball + TWO, BallEntry)
    assert isinstance(TWO - ball, BallEntry)
    assert float((TWO - ball).value) == -1
    assert isinstance(TWO + SymbolicEntry(sp.Symbol("x", real=True)), SymbolicEntry)
    assert THREE.meet(TWO) is TWO
    assert THREE.meet(ball) is NotImplemented
    assert ball.meet(arb(2)).value == 2
    assert THREE.adopt(arb(2)) is None
    assert THREE.frozen() is THREE
    assert (THREE.known(), ball.known()) == (3, None)
    with pytest.raises(TypeError):
        ball + SymbolicEntry(sp.Symbol("x", real=True))


def test_arrays_are_left_to_numpy():
    array = RATIONAL.array([1, 2])
    for question, wanted in ((operator.add, [4, 5]), (operator.sub, [2, 1]), (operator.mul, [3, 6])):
        assert question(THREE, array).tolist() == wanted
    assert (array - THREE).tolist() == [-2, -1]
    assert (array / THREE).tolist() == [fmpq(1, 3), fmpq(2, 3)]
    assert (array < THREE).tolist() == [True, True]
    nothing = NONE + array
    assert (nothing.shape, [type(e) for e in nothing]) == ((2,), [NoValue, NoValue])


# ---- what has no exact reading


def test_conversions_and_rounding_are_refused():
    line = r"in line \d+ of test_arithmetic_entries.py has no exact reading: "
    compute = "compute with the entries as they are"
    other = "use the functions of resstream.arithmetic"
    for function, name, mend in (
        (float, r"float\(\)", compute),
        (int, r"int\(\)", compute),
        (complex, r"complex\(\)", compute),
        (operator.index, r"int\(\)", compute),
        (round, r"round\(\)", other),
        (math.floor, "numpy.floor", other),
        (math.ceil, "numpy.ceil", other),
        (math.trunc, "numpy.trunc", other),
        (lambda x: x // 2, r"floor_divide\(\)", other),
        (lambda x: x % 2, r"floor_divide\(\)", other),
        (lambda x: divmod(x, 2), r"floor_divide\(\)", other),
        (lambda x: 7 // x, r"floor_divide\(\)", other),
    ):
        with pytest.raises(ForeignNumber, match=name + " " + line + mend):
            function(THREE)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "fabs"])
def test_functions_of_numpy_are_refused_with_ours(name):
    ours = "absolute" if name == "fabs" else name
    with pytest.raises(
        ForeignNumber, match=rf"numpy.{name} in line .* exact reading: use resstream.arithmetic.{ours}$"
    ):
        getattr(np, name)(RATIONAL.array([1, 2]))


@pytest.mark.parametrize("name", ["exp2", "arctan", "sinh", "floor", "rint", "log1p"])
def test_functions_of_numpy_without_ours_are_refused(name):
    with pytest.raises(
        ForeignNumber, match=rf"numpy.{name} in line .*: use the functions of resstream.arithmetic \(mean"
    ):
        getattr(np, name)(RATIONAL.array([1, 2]))
    with pytest.raises(ForeignNumber):
        getattr(THREE, name)()


def test_other_attributes_are_missing():
    with pytest.raises(AttributeError, match="RationalEntry has no attribute 'nothing'"):
        THREE.nothing  # noqa: B018
    with pytest.raises(ForeignNumber, match=r"^mean\(\) in"):
        refuse("mean")


def test_the_table_of_a_system_that_states_nothing():
    class Bare(Entry):
        __slots__ = ()

    bare = Bare()
    for name in ("plus", "times", "over", "below", "same", "larger", "of"):
        with pytest.raises(NotImplementedError):
            getattr(bare, name)(bare)
    for name in ("negative", "square_root", "exponential", "logarithm", "cosine", "sine", "hyperbolic_tangent"):
        with pytest.raises(NotImplementedError):
            getattr(bare, name)()
    for name in ("error_function", "pi"):
        with pytest.raises(NotImplementedError):
            getattr(bare, name)()
    for question in (lambda: bare.minus(bare), lambda: bare.size(), lambda: bare.whole(1), lambda: bare.root(3)):
        with pytest.raises(NotImplementedError):
            question()
    assert (bare.adopt(1), bare.known(), bare.frozen() is bare, bare.settled() is bare) == (None, None, True, True)
    assert bare.matrix_product([[bare]], [[bare]]) is None


# ---- where it was


def test_the_place_is_the_nearest_line_outside_the_package_and_numpy():
    here = sys._getframe().f_lineno + 1
    assert place() == f"line {here} of {Path(__file__).name}"
    scope = {"__file__": "<string>", "place": place}
    exec(compile("def f():\n    return place()\n", "<string>", "exec"), scope)
    assert scope["f"]() == f"line {sys._getframe().f_lineno} of {Path(__file__).name}"
    exec(compile("def f():\n    return place()\n", "/lib/numpy/core.py", "exec"), scope)
    assert scope["f"]() == f"line {sys._getframe().f_lineno} of {Path(__file__).name}"
    package = Path(resstream.__file__).parent
    exec(compile("def f():\n    return place()\n", f"{package}/reference/mine.py", "exec"), scope)
    assert scope["f"]() == f"line {sys._getframe().f_lineno} of {Path(__file__).name}"
    exec(compile("def f():\n    return place()\n", f"{package}/claims/mine.py", "exec"), scope)
    assert scope["f"]() == "line 2 of mine.py"  # a claim of the library is a claim


def test_where_nothing_is_outside():
    found, done = [], _thread.allocate_lock()
    done.acquire()
    scope = {"place": place, "found": found, "done": done}
    file = f"{Path(resstream.__file__).parent}/reference/mine.py"
    exec(compile("def g():\n    found.append(place())\n    done.release()\n", file, "exec"), scope)
    _thread.start_new_thread(scope["g"], ())
    assert done.acquire(timeout=10)
    assert found == ["a side or an expression"]


# ---- what has no value


def test_what_has_no_value_swallows_what_it_meets():
    for other in (THREE, BALL.array([3])[0], SYMBOLIC.array([3])[0], 3, 0.5, exact(1, 2), NONE):
        for question in OPERATORS:
            assert isinstance(question(NONE, other), NoValue)
            assert isinstance(question(other, NONE), NoValue)
    for function in (operator.neg, abs, operator.pos, lambda e: e**3, lambda e: e.square_root(), lambda e: e.pi()):
        assert function(NONE) is NONE
    assert NONE.root(3) is NONE
    for name in (
        "exponential",
        "logarithm",
        "cosine",
        "sine",
        "hyperbolic_tangent",
        "error_function",
        "size",
        "negative",
    ):
        assert getattr(NONE, name)() is NONE
    for name in ("plus", "minus", "times", "over", "larger"):
        assert getattr(NONE, name)(THREE) is NONE
    assert NONE.of(fmpq(1)) is NONE
    assert NONE.meet(3) is NONE
    assert repr(NONE).startswith("no value (none in line ")


def test_what_has_no_value_is_not_compared():
    perhaps, overflow = NoValue("perhaps", False), NoValue("overflow", False, unbounded=True)
    for nothing, error in ((NONE, Undefined), (perhaps, Undecided), (overflow, Unbounded)):
        for question in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
            for first, second in ((nothing, THREE), (THREE, nothing), (nothing, 1), (1, nothing)):
                with pytest.raises(error, match=nothing.reason.split(" in ")[0]) as found:
                    question(first, second)
                assert type(found.value) is error
        for asked in (lambda n=nothing: n.below(THREE), lambda n=nothing: n.same(THREE), lambda n=nothing: bool(n)):
            with pytest.raises(error):
                asked()
    assert (NONE.certain, NONE.unbounded, perhaps.certain, overflow.unbounded) == (True, False, False, True)


# ---- balls


def ball(middle, radius=0.0, nonnegative=False):
    return BallEntry(arb(middle, radius), nonnegative)


def test_which_balls_are_nonnegative_by_their_form():
    yes, no, low = ball(1, 2, True), ball(1, 2), ball(-1)
    assert [e.nonnegative for e in (yes + yes, yes + no, no + yes, no + no)] == [True, False, False, False]
    assert [e.nonnegative for e in (yes * yes, yes * no, no * yes, no * ball(1, 2), no * no)] == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert [e.nonnegative for e in (yes.larger(no), no.larger(yes), no.larger(low), yes.larger(yes))] == [
        True,
        True,
        False,
        True,
    ]
    two, plain = ball(2, 0.5, True), ball(2, 0.5)
    assert [e.nonnegative for e in (yes / two, yes / plain, no / two)] == [True, False, False]
    assert [e.nonnegative for e in (-yes, yes - yes, abs(low), two.square_root(), plain.exponential())] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert [e.nonnegative for e in (plain.logarithm(), plain.cosine(), plain.sine(), plain.hyperbolic_tangent())] == [
        False
    ] * 4
    assert [e.nonnegative for e in (plain.error_function(), plain.pi(), plain.of(fmpq(0)), plain.of(fmpq(-1)))] == [
        False,
        True,
        True,
        False,
    ]
    assert [BALL.array([v])[0].nonnegative for v in (0.0, -0.5, 0.5, 0, -1, 1, Fraction(-1, 2))] == [
        True,
        False,
        True,
        True,
        False,
        True,
        False,
    ]
    assert [yes.whole(v).nonnegative for v in (-1, 0, 1)] == [False, True, True]
    assert BALL.array([arb(3)])[0].nonnegative is False
    assert BallEntry(arb(1)).nonnegative is False
    assert ball(0).adopt(arb(1)).nonnegative is False


def test_comparisons_of_balls_that_touch():
    one = ball(1)
    assert (ball(0.5, 0.25).below(one), one.below(ball(0.5, 0.25)), ball(1, 0.5).below(one)) == (True, False, None)
    assert (ball(0).below(one), one.below(ball(0)), one.below(ball(1))) == (True, False, False)
    zero_or_more = ball(0, 0.5, True)
    assert (zero_or_more.below(ball(0)), zero_or_more.below(ball(-0.25)), zero_or_more.below(ball(0.25))) == (
        False,
        False,
        None,
    )
    assert (ball(0, 0.5).below(ball(0)), zero_or_more.below(ball(0, 0.25))) == (None, None)
    wide = ball(1, 0.5)
    assert (wide.below(wide), wide.same(wide), wide.same(ball(1, 0.5)), wide.same(ball(3))) == (
        False,
        True,
        None,
        False,
    )
    assert (one.same(ball(1)), one.same(ball(2))) == (True, False)


def test_balls_and_where_they_have_no_value():
    def nothing(entry, certain, reason, unbounded=False):
        assert isinstance(entry, NoValue)
        assert (entry.certain, entry.unbounded) == (certain, unbounded)
        assert entry.reason.startswith(reason)

    with BALL.working():
        nothing(ball(1) / ball(0), True, "division by zero in line")
        nothing(ball(1) / ball(0, 1), False, "division by a number that may be zero")
        nothing(ball(-2).square_root(), True, "square root of the negative number -2.00000 in")
        nothing(ball(0, 1).square_root(), False, "square root of a number that may be negative")
        nothing(ball(0).logarithm(), True, "logarithm of 0")
        nothing(ball(-1, 0.5).logarithm(), True, "logarithm of -1")
        nothing(ball(0, 1).logarithm(), False, "logarithm of a number that may not be positive")
        nothing(BallEntry(arb("inf")).exponential(), False, "overflow", True)
        for name in ("exponential", "cosine", "sine", "hyperbolic_tangent", "error_function"):
            nothing(getattr(BallEntry(arb("nan")), name)(), False, "overflow", True)
        assert ball(0).square_root().value == 0
        assert ball(4).square_root().value == 2
        cut = ball(0, 1, True).square_root().value
        assert cut.contains(0)
        assert cut.contains(1)
        assert ball(0, 1, True).square_root().nonnegative
        assert arb(-1e-6) < cut.lower()
        nothing(ball(-0.5, 0.25).square_root(), True, "square root of the negative number")
        nothing(ball(0.25, 0.5).square_root(), False, "square root of a number that may be negative")
        nothing(ball(0.25, 0.5).logarithm(), False, "logarithm of a number that may not be positive")
        assert repr(ball(0.5)) == "0.50000000000000000000"
        assert repr(BallEntry(arb.pi())).startswith("[3.1415926535897932385")
        assert ball(3).larger(ball(2)).value == 3


def test_roots_of_balls():
    with BALL.working():
        for degree in (3, 4, 5):
            for middle, radius in ((8, 0), (0.5, 0.25), (1e-30, 0), (1e30, 1e20), (1, 0.5)):
                root = ball(middle, radius).root(degree)
                assert root.nonnegative
                assert root.value > 0
                assert (root.value**degree).contains(arb(middle, radius))
                assert root.value.rad() <= root.value.mid() * max(radius / middle, 1e-30)
            for middle, radius in ((-2, 0), (-0.5, 0.25)):
                root = ball(middle, radius).root(degree)
                assert isinstance(root, NoValue)
                assert root.certain
                assert root.reason.startswith("root of the negative number -")
            for middle, radius in ((0, 1), (0.25, 0.5)):
                root = ball(middle, radius).root(degree)
                assert isinstance(root, NoValue)
                assert not root.certain
                assert root.reason.startswith("root of a number that may be negative")
                cut = ball(middle, radius, True).root(degree)
                assert cut.nonnegative
                for inside in (arb(0), arb(middle + radius).root(degree) - arb(1e-6)):
                    assert cut.value.contains(inside)
                assert not cut.value < arb(middle + radius).root(degree)
                assert arb(-1e-6) < cut.value.lower()
                assert cut.value.upper() < arb(middle + radius).root(degree) + arb(1e-6)
            assert ball(0).root(degree).value == 0
            assert ball(0).root(degree).nonnegative


def test_the_precision_is_set_where_balls_are_computed_with_and_put_back():
    before = ctx.prec
    with Ball(200).working():
        assert ctx.prec == 200
        with Ball(64).working():
            assert ctx.prec == 64
        with contextlib.suppress(RuntimeError), Ball(64).working():
            raise RuntimeError
        assert ctx.prec == 200
    assert ctx.prec == before
    third = Ball(300).array([Fraction(1, 3)])[0].value
    assert arb(2) ** -310 < third.rad() < arb(2) ** -290
    assert ctx.prec == before
    assert (Ball().bits, Ball(64).name) == (128, "ball(64)")
    scalar = Ball(64).array(3)
    assert (scalar.shape, scalar.item().value) == ((), 3)
    assert Ball(64).array(np.zeros((2, 0))).shape == (2, 0)
    assert Ball(64).array([RATIONAL.array(2).item(), arb(3), "1/2", np.float32(0.5)])[3].value == 0.5
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="expected a finite number"):
            BALL.array([bad])


# ---- rationals


def test_rationals_where_they_have_no_value_or_no_rational_one():
    def rational(p, q=1):
        return RationalEntry(fmpq(p, q))

    for entry, reason in (
        (rational(1) / rational(0), "division by zero in line"),
        (rational(-2).square_root(), "square root of the negative number -2 in"),
        (rational(0).logarithm(), "logarithm of 0"),
        (rational(-1).logarithm(), "logarithm of -1"),
    ):
        assert isinstance(entry, NoValue)
        assert entry.certain
        assert entry.reason.startswith(reason)
    assert rational(0).square_root() == 0
    assert rational(4, 9).square_root() == fmpq(2, 3)
    for wrong in (rational(2), rational(4, 3), rational(2, 9)):
        with pytest.raises(NotExact, match=f"the square root of {wrong.value} is not rational"):
            wrong.square_root()
    for name, called, at, value in (
        ("exponential", "exp", 0, 1),
        ("logarithm", "log", 1, 0),
        ("cosine", "cos", 0, 1),
        ("sine", "sin", 0, 0),
        ("hyperbolic_tangent", "tanh", 0, 0),
        ("error_function", "erf", 0, 0),
    ):
        assert getattr(rational(at), name)().value == value
        for other in (1 - at, 2, fmpq(1, 2)):
            if other:
                with pytest.raises(NotExact, match=rf"{called}\({other}\) is not rational"):
                    getattr(RationalEntry(fmpq(other)), name)()
    with pytest.raises(NotExact, match="pi is not rational"):
        THREE.pi()
    assert (THREE.larger(TWO), TWO.larger(THREE)) == (THREE, THREE)
    assert (THREE.larger(rational(3)) is THREE, rational(-3).size() == 3, rational(-3).negative() == 3) == (True,) * 3
    assert (repr(rational(1, 3)), sp.sympify(rational(1, 3)), sp.Rational(1, 3) + 0 == sp.sympify(rational(1, 3))) == (
        "1/3",
        sp.Rational(1, 3),
        True,
    )
    assert [THREE.whole(v).value for v in (-16, 0, 16)] == [-16, 0, 16]
    assert (RATIONAL.array(3).shape, RATIONAL.array(3).item()) == ((), 3)
    assert RATIONAL.array([THREE, "1/2"]).tolist() == [3, fmpq(1, 2)]
    with RATIONAL.working():
        assert THREE.of(fmpq(1, 2)) == fmpq(1, 2)


def test_roots_of_rationals():
    for degree in (3, 4, 5):
        for root in (fmpq(0), fmpq(1), fmpq(2, 3), fmpq(7)):
            assert RationalEntry(root**degree).root(degree).value == root
        for value in (fmpq(2), fmpq(1, 2), fmpq(9, 8)):
            with pytest.raises(NotExact, match=f"the root of degree {degree} of {value} is not rational"):
                RationalEntry(value).root(degree)
        for value in (fmpq(-8), fmpq(-1, 2)):
            nothing = RationalEntry(value).root(degree)
            assert isinstance(nothing, NoValue)
            assert nothing.certain
            assert nothing.reason.startswith(f"root of the negative number {value} in")
    made = one_entry(THREE)
    assert (made.shape, made.dtype, made.item()) == ((), object, 3)


def test_branches_on_expressions_that_are_not_known():
    x = SymbolicEntry(sp.Symbol("x", real=True))
    for question in (operator.lt, operator.le, operator.eq, operator.ne):
        with pytest.raises(NotExpressible):
            question(x, 1)


# ---- arrays


def test_arrays_of_entries_stay_such_and_a_full_reduction_gives_an_entry():
    array = RATIONAL.array([[1, 2], [3, 4]])
    assert {type(z) for z in (array, array + array, -array, array.sum(axis=0), array @ array)} == {Entries}
    assert (type(array.sum()), array.sum()) == (RationalEntry, 10)
    assert type(array.__array_wrap__(np.asarray(array))) is Entries
    made = entries_of([THREE, TWO], (2, 1))
    assert (type(made), made.shape, made.tolist()) == (Entries, (2, 1), [[3], [2]])


def test_which_products_of_matrices_are_made_by_the_system(monkeypatch):
    made = []
    own = RationalEntry.matrix_product

    def noted(rows, columns):
        made.append(own(rows, columns))
        return made[-1]

    monkeypatch.setattr(RationalEntry, "matrix_product", staticmethod(noted))

    def product(first, second):
        made.clear()
        result = first @ second
        for entries in made:
            assert all(entry is found for entry, found in zip(entries, result.ravel(), strict=True))
        return result.tolist(), len(made)

    def of(n, k):
        return np.arange(1, n * k + 1).reshape(n, k)

    for n, k, m, times in (
        (2, 2, 2, 1),
        (2, 1, 4, 1),
        (4, 1, 2, 1),
        (1, 8, 1, 1),
        (1, 7, 1, 0),
        (1, 1, 1, 0),
        (2, 0, 3, 0),
    ):
        first, second = of(n, k), of(k, m)
        plain = np.asarray(RATIONAL.array(first))
        for left in (RATIONAL.array(first), plain):
            assert product(left, RATIONAL.array(second)) == ((first @ second).tolist(), times), (n, k, m)
        assert product(RATIONAL.array(first), np.asarray(RATIONAL.array(second))) == ((first @ second).tolist(), times)
    A, x, stack = RATIONAL.array(of(3, 3)), RATIONAL.array(of(1, 3)[0]), RATIONAL.array(of(2, 9).reshape(2, 3, 3))
    for first, second in (
        (A, x),
        (x, A),
        (A, stack),
        (stack, A),
        (stack, stack),
        (A, of(3, 3)),
        (of(3, 3).astype(float), A),
    ):
        whole = [
            np.array([[int(e) if not isinstance(e, Entry) else int(e.value.p) for e in z.ravel()]]).reshape(z.shape)
            for z in (first, second)
        ]
        assert product(first, second) == ((whole[0] @ whole[1]).tolist(), 0)
    mixed = np.array([[1, THREE], [TWO, 4]], dtype=object)
    assert product(RATIONAL.array(of(2, 2)), mixed) == ([[5, 11], [11, 25]], 0)
    whole = of(2, 2).astype(object)
    assert product(whole.view(Entries), whole) == ((whole @ whole).tolist(), 0)
    assert product(RATIONAL.array(of(2, 2)), whole.tolist()) == ((whole @ whole).tolist(), 0)
    with BALL.working():
        both = RATIONAL.array(of(2, 2)) @ BALL.array(of(2, 2))
        assert [(type(e), float(e.value)) for e in both.flat] == [(BallEntry, value) for value in (7, 10, 15, 22)]
        (found,) = BallEntry.matrix_product([[ball(2), ball(3)]], [[ball(5), ball(7)]])
        assert found.value == 31
    symbols = SYMBOLIC.array(of(2, 2)) @ SYMBOLIC.array(of(2, 2))
    assert [e.value for e in symbols.flat] == [7, 10, 15, 22]
    with pytest.raises(ValueError, match="mismatch"):
        RATIONAL.array(of(2, 3)) @ RATIONAL.array(of(2, 3))


def test_a_whole_float_is_taken_up_to_where_floats_leave_whole_numbers_out():
    one = RATIONAL.array([1])[0]
    assert (one + (2.0**53 - 1)) == fmpq(2**53)
    assert (one - (2.0**53 - 1)) == fmpq(2 - 2**53)
    for beyond in (2.0**53, -(2.0**53), 1e300):  # 2^53 + 1 is rounded to the first
        with pytest.raises(ForeignNumber):
            one + beyond
