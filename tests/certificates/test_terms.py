"""Terms: the same values as the other number systems, with every branch and divisor noted."""

import numpy as np
import pytest
from flint import arb, fmpq

from resstream import claims
from resstream.arithmetic import Ball, NoValue, amax, descending, erf, exp, log, maximum, sqrt, tanh, where
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, ZERO, noting
from resstream.arithmetic.terms import Terms, is_below, is_same
from resstream.errors import ForeignNumber, NotExpressible, Undecided
from resstream.reference import dobrushin, spectral_norm
from resstream.reference.spectrum import determinant, rank, second_modulus, singular_values

TERMS = Terms()


def evaluated(entry):
    """The value of a term, computed anew from its leaves in balls of 512 bits."""
    with Ball(512).working():
        return _evaluated(entry)


def _evaluated(entry):
    if entry.operation == "number":
        return arb(entry.exact)
    operands = [_evaluated(operand) for operand in entry.operands]
    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "neg": lambda a: -a,
        "abs": abs,
        "max": lambda a, b: a.max(b),
        "sqrt": lambda a: a.sqrt(),
        "log": lambda a: a.log(),
        "exp": lambda a: a.exp(),
        "tanh": lambda a: a.tanh(),
        "cos": lambda a: a.cos(),
        "sin": lambda a: a.sin(),
    }[entry.operation](*operands)


def test_a_term_is_its_expression():
    """Whatever is computed, the expression evaluated anew gives the same enclosure, and the rational value if any."""
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(20):
        with TERMS.working():
            x = TERMS.array(rng.integers(-4, 5, (3, 3)) / 4)
            y = exp(x) + sqrt(x * x) / (1 + abs(x)) - maximum(x, x.T) * tanh(x - 1) + log(1 + x**2)
            results = [*y.flat, *amax(x).flat, *(x @ x / 3).flat, *descending(x).flat]
        for entry in results:
            value = evaluated(entry)
            assert value.overlaps(entry.enclosure)
            if entry.exact is not None:
                assert value.overlaps(arb(entry.exact))
            compared += 1
    assert compared == 20 * 30


def test_equal_subterms_are_one():
    with TERMS.working():
        x, y = TERMS.array([2, 3])
        assert (x + y) is (x + y)
        assert (exp(np.array([x * y]))[0]) is (exp(np.array([x * y]))[0])
        assert (x + y) is not (x - y)


def test_rational_values_are_known():
    with TERMS.working():
        x = TERMS.array([fmpq(4, 9)])
        root, grown = sqrt(x)[0], exp(x)[0]
        assert root.exact == fmpq(2, 3)
        assert grown.exact is None
        assert (0 * grown).exact == 0
        assert (grown - grown).exact == 0
        assert (grown / grown).exact == 1
        assert exp(x - x)[0].exact == 1
        two = sqrt(TERMS.array([2]))[0]
        assert (two * two).exact == 2


def test_pi_and_the_error_function():
    with TERMS.working():
        x = TERMS.array([fmpq(1, 2), fmpq(0)])
        assert x[0].pi().enclosure.overlaps(arb.pi())
        assert x[0].pi() is x[1].pi()
        half, zero = erf(x)
        assert half.enclosure.overlaps(arb("0.5").erf())
        assert zero.exact == 0


def test_branches_divisors_and_radicands_are_noted():
    with TERMS.working(), noting() as notes:
        x = TERMS.array([fmpq(1, 2), fmpq(3)])
        where(x > 1, x, 0)
        assert [note.kind for note in notes] == [NONNEGATIVE, POSITIVE]  # 1 - 1/2 >= 0, 3 - 1 > 0
        assert [note.entry.exact for note in notes] == [fmpq(1, 2), fmpq(2)]
        notes.clear()
        assert (x + 1 == 4).tolist() == [False, True]
        assert [note.kind for note in notes] == [NONZERO, ZERO]
        notes.clear()
        1 / (x + 1)
        sqrt(x + 1)
        log(x + 1)
        assert [note.kind for note in notes] == [NONZERO] * 2 + [NONNEGATIVE] * 2 + [POSITIVE] * 2
        assert all("line" in note.role for note in notes)


def test_what_has_no_value_has_none():
    with TERMS.working():
        x = TERMS.array([0, -1])
        assert isinstance((1 / x)[0], NoValue)
        assert isinstance(sqrt(x)[1], NoValue)
        assert isinstance(log(x)[0], NoValue)
        assert isinstance((1 / (exp(x) - exp(x)))[0], NoValue)


def test_what_is_not_known_is_undecided():
    with TERMS.working():
        (one, other) = exp(TERMS.array([fmpq(1), fmpq(1)])) * TERMS.array([fmpq(2), fmpq(3)])
        left, right = one * 3, other * 2
        assert is_below(left, right) is None
        assert is_same(left, right) is None
        with pytest.raises(Undecided):
            bool(left < right)
        with pytest.raises(ForeignNumber):
            one + 0.1


@pytest.mark.parametrize("seed", range(5))
def test_spectra_are_noted(seed):
    """Ranks and eigenvalues of rational matrices, with notes that hold; what is not rational is refused."""
    rng = np.random.default_rng(seed)
    with TERMS.working(), noting() as notes:
        lower = TERMS.array(np.tril(rng.integers(-3, 4, (3, 3))))
        diagonal = sorted((abs(lower[k, k].exact) for k in range(3)), reverse=True)
        assert second_modulus(lower).item().exact == diagonal[1]
        assert rank(lower[:, :1] @ lower[:1]).item().exact in (0, 1)
        assert determinant(lower).item().exact == np.prod([lower[k, k].exact for k in range(3)])
        zeros = [note for note in notes if note.kind == ZERO]
        assert zeros
        for note in zeros:
            assert note.entry.exact == 0
        for note in notes:
            assert note.kind != NONZERO or note.entry.exact != 0


def test_norms_are_expressions():
    with TERMS.working():
        W = TERMS.array([[1, 2], [0, 1]])
        value = spectral_norm(W).item()
        assert value.exact is None
        assert value.enclosure.overlaps(1 + arb(2).sqrt())
        assert singular_values(TERMS.array([[3, 0], [0, 4]]))[0, 0].exact == 4
        with pytest.raises(NotExpressible):
            spectral_norm(TERMS.array([[1, 2, 0], [0, 1, 1], [1, 1, 1]]))
        with pytest.raises(NotExpressible):
            rank(exp(W))
        assert dobrushin(TERMS.array([[1, 0], [fmpq(1, 2), fmpq(1, 2)]])).item().exact == fmpq(1, 2)


def test_the_library_is_read_in_terms(counterexample):
    """A claim's own code, unchanged."""
    found = counterexample("contraction.diameter_squared")
    claim = claims.lookup("contraction.diameter_squared")
    with TERMS.working():
        (relation,) = claim.conclude(claim.build(found.raw, TERMS))
        ((lhs, rhs),) = relation.pairs(TERMS)
    assert (lhs.exact, rhs.exact) == (found.judgement.lhs.value, found.judgement.rhs.value)
