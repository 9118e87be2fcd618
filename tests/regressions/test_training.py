"""The task, the settings, training with checkpoints, and the files of weights: right use and bad input."""

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resstream.arithmetic import Array
from resstream.errors import TrainingError, WeightsError
from resstream.induction import training
from resstream.induction.readings import evaluate
from resstream.induction.settings import Settings
from resstream.induction.task import Batch, held_out_blocks, repeated_blocks, training_blocks
from resstream.induction.training import initial_weights, train
from resstream.induction.weights import NAMES, load_arrays, load_model, model_of, save_arrays, save_model, shapes, split

TINY = Settings(
    symbols=11,
    width=6,
    head_width=4,
    length=8,
    shortest_period=2,
    longest_period=4,
    batch=4,
    steps=25,
    test_sequences=20,
)


def weights_of(trained: training.Training) -> Array:
    return np.concatenate([getattr(trained.model, name).ravel() for name in NAMES])


# ---- the task ---------------------------------------------------------------


def test_a_sequence_repeats_its_block_and_the_target_is_the_next_symbol() -> None:
    blocks = repeated_blocks(np.random.default_rng(0), 200, Settings())
    for inputs, targets, scored, (period,) in zip(
        blocks.inputs, blocks.targets, blocks.scored, blocks.periods, strict=True
    ):
        block = inputs[:period]
        for i in range(48):
            assert inputs[i] == block[i % period]
            assert targets[i] == block[(i + 1) % period]
            assert scored[i] == (i >= period)


def test_periods_and_symbols_take_every_value() -> None:
    blocks = repeated_blocks(np.random.default_rng(1), 2000, Settings())
    assert sorted(set(blocks.periods.ravel().tolist())) == list(range(6, 25))
    assert sorted(set(blocks.inputs.ravel().tolist())) == list(range(256))


def test_parts_are_the_whole_in_order() -> None:
    blocks = held_out_blocks(TINY)
    parts = list(blocks.parts(7))
    assert [len(part) for part in parts] == [7, 7, 6]
    assert (np.concatenate([part.periods for part in parts]) == blocks.periods).all()


def test_the_streams_of_random_numbers_are_separate() -> None:
    more = replace(TINY, batch=8, longest_period=5)
    assert (initial_weights(TINY) == initial_weights(more)).all()  # what training draws does not move the weights
    other = replace(TINY, seed=1)
    assert (held_out_blocks(TINY).inputs == held_out_blocks(other).inputs).all()
    assert (initial_weights(TINY) != initial_weights(other)).any()
    assert (training_blocks(TINY, 3).inputs != training_blocks(other, 3).inputs).any()
    assert (held_out_blocks(TINY).inputs != held_out_blocks(replace(TINY, test_seed=1)).inputs).any()
    assert (training_blocks(TINY, 3).inputs != training_blocks(TINY, 4).inputs).any()
    assert (training_blocks(TINY, 3).inputs == training_blocks(TINY, 3).inputs).all()


def test_initial_weights_have_the_stated_deviations() -> None:
    settings = Settings()
    weights = split(initial_weights(settings), settings)
    for name, deviation in (("embedding", 1.0), ("unembedding", 0.1), ("W_Q", 0.1), ("W_O", 0.1)):
        # The deviation of N normal numbers is off by 1 / sqrt(2 N): five of those.
        assert abs(weights[name].std() / deviation - 1) < 5 / (2 * weights[name].size) ** 0.5
    assert not weights["b_Q"].any()
    assert not weights["b_K"].any()
    assert sum(weight.size for weight in weights.values()) == 24_704


