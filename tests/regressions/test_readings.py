"""Readings on models and patterns whose right values are known, and the measurements beside their closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from resstream.arithmetic import Array, Ball
from resstream.errors import DomainError, TrainingError
from resstream.induction import readings
from resstream.induction.measurements import StackSettings, gradient_depth, growth, thin_shell, thin_shell_limit
from resstream.induction.settings import Settings
from resstream.induction.stacks import stack_gradient
from resstream.induction.task import RepeatedBlocks, held_out_blocks
from resstream.induction.training import initial_weights
from resstream.induction.weights import model_of, split
from resstream.reference import AttentionOnlyModel

EPS = float(np.finfo(np.float64).eps)
SETTINGS = Settings(
    symbols=13, width=8, head_width=4, length=16, shortest_period=3, longest_period=6, test_sequences=150
)


def random_model(layers: int = 2, **changes: object) -> AttentionOnlyModel:
    settings = replace(SETTINGS, layers=layers, weight_deviation=0.5, **changes)
    weights = split(initial_weights(settings), settings)
    draw = np.random.default_rng(7)
    for name in ("b_Q", "b_K"):
        weights[name][...] = draw.standard_normal(weights[name].shape)
    return model_of(weights, settings)


@pytest.fixture(scope="module")
def blocks() -> RepeatedBlocks:
    return held_out_blocks(SETTINGS)


def by_hand(blocks: RepeatedBlocks) -> list[tuple[int, int, list[int], list[int]]]:
    """Sequence, scored position, positions after earlier occurrences, and those of them that mislead."""
    found = []
    for b in range(len(blocks)):
        for i in np.flatnonzero(blocks.scored[b]):
            after = [j + 1 for j in range(i) if blocks.inputs[b, j] == blocks.inputs[b, i]]
            wrong = [j for j in after if blocks.inputs[b, j] != blocks.targets[b, i]]
            found.append((b, int(i), after, wrong))
    return found


def test_loss_and_accuracy_are_those_of_every_scored_position(blocks: RepeatedBlocks) -> None:
    model = random_model()
    found = readings.evaluate(model, blocks)
    logits = model.forward(blocks.inputs).logits
    losses, hits = [], []
    for b, i, _, _ in by_hand(blocks):
        row = logits[b, i]
        losses.append(np.log(np.exp(row).sum()) - row[blocks.targets[b, i]])
        hits.append(row.argmax() == blocks.targets[b, i])
    assert abs(found.loss - np.mean(losses)) <= 1e-12 * found.loss  # a mean of 2,000 losses in another order
    assert found.accuracy == np.mean(hits)
    assert np.isnan(found.accuracy_by_position[: SETTINGS.shortest_period]).all()
    last = [hit for hit, (_, i, _, _) in zip(hits, by_hand(blocks), strict=True) if i == 15]
    assert found.accuracy_by_position[15] == np.mean(last)


def test_a_model_that_guesses_costs_the_logarithm_of_the_symbols(blocks: RepeatedBlocks) -> None:
    model = random_model()
    silent = replace(model, unembedding=0 * model.unembedding)
    assert abs(readings.evaluate(silent, blocks).loss - np.log(13)) <= 8 * EPS * np.log(13)


def test_cut_runs_reach_the_evaluation(blocks: RepeatedBlocks) -> None:
    model = random_model()
    whole = readings.evaluate(model, blocks)
    assert readings.evaluate(model, blocks, {1: [(0, 0), (0, 1)]}).loss == pytest.approx(whole.loss, rel=1e-12, abs=0)
    assert readings.evaluate(model, blocks, {1: []}).loss != whole.loss


def test_earlier_occurrences_are_found(blocks: RepeatedBlocks) -> None:
    copies, wrong = readings.earlier_occurrences(blocks)
    for b, i, after, misleading in by_hand(blocks):
        assert np.flatnonzero(copies[b, i]).tolist() == after
        assert np.flatnonzero(wrong[b, i]).tolist() == misleading
    share = np.mean([bool(misleading) for *_, misleading in by_hand(blocks)])
    assert readings.misleading_share(blocks) == share > 0.05


def test_head_weights_are_means_over_the_stated_positions(blocks: RepeatedBlocks) -> None:
    model = random_model()
    found = readings.head_weights(model, blocks, 1)
    A = model.forward(blocks.inputs).patterns[1]
    previous = np.array([[A[:, h, i, i - 1].mean() for i in range(1, 16)] for h in range(2)])
    close = lambda x, y: np.abs(x - y).max() <= 1e-12  # noqa: E731 - probabilities, summed in another order
    assert close(found.previous, previous.mean(-1))
    assert close(found.previous_by_position[:, 1:], previous)
    rows = by_hand(blocks)
    assert close(
        found.target, [np.mean([A[b, h, i, i - blocks.periods[b, 0] + 1] for b, i, _, _ in rows]) for h in (0, 1)]
    )
    assert close(found.after_earlier, [np.mean([A[b, h, i, after].sum() for b, i, after, _ in rows]) for h in (0, 1)])
    misled = [[A[b, h, i, wrong].sum() for b, i, _, wrong in rows] for h in (0, 1)]
    assert close(found.misled, np.mean(misled, -1))
    affected = [bool(wrong) for *_, wrong in rows]
    assert close(found.misled_alone, np.mean(np.array(misled)[:, affected], -1))


def previous_token_model(head: int) -> AttentionOnlyModel:
    """One of two layer-0 heads looks one back, by its biases: a long key, and the same turned by one for the query."""
    model = random_model()
    b_Q, b_K = np.zeros_like(model.b_Q), np.zeros_like(model.b_K)
    b_Q[0, head, 0, 0] = b_K[0, head, 0, 0] = 20
    b_Q[0, head, 0] = [20 * np.cos(1), -20 * np.sin(1), 0, 0]
    return replace(model, b_Q=b_Q, b_K=b_K, W_Q=0 * model.W_Q, W_K=0 * model.W_K)


@pytest.mark.parametrize("head", [0, 1])
def test_the_previous_token_head_is_known_by_what_it_does(head: int, blocks: RepeatedBlocks) -> None:
    model = previous_token_model(head)
    found, weights = readings.previous_token_head(model, blocks)
    assert found == (0, head)
    assert weights.previous[head] > 0.9
    kernel = readings.kernel(model, found, 16)
    assert kernel.peak == 1
    assert kernel.far_peak == 7  # the cosine of one pair has its next peak a full turn (6.28) on
    assert abs(kernel.scores[1] - 200) <= 1e-12 * 200


def test_prefix_matching_is_one_for_a_head_that_looks_where_it_should() -> None:
    model = random_model()
    half = SETTINGS.length // 2
    b_K = np.zeros_like(model.b_K)
    b_Q = np.zeros_like(model.b_Q)
    angle = half - 1  # the position after the earlier occurrence is this many places back
    b_K[..., 0] = 30
    b_Q[..., 0], b_Q[..., 1] = 30 * np.cos(angle), -30 * np.sin(angle)
    # The first pair alone cannot tell offsets a turn apart, so the second is given the same wish.
    b_K[..., 2] = 3000
    slow = angle / SETTINGS.base**0.5
    b_Q[..., 2], b_Q[..., 3] = 3000 * np.cos(slow), -3000 * np.sin(slow)
    model = replace(model, b_Q=b_Q, b_K=b_K, W_Q=0 * model.W_Q, W_K=0 * model.W_K)
    scores = readings.prefix_matching_scores(model, np.random.default_rng(0), SETTINGS)
    assert scores.shape == (2, 2)
    assert (scores > 0.99).all()
    assert (readings.prefix_matching_scores(random_model(), np.random.default_rng(0), SETTINGS) < 0.9).all()


def test_prefix_matching_needs_enough_symbols() -> None:
    with pytest.raises(TrainingError, match="symbols: expected at least 8 for a block of distinct ones, got 5"):
        readings.prefix_matching_scores(random_model(), np.random.default_rng(0), replace(SETTINGS, symbols=5))


def test_composition_tables_name_the_earlier_head_first() -> None:
    model = random_model()
    W_O = model.W_O.copy()
    W_O[0, 0, :, 4:] = 0  # head (0, 0) writes into the first half alone
    W_K = model.W_K.copy()
    W_K[1, 1, :4] = 0  # and the keys of head (1, 1) read the second
    table = readings.composition_table(replace(model, W_O=W_O, W_K=W_K))
    assert table["keys"].shape == (2, 2)
    assert table["keys"][0, 1] == 0
    assert (table["keys"][[0, 1, 1], [0, 0, 1]] > 0).all()
    assert (table["queries"] > 0).all()


def test_a_one_layer_score_never_moves_with_the_predecessor_and_a_two_layer_one_does(blocks: RepeatedBlocks) -> None:
    assert readings.score_moves(random_model(1), blocks, np.random.default_rng(0)).max() == 0
    moves = readings.score_moves(random_model(2), blocks, np.random.default_rng(0))
    assert moves.shape == (150, 2)
    assert moves.mean() > 1e-3


def test_cosines_of_known_rows() -> None:
    assert readings.root_mean_square_cosine(np.eye(4)) == 0
    assert readings.root_mean_square_cosine(np.array([[1.0, 0], [3, 0], [0, 2]])) == pytest.approx(
        (1 / 3) ** 0.5, rel=4 * EPS
    )


def test_lens_and_paths_agree_with_the_model(blocks: RepeatedBlocks) -> None:
    model = random_model()
    lens = readings.lens_probabilities(model, blocks)
    assert lens.shape == (3,)
    trace = model.forward(blocks.inputs)
    p = np.exp(trace.logits - trace.logits.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    rows = by_hand(blocks)
    assert lens[2] == pytest.approx(np.mean([p[b, i, blocks.targets[b, i]] for b, i, _, _ in rows]), rel=1e-12)
    shares = readings.path_shares(model, blocks)
    assert len(shares.shares) == 9
    assert sum(shares.shares.values()) == pytest.approx(1, rel=1e-12)
    assert shares.error <= 1e3 * EPS * np.abs(trace.logits).max()
    one = readings.path_shares(random_model(1), blocks)
    assert set(one.shares) == {(), ((0, 0),), ((0, 1),)}


def test_a_model_built_on_orthogonal_subspaces_needs_no_layer_0() -> None:
    moved, unmoved = readings.subspace_distance(SETTINGS, np.random.default_rng(0))
    assert unmoved <= 1e-12
    assert moved > 1e-4


# ---- measurements -----------------------------------------------------------


def test_the_thin_shell_is_as_thick_as_its_closed_form() -> None:
    for width in (64, 512):
        # The median of 4,000 draws is off by some 1.2 / sqrt 4000 of itself; four of those, and the limit's 1 / d.
        limit = thin_shell_limit(width)
        assert abs(thin_shell(np.random.default_rng(0), width).radial / limit - 1) < 4 * 1.2 / 4000**0.5 + 1 / width
    assert thin_shell_limit(512, 3.0) == pytest.approx(2 / 3, rel=1e-14)
    assert abs(thin_shell(np.random.default_rng(0), 512, 3.0).radial - 2 / 3) < 0.002


def test_growth_follows_its_closed_forms() -> None:
    grown = growth(np.random.default_rng(0), depth=6, alpha=6**-0.5)
    # Second moments of 2,000 draws: the squared lengths have a relative deviation of about sqrt(2 S / d) = 0.6.
    for measured, expected in (
        (grown.residual, grown.residual_expected),
        (grown.plain, grown.plain_expected),
        (grown.forward, grown.forward_expected),
    ):
        assert abs((measured / expected) ** 2 - 1) < 5 * 0.6 / 2000**0.5
    assert grown.residual_expected < np.exp(0.5)
    assert grown.plain_expected == pytest.approx(6**-3, rel=1e-14)


def test_the_gradient_of_a_pre_ln_stack_falls_with_depth_and_that_of_a_post_ln_one_does_not() -> None:
    draws = StackSettings(width=32, inner=128, draws=32)
    shallow, deep = (gradient_depth(np.random.default_rng(L), L, "pre", draws) for L in (6, 24))
    assert 1.7 < shallow.last / deep.last < 2.3
    assert 0.8 < deep.last * deep.stream / (shallow.last * shallow.stream) < 1.25
    after = [gradient_depth(np.random.default_rng(L), L, "post", draws) for L in (6, 24)]
    assert 1 / 1.2 < after[0].last / after[1].last < 1.2
    assert all(abs(reading.stream - 32**0.5) <= 64 * EPS * 32**0.5 for reading in after)


def test_measurements_refuse_what_cannot_work() -> None:
    with pytest.raises(TrainingError, match="heads: expected a divisor of the width 64, got 5"):
        StackSettings(heads=5)
    with pytest.raises(TrainingError, match="draws: expected 1 or more, got 0"):
        StackSettings(draws=0)
    with pytest.raises(TrainingError, match="depth: expected 1 or more, got 0"):
        gradient_depth(np.random.default_rng(0), 0, "pre")
    with pytest.raises(DomainError, match="placement: expected one of pre, post, got 'middle'"):
        stack_gradient(np.eye(3), [], np.eye(3), "middle")  # type: ignore[arg-type]


def test_a_one_layer_score_does_not_move_in_balls_either() -> None:
    ball = Ball(128)
    with ball.working():
        model = random_model(1)
        weights = {name: ball.array(getattr(model, name)) for name in model.__dataclass_fields__ if name != "base"}
        exact = AttentionOnlyModel(**weights)
        tokens: Array = np.array([1, 2, 3, 4, 5])
        changed = np.array([1, 9, 3, 4, 5])
        scores = [exact.scores(0, exact.embed(t))[:, 4, 2] for t in (tokens, changed)]
        assert all(a.value.overlaps(b.value) for a, b in zip(*scores, strict=True))
