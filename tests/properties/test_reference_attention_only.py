"""The attention-only model: batches, number systems, path expansion, cut runs, terms of a score, and their faults."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, NumberSystem, absolute, derivative, total
from resstream.errors import DomainError, ShapeError
from resstream.reference import AttentionOnlyModel, Trace, attention_only, causal_mask, paths, rotary, softmax

BALL = Ball(192)
EPS = float(np.finfo(np.float64).eps)
FIELDS = ("embedding", "unembedding", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K")


def model_of(
    system: NumberSystem,
    *,
    layers: int = 2,
    seed: int = 0,
    lead: tuple[int, ...] = (),
) -> AttentionOnlyModel:
    """A small model (V = 7, d = 6, h = 4) of dyadic weights in eighths."""
    draw = np.random.default_rng(seed)
    V, d, h, heads = 7, 6, 4, 2
    shapes = [(V, d), (d, V), *[(layers, heads, d, h)] * 3, (layers, heads, h, d), *[(layers, heads, 1, h)] * 2]
    weights = (system.array(draw.integers(-8, 9, (*lead, *shape)) / 8) for shape in shapes)
    return AttentionOnlyModel(*weights)


def tokens_of(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 7, shape)


def assert_equal(difference: Array) -> None:
    """The balls hold zero and are small: equal as far as 192 bits tell."""
    for entry in difference.flat:
        assert entry.value.contains(0)
        assert entry.value.rad() < arb(2) ** -100


def assert_excludes_zero(difference: Array) -> None:
    assert any(not entry.value.contains(0) for entry in difference.flat)


def sum_of(parts: list[Array]) -> Array:
    return sum(parts[1:], start=parts[0])


def majorant(model: AttentionOnlyModel, trace: Trace) -> Array:
    """The sum of absolute values of everything that is added up in the logits: (..., n, V)."""
    positive = AttentionOnlyModel(*(absolute(getattr(model, name)) for name in FIELDS), base=model.base)
    return sum_of(list(positive.path_expansion(absolute(trace.states[0]), trace.patterns).values()))


# ---- the forward pass -------------------------------------------------------


def test_the_forward_pass_follows_the_definition() -> None:
    with BALL.working():
        model = model_of(BALL)
        trace = model.forward(tokens_of(4))
        x = model.embedding[tokens_of(4)]
        for layer in range(2):
            update = 0 * x
            for head in range(2):
                q = rotary(x @ model.W_Q[layer, head] + model.b_Q[layer, head], range(4))
                k = rotary(x @ model.W_K[layer, head] + model.b_K[layer, head], range(4))
                A = softmax(q @ k.mT / 2, causal_mask(4))  # the root of the head width 4
                assert_equal(trace.patterns[layer][head] - A)
                update = update + A @ x @ model.ov_circuits[layer, head]
            x = x + update
            assert_equal(trace.states[layer + 1] - x)
        assert_equal(trace.logits - x @ model.unembedding)


@pytest.mark.parametrize("seed", range(4))
def test_float_logits_are_within_their_rounding_of_the_balls(seed: int) -> None:
    # A path is a chain of at most 4 L + 1 products with inner dimension at most 7, so its error is at most
    # 7 (4 L + 1) eps of the majorant; a pattern's relative error is that of its scores, absolute, which are sums of
    # h d^2 terms below 4 * 36 * 20 in size.
    trace = model_of(FLOAT64, seed=seed).forward(tokens_of(5))
    with BALL.working():
        judged = model_of(BALL, seed=seed).forward(tokens_of(5))
    scores = max(np.abs(q @ k.mT).max() for q, k in zip(trace.queries, trace.keys, strict=True))
    allowed = EPS * (7 * 9 + 64 * max(1.0, scores)) * majorant(model_of(FLOAT64, seed=seed), trace)
    error = [
        abs(float((ball.value - arb(float(x))).mid()))
        for ball, x in zip(judged.logits.flat, trace.logits.flat, strict=True)
    ]
    assert (np.array(error) <= allowed.ravel()).all()


def test_a_batch_of_sequences_is_the_stack_of_its_members() -> None:
    model, tokens = model_of(FLOAT64), tokens_of(3, 5)
    batch = model.forward(tokens)
    for index in range(3):
        single = model.forward(tokens[index])
        allowed = 256 * EPS * majorant(model, single)  # the same sums, in another order
        assert (np.abs(batch.logits[index] - single.logits) <= allowed).all()


def test_a_batch_of_models_is_the_stack_of_its_members() -> None:
    models, tokens = model_of(FLOAT64, lead=(3,)), tokens_of(5)
    batch = models.forward(tokens)
    for index in range(3):
        model = AttentionOnlyModel(*(getattr(models, name)[index] for name in FIELDS))
        single = model.forward(tokens)
        assert (np.abs(batch.logits[index] - single.logits) <= 256 * EPS * majorant(model, single)).all()


def test_every_model_of_a_batch_may_have_a_sequence_of_its_own() -> None:
    models, tokens = model_of(FLOAT64, lead=(3,)), tokens_of(3, 5)
    x0 = models.embed(tokens)
    assert x0.shape == (3, 5, 6)
    for index in range(3):
        assert np.array_equal(x0[index], models.embedding[index][tokens[index]])
    assert models.embed(tokens_of(2, 1, 5)).shape == (2, 3, 5, 6)
    with pytest.raises(ShapeError, match="the leading axes do not broadcast"):
        models.embed(tokens_of(2, 5))


def test_no_layers_leave_the_direct_path() -> None:
    model = model_of(RATIONAL, layers=0)
    trace = model.forward(tokens_of(3))
    assert (trace.logits == model.embedding[tokens_of(3)] @ model.unembedding).all()


def test_a_later_token_never_changes_an_earlier_output() -> None:
    with BALL.working():
        model = model_of(BALL)
        before, after = tokens_of(5), tokens_of(5)
        after[3] = (after[3] + 1) % 7
        assert_equal((model.forward(before).logits - model.forward(after).logits)[:3])
        assert_excludes_zero((model.forward(before).logits - model.forward(after).logits)[3:])


def test_only_offsets_matter_to_the_model() -> None:
    with BALL.working():
        model = model_of(BALL)
        x0 = model.embed(tokens_of(4))
        assert_equal(model.run(x0).logits - model.run(x0, positions=[5, 6, 7, 8]).logits)
        assert_excludes_zero(model.run(x0).logits - model.run(x0, positions=[0, 1, 2, 4]).logits)


def test_the_derivative_reaches_through_the_model() -> None:
    model = model_of(FLOAT64)
    x0 = model.embed(tokens_of(4))
    direction = np.random.default_rng(5).standard_normal(x0.shape)
    slope = derivative(lambda x: model.run(x).logits, x0, direction)
    step = 1e-6
    difference = (model.run(x0 + step * direction).logits - model.run(x0 - step * direction).logits) / (2 * step)
    # Central differences: eps / step of the majorant, and a third derivative times step squared.
    assert np.abs(slope - difference).max() <= 1e-6 * np.abs(slope).max()


# ---- paths ------------------------------------------------------------------


@given(st.integers(0, 3), st.integers(1, 3))
def test_there_are_one_plus_heads_to_the_layers_paths(layers: int, heads: int) -> None:
    found = paths(layers, heads)
    assert len(found) == len(set(found)) == (1 + heads) ** layers
    assert found[0] == ()
    for path in found:
        assert [layer for layer, _ in path] == sorted({layer for layer, _ in path})


def test_without_heads_there_is_the_direct_path_alone() -> None:
    assert paths(3, 0) == paths(0, 2) == [()]


def test_so_many_paths_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DomainError, match=r"expected at most 1,000,000 paths, got \(1 \+ 1\)\^20"):
        paths(20, 1)
    monkeypatch.setattr(attention_only, "MOST_PATHS", 27)
    assert len(paths(3, 2)) == 27
    with pytest.raises(DomainError, match=r"expected at most 27 paths, got \(1 \+ 5\)\^2"):
        paths(2, 5)
    for layers, heads in ((-1, 2), (65, 0), (2, -1)):
        with pytest.raises(DomainError, match="expected a whole number of at"):
            paths(layers, heads)
    assert paths(64, 0) == [()]


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
def test_paths_sum_to_the_logits(layers: int) -> None:
    with BALL.working():
        model = model_of(BALL, layers=layers)
        trace = model.forward(tokens_of(4))
        expansion = model.path_expansion(trace.states[0], trace.patterns)
        assert list(expansion) == paths(layers, 2)
        assert_equal(sum_of(list(expansion.values())) - trace.logits)


def test_a_path_is_a_product_of_patterns_and_a_product_of_circuits() -> None:
    with BALL.working():
        model = model_of(BALL)
        trace = model.forward(tokens_of(4))
        A, B, OV = trace.patterns[0][1], trace.patterns[1][0], model.ov_circuits
        expected = B @ A @ trace.states[0] @ OV[0, 1] @ OV[1, 0] @ model.unembedding
        found = model.path_expansion(trace.states[0], trace.patterns)[(0, 1), (1, 0)]
        assert_equal(found - expected)
        wrong_order = A @ B @ trace.states[0] @ OV[1, 0] @ OV[0, 1] @ model.unembedding
        assert_excludes_zero(found - wrong_order)


def test_given_patterns_make_the_model_rational() -> None:
    model = model_of(RATIONAL)
    pattern = RATIONAL.array([[1, 0, 0], [Fraction(1, 3), Fraction(2, 3), 0], [0, Fraction(1, 7), Fraction(6, 7)]])
    patterns = [np.stack([pattern, RATIONAL.array(np.eye(3))])] * 2
    x0 = model.embed(tokens_of(3))
    logits = model.run(x0, patterns=patterns).logits
    assert (sum_of(list(model.path_expansion(x0, patterns).values())) == logits).all()


def tiny_model() -> tuple[AttentionOnlyModel, Array]:
    """Two one-head layers on two tokens: the first moves a feature over, the second looks for it."""
    zero = np.zeros((2, 2))
    W1, W2 = np.array([[0, 1.0], [0, 0]]), np.array([[0, 0], [2.0, 0]])
    queries = np.stack([zero, W2 * 2**0.5])[:, None]  # scores are divided by the root of the width 2
    values = np.stack([W1, W2])[:, None]
    plain, bias = np.broadcast_to(np.eye(2), (2, 1, 2, 2)), np.zeros((2, 1, 1, 2))
    return AttentionOnlyModel(np.eye(2), np.eye(2), queries, plain, values, plain, bias, bias, None), np.eye(2)


def test_removing_a_layer_is_not_removing_its_paths() -> None:
    model, x0 = tiny_model()
    trace = model.run(x0)
    assert (trace.patterns[0][0] == [[1, 0], [0.5, 0.5]]).all()
    live = (
        trace.logits
        - AttentionOnlyModel(
            model.embedding, model.unembedding, *(getattr(model, name)[1:] for name in FIELDS[2:]), None
        )
        .run(x0)
        .logits
    )
    expansion = model.path_expansion(x0, trace.patterns)
    through_first = sum_of([logits for path, logits in expansion.items() if (0, 0) in path])
    assert abs(live[1, 0] - 1.80902) < 5e-6
    assert abs(through_first[1, 0] - 1.952574) < 5e-7  # the second layer's pattern moves as well
    assert np.abs(sum_of(list(expansion.values())) - trace.logits).max() <= 16 * EPS


def test_writes_are_contributions_and_states_running_sums() -> None:
    with BALL.working():
        trace = model_of(BALL).forward(tokens_of(4))
        for layer in range(2):
            moved = trace.states[layer + 1] - trace.states[layer]
            assert_equal(total(trace.writes[layer], -3)[0] - moved)
        counted_twice = trace.states[0] + trace.states[1] + trace.states[2]
        assert_excludes_zero(counted_twice - trace.states[2])


# ---- cut runs ---------------------------------------------------------------


def test_keys_may_read_less_than_the_stream() -> None:
    with BALL.working():
        model = model_of(BALL)
        trace = model.forward(tokens_of(4))
        x0, x1 = trace.states[:2]
        for heads in ([], [(0, 1)], [(0, 0), (0, 1)]):
            read = x0 + sum_of([0 * x0, *(trace.writes[0][head] for _, head in heads)])
            pattern = softmax(model.scores(1, x1, read), causal_mask(4))
            cut = model.run(x0, keys_read={1: heads})
            assert_equal(cut.patterns[1] - pattern)
            assert_equal(cut.values[1] - trace.values[1])
        assert_equal(model.run(x0, keys_read={1: [(0, 0), (0, 1)]}).logits - trace.logits)
        assert_excludes_zero(model.run(x0, keys_read={1: []}).logits - trace.logits)


def test_queries_may_read_less_than_the_stream() -> None:
    with BALL.working():
        model = model_of(BALL)
        trace = model.forward(tokens_of(4))
        x0, x1 = trace.states[:2]
        cut = model.run(x0, queries_read={1: []})
        assert_equal(cut.patterns[1] - softmax(model.scores(1, x0, x1), causal_mask(4)))
        both = model.run(x0, queries_read={1: []}, keys_read={1: []})
        assert_equal(both.patterns[1] - softmax(model.scores(1, x0), causal_mask(4)))


def test_a_layer_reads_earlier_heads_only() -> None:
    model = model_of(FLOAT64)
    with pytest.raises(DomainError, match=r"keys_read: layer 1 cannot read a head \(1, 0\)"):
        model.run(model.embed(tokens_of(3)), keys_read={1: [(1, 0)]})
    with pytest.raises(DomainError, match=r"queries_read: layer 1 cannot read a head \(0, 2\)"):
        model.run(model.embed(tokens_of(3)), queries_read={1: [(0, 2)]})


# ---- scores -----------------------------------------------------------------


def test_a_score_is_the_sum_of_four_terms() -> None:
    with BALL.working():
        model = model_of(BALL)
        x0, x1, _ = model.forward(tokens_of(4)).states
        terms = model.score_terms(1, x0, x1 - x0)
        assert_equal(sum_of(list(terms)) - model.scores(1, x1))
        assert_equal(terms.none - model.scores(1, x0))
        assert_equal(terms.none + terms.queries - model.scores(1, x1, x0))
        assert_equal(terms.none + terms.keys - model.scores(1, x0, x1))
        assert_excludes_zero(terms.queries - terms.keys)


def test_biases_give_a_score_of_the_offset_alone() -> None:
    with BALL.working():
        model = model_of(BALL)
        kernel = model.content_free_kernel([0, 1, 2, 3])
        assert kernel.shape == (2, 2, 1, 4)
        for layer in range(2):
            scores = model.scores(layer, 0 * model.embed(tokens_of(4)))
            for i in range(4):
                for j in range(i + 1):
                    assert_equal(scores[:, i, j] - kernel[layer, :, 0, i - j])


def test_one_layer_scores_see_two_tokens_and_two_layers_see_predecessors() -> None:
    with BALL.working():
        model, tokens = model_of(BALL), tokens_of(5)
        other = tokens.copy()
        other[1] = (other[1] + 1) % 7
        moved = [
            model.scores(layer, model.forward(tokens).states[layer])
            - model.scores(layer, model.forward(other).states[layer])
            for layer in range(2)
        ]
        assert_equal(moved[0][:, 4, 2])
        assert_excludes_zero(moved[1][:, 4, 2])


# ---- bad input --------------------------------------------------------------


def test_tokens_are_checked() -> None:
    model = model_of(FLOAT64)
    with pytest.raises(DomainError, match=r"tokens: expected 0\.\.6, got 0\.\.7"):
        model.forward(np.array([0, 7]))
    with pytest.raises(DomainError, match="tokens: expected integers, got dtype float64"):
        model.forward(np.array([0.0]))


def test_shapes_of_weights_are_checked() -> None:
    weights = {name: getattr(model_of(FLOAT64), name) for name in FIELDS}
    with pytest.raises(ShapeError, match=r"b_Q: expected the shape \(\.\.\., 2, 2, 1, 4\)"):
        AttentionOnlyModel(**{**weights, "b_Q": np.zeros((2, 2, 4))})
    with pytest.raises(ShapeError, match="unembedding: expected 6 rows, as embedding has columns"):
        AttentionOnlyModel(**{**weights, "unembedding": np.zeros((5, 7))})
    with pytest.raises(ShapeError, match=r"W_Q: expected the shape \(\.\.\., layers, heads, d, h\)"):
        AttentionOnlyModel(**{**weights, "W_Q": np.zeros((6, 4))})
    with pytest.raises(DomainError, match="embedding: expected finite entries, got nan"):
        AttentionOnlyModel(**{**weights, "embedding": np.full((7, 6), np.nan)})


def test_rotary_needs_an_even_head_width() -> None:
    model = model_of(FLOAT64)
    narrow = {name: getattr(model, name)[..., :3] for name in ("W_Q", "W_K", "W_V", "b_Q", "b_K")}
    weights = {"embedding": model.embedding, "unembedding": model.unembedding, "W_O": model.W_O[..., :3, :], **narrow}
    with pytest.raises(ShapeError, match="rotary positions need an even head width, got 3"):
        AttentionOnlyModel(**weights)
    assert AttentionOnlyModel(**weights, base=None).forward(tokens_of(3)).logits.shape == (3, 7)


def test_patterns_are_counted() -> None:
    model = model_of(FLOAT64)
    with pytest.raises(ShapeError, match="patterns: expected one array for each of 2 layers, got 1"):
        model.run(model.embed(tokens_of(3)), patterns=[np.eye(3)])


@pytest.mark.parametrize("name", ["keys_read", "queries_read"])
@pytest.mark.parametrize(
    ("reads", "error", "message"),
    [
        ([1], DomainError, "expected a mapping of layers to lists of heads, got list"),
        ({2: []}, DomainError, "a layer: expected a whole number of at most 1, got 2"),
        ({-1: []}, DomainError, "a layer: expected a whole number of at least 0, got -1"),
        ({1: (0, 1)}, DomainError, r"expected heads \(layer, index\), got 0"),
        ({1: 0}, ShapeError, "expected a list of heads"),
        ({1: [(0, 1, 1)]}, DomainError, r"expected heads \(layer, index\), got \(0, 1, 1\)"),
        ({1: ["ab"]}, DomainError, r"expected heads \(layer, index\), got 'ab'"),
        ({1: [(0, True)]}, DomainError, r"expected heads \(layer, index\), got \(0, True\)"),
        ({1: [(0.0, 1)]}, DomainError, r"expected heads \(layer, index\), got \(0.0, 1\)"),
        ({1: [(0, -1)]}, DomainError, r"layer 1 cannot read a head \(0, -1\)"),
        ({1: [(-1, 0)]}, DomainError, r"layer 1 cannot read a head \(-1, 0\)"),
        ({0: [(0, 0)]}, DomainError, r"layer 0 cannot read a head \(0, 0\)"),
        ({1: [(0, 1), [0, 1]]}, DomainError, "expected every head once"),
    ],
)
def test_what_a_cut_run_cannot_read_is_refused(name: str, reads: object, error: type[Exception], message: str) -> None:
    model = model_of(FLOAT64)
    with pytest.raises(error, match=f"{name}.*{message}"):
        model.run(model.embed(tokens_of(3)), **{name: reads})  # type: ignore[arg-type]


def test_heads_that_are_read_are_named_in_any_way_that_says_it() -> None:
    model = model_of(FLOAT64)
    x0 = model.embed(tokens_of(3))
    wanted = model.run(x0, keys_read={1: [(0, 1), (0, 0)]}, queries_read={0: []}).logits
    for heads in ([[0, 1], [0, 0]], ((np.int64(0), np.int8(1)), (0, 0))):
        assert np.array_equal(model.run(x0, keys_read={1: heads}).logits, wanted)  # type: ignore[dict-item]
    three = model_of(FLOAT64, layers=3)
    trace = three.run(x0)
    everything = [(layer, head) for layer in range(2) for head in range(2)]
    for heads in (everything, everything[:2], everything[3:], []):
        read = x0 + sum(trace.writes[layer][head] for layer, head in heads)
        cut = three.run(x0, keys_read={2: heads})
        assert np.abs(cut.keys[2] - three.keys(2, read)).max() <= 1e-12 * np.abs(read).max()
        assert np.array_equal(cut.queries[2], trace.queries[2])


def test_given_patterns_leave_nothing_to_read() -> None:
    model = model_of(FLOAT64)
    x0, patterns = model.embed(tokens_of(3)), [np.stack([np.eye(3)] * 2)] * 2
    trace = model.run(x0, patterns=patterns)
    assert trace.queries == trace.keys == []
    assert all(np.array_equal(*pair) for pair in zip(trace.patterns, patterns, strict=True))
    for name, value in (("keys_read", {1: []}), ("queries_read", {1: []}), ("positions", [0, 1, 2])):
        with pytest.raises(DomainError, match=f"{name}: expected none beside patterns"):
            model.run(x0, patterns=patterns, **{name: value})  # type: ignore[arg-type]
    wrong = np.stack([np.eye(3)] * 2)
    for second, error, message in (
        (wrong[:1], ShapeError, r"patterns\[1\]: expected the shape \(\.\.\., 2, 3, 3\), got \(1, 3, 3\)"),
        (
            np.stack([np.eye(2)] * 2),
            ShapeError,
            r"patterns\[1\]: expected the shape \(\.\.\., 2, 3, 3\), got \(2, 2, 2\)",
        ),
        (wrong[..., ::-1], DomainError, r"patterns\[1\]: expected a causal pattern"),
        (wrong / 2, DomainError, r"patterns\[1\]: expected a row-stochastic matrix"),
    ):
        with pytest.raises(error, match=message):
            model.run(x0, patterns=[patterns[0], second])
    streams = np.stack([x0] * 5)
    assert model.run(streams, patterns=patterns).logits.shape == (5, 3, 7)
    assert model.run(streams, patterns=[np.stack([wrong] * 5)] * 2).logits.shape == (5, 3, 7)
    with pytest.raises(ShapeError, match=r"the leading axes do not broadcast: x0 .* patterns\[0\]"):
        model.run(streams, patterns=[np.stack([wrong] * 4)] * 2)


@pytest.mark.parametrize("name", FIELDS)
def test_every_weight_has_its_shape_and_its_batch(name: str) -> None:
    weights = {field: getattr(model_of(FLOAT64), field) for field in FIELDS}
    batch = {field: getattr(model_of(FLOAT64, lead=(3,)), field) for field in FIELDS}
    shared = {**batch, name: weights[name]}
    assert AttentionOnlyModel(**shared).forward(tokens_of(5)).logits.shape == (3, 5, 7)
    with pytest.raises(ShapeError, match="the leading axes do not broadcast"):
        AttentionOnlyModel(**{**batch, name: np.stack([weights[name]] * 2)})
    with pytest.raises(DomainError, match="expected entries of the number system of"):
        AttentionOnlyModel(**{**weights, name: RATIONAL.array(weights[name])})
    with pytest.raises(DomainError, match=f"{name}: expected finite entries, got nan"):
        AttentionOnlyModel(**{**weights, name: np.full_like(weights[name], np.nan)})
    for axis in range(-weights[name].ndim, 0):
        if name == "embedding" and axis == -2:
            continue  # a vocabulary may be of any size
        if name == "unembedding" and axis == -1:
            continue
        longer = np.concatenate([weights[name], np.take(weights[name], [0], axis)], axis)
        with pytest.raises(ShapeError, match="expected"):
            AttentionOnlyModel(**{**weights, name: longer})


def test_weights_are_kept_as_float64() -> None:
    weights = {field: getattr(model_of(FLOAT64), field).astype(np.float32) for field in FIELDS}
    model = AttentionOnlyModel(**weights)
    assert {getattr(model, field).dtype for field in FIELDS} == {np.dtype(np.float64)}
    with pytest.raises(ShapeError, match=r"W_Q: expected the shape \(\.\.\., layers, heads, d, h\), got \(2, 6, 4\)"):
        AttentionOnlyModel(**{**weights, "W_Q": weights["W_Q"][0]})
    with pytest.raises(ShapeError, match=r"the leading axes do not broadcast: x0 .*, embedding"):
        model_of(FLOAT64, lead=(3,)).run(np.zeros((2, 4, 6)))


def test_positions_are_there_or_not() -> None:
    model = model_of(FLOAT64)
    weights = {field: getattr(model, field) for field in FIELDS}
    x0 = model.embed(tokens_of(4))
    assert np.array_equal(AttentionOnlyModel(**weights, base=10_000).run(x0).logits, model.run(x0).logits)
    without = AttentionOnlyModel(**weights, base=None)
    assert without.rotation(x0) is None
    with pytest.raises(DomainError, match="positions: expected none for a model without positions"):
        without.run(x0, positions=[0, 1, 2, 3])
    unturned = model.run(x0, positions=[0, 0, 0, 0])
    assert np.abs(without.run(x0).logits - unturned.logits).max() <= 256 * EPS * np.abs(unturned.logits).max()
    for base, error in ((0, DomainError), (-1, DomainError), (2.5, DomainError), ((1 << 53) + 1, DomainError)):
        with pytest.raises(error, match="base: expected a whole number"):
            AttentionOnlyModel(**weights, base=base)  # type: ignore[arg-type]
    assert AttentionOnlyModel(**weights, base=1).forward(tokens_of(4)).logits.shape == (4, 7)
    kernel = without.content_free_kernel([0, 5])
    assert np.array_equal(kernel[..., 0], kernel[..., 1])
    expected = (without.b_Q * without.b_K).sum(-1, keepdims=True) / 2
    assert np.abs(kernel[..., :1] - expected).max() <= 16 * EPS * np.abs(expected).max()


def test_parts_of_the_model_by_layer() -> None:
    model = model_of(FLOAT64)
    x0, x1, _ = model.forward(tokens_of(4)).states
    assert (model.layers, model.heads) == (2, 2)
    assert model.score_scale(x0).item() == 2  # of heads of width 4
    for layer, x in enumerate((x0, x1)):
        q, k = model.queries(layer, x), model.keys(layer, x)
        assert np.abs(q @ k.mT - model.scores(layer, x)).max() <= 64 * EPS * np.abs(q @ k.mT).max()
        trace = model.run(x0)
        assert np.array_equal(trace.queries[layer], q)
        assert np.array_equal(trace.keys[layer], k)
    for function in (model.queries, model.keys, model.scores):
        for layer in (-1, 2):
            with pytest.raises(DomainError, match="layer: expected a whole number of at"):
                function(layer, x0)
    with pytest.raises(ShapeError, match="written: expected 4 rows, as x0 has"):
        model.score_terms(1, x0, x1[:3])
    with pytest.raises(ShapeError, match="the leading axes do not broadcast: x0"):
        model.score_terms(1, np.stack([x0] * 2), np.stack([x1] * 3))
    for offsets in ([], [0.5]):
        with pytest.raises((ShapeError, DomainError), match=r"offsets|positions"):
            model.content_free_kernel(offsets)  # type: ignore[arg-type]
    assert model.content_free_kernel([0, 1, 2]).shape == (2, 2, 1, 3)
    assert np.abs(model.content_free_kernel([2]) - model.content_free_kernel([0, 1, 2])[..., 2:]).max() <= 1e-14
    batch = model_of(FLOAT64, lead=(5,))
    assert batch.content_free_kernel([0, 1, 2]).shape == (5, 2, 2, 1, 3)