# ---- settings that cannot work ----------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head_width": 3}, "head_width: rotary positions turn pairs, so expected an even width, got 3"),
        ({"longest_period": 48}, "longest_period: expected less than the length 48, or nothing repeats"),
        ({"longest_period": 100}, "longest_period: expected less than the length 48"),
        ({"shortest_period": 25}, "longest_period: expected at least the shortest, 25, got 24"),
        ({"test_sequences": 0}, "test_sequences: expected an integer of 1 or more, got 0"),
        ({"batch": 0}, "batch: expected an integer of 1 or more, got 0"),
        ({"steps": -1}, "steps: expected an integer of 0 or more, got -1"),
        ({"steps": 1.5}, "steps: expected an integer of 0 or more, got 1.5"),
        ({"rate": 0.0}, "rate: expected a positive number, got 0.0"),
        ({"rate": float("nan")}, "rate: expected a positive number, got nan"),
        ({"momentum": 1.0}, r"momentum: expected a number in \[0, 1\), got 1.0"),
    ],
    ids=lambda value: next(iter(value)) + "=" + str(next(iter(value.values()))) if isinstance(value, dict) else "",
)
def test_settings_that_cannot_work_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        Settings(**change)  # type: ignore[arg-type]


def test_unknown_settings_are_refused_by_name() -> None:
    with pytest.raises(TrainingError, match="settings: unknown names depth, speed"):
        Settings.from_dict({"speed": 1, "depth": 2})


def test_a_batch_without_scored_positions_is_refused() -> None:
    blocks = held_out_blocks(TINY)
    empty = Batch(blocks.inputs, blocks.targets, np.zeros_like(blocks.scored))
    model = model_of(split(initial_weights(TINY), TINY), TINY)
    with pytest.raises(TrainingError, match="batch: expected at least one scored position, got none"):
        evaluate(model, empty)
    with pytest.raises(TrainingError, match="batch: expected at least one scored position, got none"):
        train(TINY, lambda settings, step: empty)  # noqa: ARG005


# ---- training ---------------------------------------------------------------


def test_training_lowers_the_loss_and_says_how_far_it_is() -> None:
    told = []
    trained = train(replace(TINY, steps=150), progress=lambda done, loss: told.append((done, loss)))
    assert [done for done, _ in told] == list(range(1, 151))
    assert [loss for _, loss in told] == trained.losses.tolist()
    assert trained.losses[-20:].mean() < 0.9 * trained.losses[:5].mean()
    assert (getattr(trained.initial, "embedding") == split(initial_weights(TINY), TINY)["embedding"]).all()  # noqa: B009


def test_one_step_of_adam_is_the_sign_of_the_gradient() -> None:
    # At the first step the running means are corrected to the gradient and its square: rate * g / (|g| + epsilon).
    settings = replace(TINY, steps=1)
    trained = train(settings)
    moved = weights_of(trained) - initial_weights(settings)
    assert np.abs(moved).max() <= settings.rate * (1 + 1e-12)
    assert (np.abs(moved) > 0.99 * settings.rate).mean() > 0.8  # the rest has a zero or tiny gradient


class Interruption(Exception):
    """Stands for the user's."""


def test_an_interrupted_training_goes_on_to_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 10)
    whole = train(TINY)
    path = tmp_path / "checkpoint.npz"

    def interrupt(done: int, loss: float) -> None:  # noqa: ARG001
        if done == 17:
            raise Interruption

    with pytest.raises(Interruption):
        train(TINY, checkpoint=path, progress=interrupt)
    assert len(load_arrays(path, "checkpoint")[1]["losses"]) == 10
    done = []
    resumed = train(TINY, checkpoint=path, progress=lambda step, loss: done.append(step))  # noqa: ARG005
    assert done == list(range(11, 26))
    assert (resumed.losses == whole.losses).all()
    assert (weights_of(resumed) == weights_of(whole)).all()
    again = train(TINY, checkpoint=path, progress=lambda step, loss: done.append(step))  # noqa: ARG005
    assert len(done) == 15  # a finished run is not trained again
    assert (weights_of(again) == weights_of(whole)).all()


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    train(replace(TINY, steps=1), checkpoint=path)
    with pytest.raises(TrainingError, match=r"made with other settings: rate 0\.01 and not 0\.02"):
        train(replace(TINY, rate=0.02), checkpoint=path)


