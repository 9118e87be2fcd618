"""The trained model in the page is the package's: logits, patterns, paths, cuts and losses, and what the room shows."""

import json
import re

import numpy as np
import pytest

from resstream.induction.readings import evaluate
from resstream.induction.task import Batch
from resstream.lab.page import induction_data, shipped_model
from resstream.reference import logit_lens, rotary, softmax

WITHIN = 1e-9
HEADS = [(0, 0), (0, 1)]


@pytest.fixture(scope="module")
def model():
    return shipped_model()[0]


@pytest.fixture(scope="module")
def page(browser, exposed):
    opened = browser.new_page()
    opened.goto(exposed.as_uri())
    opened.evaluate("data => { globalThis.model = lab.loadModel(data); }", induction_data()["model"])
    yield opened
    opened.close()


def sequences(count, length, seed=0):
    """Half of them repeat a block, as in training; half are uniform."""
    random = np.random.default_rng(seed)
    tokens = random.integers(256, size=(count, length))
    for row in tokens[: count // 2]:
        period = random.integers(3, max(4, length // 2))
        row[:] = np.resize(row[:period], length)
    return tokens


def called(page, script, argument):
    return json.loads(page.evaluate(f"text => JSON.stringify(({script})(JSON.parse(text)))", json.dumps(argument)))


def assert_close(found, expected, within=WITHIN):
    found, expected = np.array(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert found.size > 0
    assert np.abs(found - expected).max() <= within * max(1, np.abs(expected).max())


def test_the_weights_are_the_shipped_ones(page, model):
    for name in ("embedding", "unembedding", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K"):
        assert (np.array(page.evaluate(f"model.{name}")) == getattr(model, name)).all()


def test_logits_on_1000_sequences(page, model):
    tokens = sequences(1000, 10)
    found = called(
        page,
        "rows => rows.map(t => lab.logitLens(model, lab.runModel(model, t).states[2].slice(-1))[0])",
        tokens.tolist(),
    )
    assert_close(found, model.forward(tokens).logits[:, -1])


def test_logits_at_every_place_of_full_sequences(page, model):
    tokens = sequences(20, 48, seed=1)
    found = called(
        page, "rows => rows.map(t => lab.logitLens(model, lab.runModel(model, t).states[2]))", tokens.tolist()
    )
    assert_close(found, model.forward(tokens).logits)


@pytest.mark.parametrize("keys", [None, [], [(0, 0)], [(0, 1)]])
@pytest.mark.parametrize("queries", [None, [], [(0, 1)]])
def test_states_patterns_and_writes_with_cuts(page, model, keys, queries):
    tokens = sequences(4, 30, seed=2)
    reads = {name: {1: value} for name, value in (("keys", keys), ("queries", queries)) if value is not None}
    found = called(page, "([rows, reads]) => rows.map(t => lab.runModel(model, t, reads))", [tokens.tolist(), reads])
    trace = model.run(
        model.embed(tokens),
        keys_read=None if keys is None else {1: keys},
        queries_read=None if queries is None else {1: queries},
    )
    for b, one in enumerate(found):
        assert_close(one["states"], [state[b] for state in trace.states])
        assert_close(one["patterns"], [pattern[b] for pattern in trace.patterns])
        assert_close(one["writes"], [write[b] for write in trace.writes])


def test_the_logit_lens_at_every_depth(page, model):
    tokens = sequences(6, 24, seed=3)
    read = "lab.runModel(model, t).states.map(x => lab.logProbabilities(lab.logitLens(model, x)[20]))"
    script = f"rows => rows.map(t => {read})"
    found = np.exp(called(page, script, tokens.tolist()))
    states = model.forward(tokens).states
    expected = np.stack([softmax(logit_lens(x, model.unembedding))[:, 20] for x in states], axis=1)
    assert_close(found, expected)


def test_nine_paths(page, model):
    tokens = sequences(5, 20, seed=4)
    script = "rows => rows.map(t => lab.pathExpansion(model, lab.runModel(model, t), 17))"
    found = called(page, script, tokens.tolist())
    trace = model.forward(tokens)
    expansion = model.path_expansion(trace.states[0], trace.patterns)
    assert len(expansion) == 9
    for b, parts in enumerate(found):
        paths = {tuple(map(tuple, part["path"])): part["logits"] for part in parts}
        assert set(paths) == set(expansion)
        for path, logits in expansion.items():
            assert_close(paths[path], logits[b, 17])
        assert_close(np.sum(list(paths.values()), axis=0), trace.logits[b, 17])


def test_the_content_free_kernel(page, model):
    found = called(
        page, "k => [0, 1].map(l => [0, 1].map(h => lab.contentFreeKernel(model, [l, h], k)))", list(range(48))
    )
    assert_close(found, model.content_free_kernel(range(48))[..., 0, :], within=1e-12)


def test_rotary_positions(page):
    random = np.random.default_rng(5)
    X, positions = random.normal(size=(1000, 16)), random.integers(-60, 60, 1000)
    found = called(page, "([X, p]) => lab.rotary(X, p, 10000)", [X.tolist(), positions.tolist()])
    assert_close(found, rotary(X, positions), within=1e-12)


@pytest.mark.parametrize("keys", [None, [], [(0, 0)]])
def test_losses_of_cuts(page, model, keys):
    tokens = sequences(12, 21, seed=6)
    scored = np.tile(np.arange(20) >= 9, (12, 1))
    rows = [
        {"inputs": row[:-1].tolist(), "targets": row[1:].tolist(), "scored": kept.tolist()}
        for row, kept in zip(tokens, scored, strict=True)
    ]
    reads = {} if keys is None else {"keys": {1: keys}}
    found = called(page, "([rows, reads]) => lab.evaluate(model, rows, reads)", [rows, reads])
    expected = evaluate(model, Batch(tokens[:, :-1], tokens[:, 1:], scored), None if keys is None else {1: keys})
    assert found["loss"] == pytest.approx(expected.loss, rel=1e-9)
    assert found["accuracy"] == expected.accuracy
    assert found["count"] == scored.sum()


def test_the_weight_on_the_place_before(page):
    A = np.tril(np.random.default_rng(7).uniform(size=(9, 9)))
    assert page.evaluate("A => lab.previousWeight(A)", A.tolist()) == pytest.approx(
        np.diagonal(A, -1).mean(), rel=1e-12
    )


def test_draws_of_a_seed_are_the_same_and_spread(page):
    draw = "seed => { const below = lab.seeded(seed); return Array.from({length: 2000}, () => below(16)); }"
    first, again, other = page.evaluate(draw, 1), page.evaluate(draw, 1), page.evaluate(draw, 2)
    assert first == again != other
    counts = np.bincount(first, minlength=16)
    assert ((counts > 70) & (counts < 190)).all()


def test_weights_cut_short_are_refused(page):
    data = induction_data()["model"]
    short = {**data, "weights": data["weights"][: 4 * (len(data["weights"]) // 8)]}
    script = "data => { try { lab.loadModel(data); return 'loaded'; } catch (error) { return error.name; } }"
    assert page.evaluate(script, short) in ("RangeError", "TypeError")


# ---- the room ---------------------------------------------------------------


def test_typing_is_answered(visit, laboratory, model):
    seen = visit(laboratory, "#induction")
    text = "qpwoeirutyqpwoeiruty"
    seen.page.get_by_label("type a sequence").fill(text)
    seen.settle()
    logits = model.forward(np.frombuffer(text.encode(), dtype=np.uint8).astype(int)).logits
    predicted = logits.argmax(-1)
    assert seen.page.locator(".chip").count() == len(text)
    shown = seen.page.locator(".chip .guess").all_inner_texts()
    expected = [chr(s) if 32 < s < 127 else f"{s:02x}" for s in predicted]
    known = {chr(s): chr(s) for s in set(text.encode())}
    assert shown == [f"→ {known.get(e, e)}" for e in expected]
    chance = re.search(r"with probability (\d\.\d+)", seen.page.locator("#induction .readout").inner_text())[1]
    assert float(chance) == pytest.approx(softmax(logits[-1:]).max(), abs=6e-4)


def test_a_cut_is_measured_on_the_same_sequences(visit, laboratory):
    seen = visit(laboratory, "#induction?seed=3")
    seen.page.locator("label", has_text="keys read head 0.0").click()
    seen.page.locator(".losses tbody tr").nth(1).wait_for()
    names, losses, accuracies = (
        seen.page.locator(f".losses tbody {cell}").all_inner_texts()
        for cell in ("th", "td:nth-child(2)", "td:nth-child(3)")
    )
    assert names == ["as trained", "keys read x₀ and head 0.1"]
    assert float(losses[1]) > 3 > 0.5 > float(losses[0])
    assert float(accuracies[0]) > 0.9 > 0.3 > float(accuracies[1])


@pytest.mark.parametrize("cut", [False, True])
def test_the_copied_python_computes_what_the_page_shows(visit, laboratory, cut, capsys):
    seen = visit(laboratory, "#induction?text=qpwoeirutyqpwoeiruty")
    if cut:
        seen.page.locator("label", has_text="keys read head 0.0").click()
    seen.settle()
    exec(compile(seen.copied("Python", "#induction"), "copied", "exec"), {})
    predicted = [int(symbol) for symbol in capsys.readouterr().out.strip("[] \n").split()]
    shown = seen.page.locator(".chip .guess").all_inner_texts()
    assert shown == [f"→ {chr(s)}" if 32 < s < 127 else f"→ {s:02x}" for s in predicted]
    assert len(shown) == 20


def test_filings_are_completed_as_the_package_does(visit, laboratory, model):
    filings = induction_data()["filings"]
    seen = visit(laboratory, "#induction")
    right = 0
    for filing in filings:
        seen.page.get_by_role("button", name="A filing").click()
        seen.settle()
        guess = seen.page.locator(".chip[aria-selected=true] .guess").inner_text().removeprefix("→ ")
        symbol = model.forward(np.array(filing["symbols"])).logits[-1].argmax()
        names = dict(zip(filing["symbols"], filing["words"], strict=True)) | {filing["symbol"]: filing["answer"]}
        assert guess == names.get(symbol, f"#{symbol}")
        right += symbol == filing["symbol"]
    assert len(filings) == 12
    assert right >= 6


HOSTILE = (
    "#induction?text=",
    "#induction?place=1e9&filing=77",
    "#induction?text=" + "é" * 300,
    "#induction?seed=x&filing=NaN",
)


@pytest.mark.parametrize("fragment", HOSTILE, ids=range(len(HOSTILE)))
def test_a_link_that_makes_no_sense_opens_the_room(visit, laboratory, fragment):
    seen = visit(laboratory, fragment)
    assert seen.page.locator("#induction .readout").inner_text().startswith("After ")
    assert 1 <= seen.page.locator(".chip").count() <= 48
