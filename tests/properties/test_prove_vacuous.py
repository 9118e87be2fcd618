"""That no instance meets the hypotheses: every size, option and piece is gone through, or nothing is said."""

import pytest

from resstream.arithmetic import exp, square, total
from resstream.claim import at_least, at_most, claim, either, less_than, more_than
from resstream.domains import Matrix, Norm, Permutation, Scalar, Vector
from resstream.prove.vacuous import no_instance


def about(*assuming, over=None, **more):
    names = over or {"x": Vector("d")}
    return claim("trial", over=names, assuming=assuming, **more)(lambda x: at_most(x, 1))


def negative(x):
    return less_than(total(square(x)), 0)


def test_every_size_and_option_has_its_proof():
    found = no_instance(
        about(negative, over={"x": Vector("d"), "norm": Norm("d", bases=False)}, sizes={"d": range(1, 3)})
    )
    assert [(proof.sizes["d"], proof.options) for proof in found] == [
        (1, ""),
        (2, "norm linf"),
        (2, "norm l1"),
        (2, "norm l2"),
    ]
    assert all(proof.proved and proof.detail == "no instance meets the hypotheses" for proof in found)
    assert found[0].covered == {"norm.kind": ("linf", "l1", "l2"), "norm.basis": ("standard",)}
    assert [proof.pieces for proof in found] == [1] * 4


def test_every_piece_is_gone_through():
    def no_order(x):
        return more_than(x[..., :1, :1] + x[..., :1, 1:], 1)

    def some_order(x):
        return more_than(x[..., :1, :1], 0)

    over = {"x": Permutation(2)}
    assert [proof.pieces for proof in no_instance(about(no_order, over=over))] == [2]
    assert no_instance(about(some_order, over=over)) == ()  # the first piece has an instance
    assert no_instance(about(lambda x: at_most(x[..., :1, :1], 0), over=over)) == ()  # the second has


def test_every_alternative_is_gone_through():
    scalar = {"x": Scalar()}
    for low, proofs in ((0, 0), (3, 1)):
        made = about(lambda x: either(negative(x), more_than(x, low)), lambda x: at_most(x, 2), over=scalar)  # noqa: B023
        assert len(no_instance(made)) == proofs


def test_sizes_of_which_the_claim_does_not_speak_need_no_proof():
    over = {"x": Matrix("n", "d")}
    ranges = {"n": range(1, 9), "d": range(1, 9)}
    assert len(no_instance(about(negative, over=over, sizes=ranges, where="n == 1 and d <= 2"))) == 2
    more = {"n": range(1, 14), "d": range(1, 6)}  # 65 of them are not gone through
    assert no_instance(about(negative, over=over, sizes=more, where="n == 1 and d <= 2")) == ()


def test_sizes_times_options_are_counted():
    over = {"x": Vector("d"), "norm": Norm("d", bases=False)}
    for sizes, proofs in ((range(1, 22), 1), (range(1, 23), 0)):  # three times 21, and 22
        assert len(no_instance(about(negative, over=over, sizes={"d": sizes}, where="d == 1"))) == proofs


def test_the_conclusion_need_not_be_expressible():
    made = claim("trial", over={"x": Scalar()}, assuming=[negative])(lambda x: at_most(exp(x), 1))
    assert len(no_instance(made)) == 1


@pytest.mark.parametrize(
    "assuming",
    [[], [lambda x: at_least(total(x), 0)], [negative, lambda x: at_most(exp(x), 1)]],
    ids=["no hypotheses", "met", "not expressible"],
)
def test_otherwise_nothing_is_said(assuming):
    assert no_instance(about(*assuming, sizes={"d": range(1, 2)})) == ()


def test_without_time_nothing_is_said():
    assert no_instance(about(negative, sizes={"d": range(1, 2)}), seconds=0.0) == ()
    assert len(no_instance(about(negative, sizes={"d": range(1, 2)}))) == 1
