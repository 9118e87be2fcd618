"""Training from scratch: Adam on hand-written gradients, with checkpoints that go on to the same result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.errors import TrainingError
from resstream.induction.gradients import loss_and_gradient
from resstream.induction.settings import Settings
from resstream.induction.task import Batch, Stream, generator, training_blocks
from resstream.induction.weights import NAMES, load_arrays, model_of, save_arrays, shapes, split
from resstream.reference import AttentionOnlyModel

Source = Callable[[Settings, int], Batch]
"""Gives the batch of a step, the same one whenever it is asked."""

Progress = Callable[[int, float], None]
"""Is told, after every step, how many are done and the loss before it."""

CHECKPOINT_EVERY = 100


@dataclass(frozen=True, eq=False)
class Training:
    """A trained model, what it was at its initialisation, and the loss at every step, in nats."""

    settings: Settings
    model: AttentionOnlyModel
    initial: AttentionOnlyModel
    losses: Array


def initial_weights(settings: Settings) -> Array:
    """One vector of all weights at initialisation: normal, biases zero, from the stream of `settings.seed`."""
    random = generator(settings.seed, Stream.WEIGHTS)
    deviations = dict.fromkeys(NAMES, settings.weight_deviation)
    deviations |= {"embedding": settings.embedding_deviation, "b_Q": 0.0, "b_K": 0.0}
    parts = [deviations[name] * random.standard_normal(shape).ravel() for name, shape in shapes(settings).items()]
    return np.concatenate(parts)


def train(
    settings: Settings,
    source: Source = training_blocks,
    *,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> Training:
    """Train an attention-only model for `settings.steps` steps of Adam.

    With `checkpoint`, the state is written there every hundred steps and at the end, and a run that finds the file goes
    on from it, to the same result as one that was never interrupted. A loss that is no finite number, and a checkpoint
    of other settings, raise TrainingError. Source: Induction heads of "The Transformer Block and the Residual Stream",
    whose settings are inferred.
    """
    start = initial_weights(settings)
    state = _State(start.copy(), np.zeros_like(start), np.zeros_like(start), np.zeros(0))
    if checkpoint is not None and checkpoint.exists():
        state = _resume(checkpoint, settings, start.size)
    keep_memory()
    losses = list(state.losses)
    model = model_of(split(state.weights, settings), settings)
    gradient = np.empty_like(start)
    views = split(gradient, settings)
    with FLOAT64.working():
        for step in range(len(losses), settings.steps):
            loss, parts = loss_and_gradient(model, source(settings, step))
            if not np.isfinite(loss.item()):
                raise TrainingError(
                    f"the loss became {loss.item()} at step {step}: the rate {settings.rate} may be too large; "
                    f"the last checkpoint is kept"
                )
            for name in NAMES:
                views[name][...] = parts[name]
            _adam(state, gradient, step + 1, settings)
            losses.append(loss.item())
            if checkpoint is not None and (len(losses) % CHECKPOINT_EVERY == 0 or len(losses) == settings.steps):
                _save(checkpoint, settings, state, np.array(losses))
            if progress is not None:
                progress(len(losses), losses[-1])
    return Training(settings, model, model_of(split(start, settings), settings), np.array(losses))


@dataclass(frozen=True, eq=False)
class _State:
    """The weights and Adam's running means, each one vector, and the losses so far."""

    weights: Array
    mean: Array
    mean_square: Array
    losses: Array


def _adam(state: _State, gradient: Array, step: int, settings: Settings) -> None:
    """One step of Adam, in place."""
    beta, gamma = settings.momentum, settings.square_momentum
    state.mean[...] = beta * state.mean + (1 - beta) * gradient
    state.mean_square[...] = gamma * state.mean_square + (1 - gamma) * gradient**2
    scale = np.sqrt(state.mean_square / (1 - gamma**step)) + settings.epsilon
    state.weights[...] -= settings.rate / (1 - beta**step) * state.mean / scale


def keep_memory() -> None:
    """Have the allocator keep what a step frees, instead of returning it to the system and asking again.

    glibc raises the size from which it does so to that of the largest block it ever saw freed (up to 32 MB). A step
    allocates many blocks of a megabyte, and page faults would cost it a third of its time. Elsewhere this does nothing.
    """
    np.empty(3 << 20)


def _save(path: Path, settings: Settings, state: _State, losses: Array) -> None:
    arrays = {"weights": state.weights, "mean": state.mean, "mean_square": state.mean_square, "losses": losses}
    save_arrays(path, "checkpoint", settings, arrays)


def _resume(path: Path, settings: Settings, size: int) -> _State:
    found, arrays, _ = load_arrays(path, "checkpoint")
    if replace(found, steps=settings.steps) != settings:  # more steps only go on: nothing depends on how many there are
        ours, theirs = settings.to_dict(), found.to_dict()
        other = ", ".join(
            f"{name} {theirs[name]} and not {ours[name]}"
            for name in ours
            if ours[name] != theirs[name] and name != "steps"
        )
        raise TrainingError(f"{path}: this checkpoint was made with other settings: {other}")
    names = ("weights", "mean", "mean_square", "losses")
    if sorted(arrays) != sorted(names) or any(arrays[name].shape != (size,) for name in names[:3]):
        raise TrainingError(f"{path}: this checkpoint holds other arrays than a run of these settings")
    if len(arrays["losses"]) > settings.steps:
        done = len(arrays["losses"])
        raise TrainingError(f"{path}: this checkpoint is {done} steps on, more than the {settings.steps} asked for")
    return _State(*(arrays[name] for name in names))