def test_more_steps_go_on_from_a_finished_run_and_fewer_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    train(replace(TINY, steps=10), checkpoint=path)
    done: list[int] = []
    longer = train(TINY, checkpoint=path, progress=lambda step, loss: done.append(step))  # noqa: ARG005
    assert done == list(range(11, 26))
    assert (longer.losses == train(TINY).losses).all()
    with pytest.raises(TrainingError, match="this checkpoint is 25 steps on, more than the 10 asked for"):
        train(replace(TINY, steps=10), checkpoint=path)


def test_a_loss_that_is_no_number_stops_training_and_keeps_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 1)
    path = tmp_path / "checkpoint.npz"
    with pytest.raises(TrainingError, match=r"the loss became (nan|inf) at step \d+: the rate 1e\+200 may"):
        train(replace(TINY, rate=1e200), checkpoint=path)
    assert len(load_arrays(path, "checkpoint")[1]["losses"]) == 1


# ---- files of weights -------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.npz"
    save_model(path, train(replace(TINY, steps=2)).model, TINY, command="a test")
    return path


def test_a_model_comes_back_as_it_was_saved(saved: Path) -> None:
    model, settings, header = load_model(saved)
    trained = train(replace(TINY, steps=2)).model
    assert settings == TINY
    assert header["command"] == "a test"
    assert header["made with"]["numpy"] == np.__version__
    assert all((getattr(model, name) == getattr(trained, name)).all() for name in NAMES)
    assert not list(saved.parent.glob("*.partial"))


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99], ids=lambda kept: f"kept-{kept}")
def test_a_file_cut_short_is_refused(saved: Path, kept: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: kept if isinstance(kept, int) else int(len(content) * kept)])
    with pytest.raises(WeightsError, match=r"model\.npz: corrupt, cut short or not an \.npz file"):
        load_model(saved)


def test_every_flipped_byte_is_noticed_or_harmless(saved: Path) -> None:
    content = saved.read_bytes()
    model = load_model(saved)[0]
    refused = 0
    for place in range(0, len(content), max(1, len(content) // 60)):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            loaded = load_model(saved)[0]
        except WeightsError:
            refused += 1
        else:
            assert all((getattr(model, name) == getattr(loaded, name)).all() for name in NAMES)
    assert refused > 30


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    with pytest.raises(WeightsError, match="no such file"):
        load_model(path)
    path.write_text("some text")
    with pytest.raises(WeightsError, match=r"corrupt, cut short or not an \.npz file"):
        load_model(path)
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(WeightsError, match=r"not a file of resstream weights \(no 'header'\)"):
        load_model(path)
    np.save(path.with_suffix(".npy"), np.zeros(3))
    with pytest.raises(WeightsError, match=r"corrupt, cut short or not an \.npz file"):
        load_model(path.with_suffix(".npy"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(WeightsError, match="not a file of resstream weights"):
        load_model(path)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pickled.npz"
    np.savez(path, header=np.array({"format": "resstream weights 1"}, dtype=object))
    with pytest.raises(WeightsError, match=r"corrupt, cut short or not an \.npz file"):
        load_model(path)


def test_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    train(replace(TINY, steps=1), checkpoint=path)
    with pytest.raises(WeightsError, match="of kind 'model', got 'resstream weights 1' of kind 'checkpoint'"):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("W_O"), r"W_O: expected float64 \(2, 2, 4, 6\) by its settings, got nothing"),
        (lambda arrays: arrays.update(b_Q=np.zeros(3)), r"b_Q: expected float64 \(2, 2, 1, 4\) by its settings"),
        (lambda arrays: arrays.update(W_Q=arrays["W_Q"].astype(np.float32)), "W_Q: expected float64 .* got float32"),
        (lambda arrays: arrays["W_K"].fill(np.nan), "W_K holds NaN or infinite entries"),
    ],
    ids=["missing", "shape", "dtype", "nan"],
)
def test_weights_that_do_not_fit_their_settings_are_refused(tmp_path: Path, change: object, message: str) -> None:
    arrays = {name: np.zeros(shape) for name, shape in shapes(TINY).items()}
    change(arrays)  # type: ignore[operator]
    path = tmp_path / "model.npz"
    save_arrays(path, "model", TINY, arrays)
    with pytest.raises(WeightsError, match=message):
        load_model(path)
