"""Training speed: the two-layer model in NumPy with hand-written gradients, against a plain PyTorch autograd version.

    pip install "resstream[interop]"
    python benchmarks/training.py [--steps 1000] [--rounds 2]

Same model, initial weights, data and Adam; float64, one thread each. The two take turns, each in a process of its own,
so that neither profits from the memory of the other. Printed are milliseconds a step (the better round),
their ratio, and the largest difference of the losses over the first 100 steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

AGREED_STEPS = 100


def numpy_run(steps: int) -> list[float]:
    """Losses of training by the package."""
    from dataclasses import replace

    from resstream.induction.settings import Settings
    from resstream.induction.training import train

    return train(replace(Settings(), steps=steps)).losses.tolist()


def torch_run(steps: int) -> list[float]:
    """Losses of the same training, written as one would in PyTorch."""
    import torch

    from resstream.induction.settings import Settings
    from resstream.induction.task import training_blocks
    from resstream.induction.training import initial_weights
    from resstream.induction.weights import split

    torch.set_num_threads(1)
    settings = Settings()
    weights = {
        name: torch.from_numpy(weight.copy()).requires_grad_()
        for name, weight in split(initial_weights(settings), settings).items()
    }
    adam = torch.optim.Adam(
        weights.values(), settings.rate, (settings.momentum, settings.square_momentum), settings.epsilon
    )
    n, h = settings.length, settings.head_width
    pairs = torch.arange(0, h, 2, dtype=torch.float64)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * settings.base ** (-pairs / h)
    cosines, sines = angles.cos(), angles.sin()
    hidden = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)

    def rotate(x: Any) -> Any:
        first, second = x[..., 0::2], x[..., 1::2]
        return torch.stack((first * cosines - second * sines, first * sines + second * cosines), -1).reshape(x.shape)

    losses = []
    for step in range(steps):
        batch = training_blocks(settings, step)
        tokens, targets, scored = (torch.from_numpy(a.copy()) for a in (batch.inputs, batch.targets, batch.scored))
        x = weights["embedding"][tokens]
        for layer in range(settings.layers):
            read = x[:, None]
            q = rotate(read @ weights["W_Q"][layer] + weights["b_Q"][layer])
            k = rotate(read @ weights["W_K"][layer] + weights["b_K"][layer])
            scores = (q @ k.mT / h**0.5).masked_fill(hidden, -torch.inf)
            x = x + (scores.softmax(-1) @ (read @ weights["W_V"][layer]) @ weights["W_O"][layer]).sum(1)
        loss = torch.nn.functional.cross_entropy(x[scored] @ weights["unembedding"], targets[scored])
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


def in_a_process(kind: str, steps: int) -> tuple[float, list[float]]:
    """Milliseconds a step and the losses of one run in a process of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--steps", str(steps), "--only", kind]
    found = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    return found["milliseconds"], found["losses"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=["numpy", "torch"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        run = {"numpy": numpy_run, "torch": torch_run}[arguments.only]
        run(2)  # imports and first calls
        start = time.perf_counter()
        losses = run(arguments.steps)
        milliseconds = 1000 * (time.perf_counter() - start) / arguments.steps
        print(json.dumps({"milliseconds": milliseconds, "losses": losses}))
        return
    best = {"numpy": float("inf"), "torch": float("inf")}
    losses: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for kind in best:
            milliseconds, losses[kind] = in_a_process(kind, arguments.steps)
            best[kind] = min(best[kind], milliseconds)
    apart = max(abs(a - b) for a, b in zip(losses["numpy"][:AGREED_STEPS], losses["torch"][:AGREED_STEPS], strict=True))
    print(f"NumPy, hand-written gradients: {best['numpy']:6.2f} ms a step")
    print(f"PyTorch autograd:              {best['torch']:6.2f} ms a step")
    print(f"ratio (PyTorch / NumPy):       {best['torch'] / best['numpy']:6.2f}  (wanted: 1.3 or more)")
    print(f"losses differ by at most {apart:.1e} over the first {AGREED_STEPS} steps  (wanted: 1e-6 or less)")
    print(f"last losses: NumPy {losses['numpy'][-1]:.4f}, PyTorch {losses['torch'][-1]:.4f}")


if __name__ == "__main__":
    main()
