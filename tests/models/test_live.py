"""Models in memory: of transformers, bridged by TransformerLens, wrapped or traced by nnsight."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from resstream.claims import lookup
from resstream.errors import ResstreamError
from resstream.observe import Observation, observe
from resstream.observe.sources import see
from resstream.observe.sources.folder import load
from resstream.observe.sources.request import Request

from .conftest import package

PROMPTS = [[5, 2, 30, 7, 7, 11], [1, 2, 3]]
FEW = ["contraction.diameter", "contraction.causal", "layernorm.invariant"]
WORDS = 37

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def gpt2(torch: ModuleType, transformers: ModuleType) -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=16, n_layer=2, n_head=2, vocab_size=WORDS, n_positions=32, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config).eval()


@pytest.fixture(scope="module")
def folder(gpt2: Any, transformers: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model saved, with a tokenizer of the words w0, w1, ..."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    path = tmp_path_factory.mktemp("saved")
    gpt2.save_pretrained(path)
    made = Tokenizer(models.WordLevel({f"w{k}": k for k in range(WORDS)}, unk_token="w0"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="w0", pad_token="w0")
    wrapped.save_pretrained(path)
    return path


def compared(found: Observation, expected: Observation, close: float) -> None:
    """The same places, and the same values up to the rounding of float32."""
    assert [line.id for line in found.lines] == [line.id for line in expected.lines] == FEW
    for mine, theirs in zip(found.lines, expected.lines, strict=True):
        assert [str(place.site) for place in mine.places] == [str(place.site) for place in theirs.places]
        assert sum(place.suspects for place in mine.places) == 0
        for one, other in zip(mine.tightness, theirs.tightness, strict=True):
            assert one == pytest.approx(other, rel=close)
    for row, other_row in zip(found.head_rows, expected.head_rows, strict=True):
        assert row.tau == pytest.approx(other_row.tau, rel=close)
        assert row.logit == pytest.approx(other_row.logit, abs=1e-4)


def test_a_live_model_is_its_folder(gpt2: Any, folder: Path) -> None:
    live, saved = observe(gpt2, PROMPTS, claims=FEW), observe(folder, PROMPTS, claims=FEW)
    compared(live, saved, 1e-3)
    assert set(live.notes) == {"pattern", "stream", "logits"}
    assert all(0 < difference < 1e-5 for difference in live.notes.values())
    assert not gpt2.training
    assert saved.notes == {}


def test_patterns_of_a_live_model_are_its_own(gpt2: Any, torch: ModuleType) -> None:
    seen = see(gpt2, Request(PROMPTS))
    with torch.no_grad():
        gpt2.set_attn_implementation("eager")
        theirs = gpt2(torch.tensor(PROMPTS[0])[None], output_attentions=True).attentions
    assert (seen.prompts[0].layers[1].pattern == theirs[1][0].double().numpy()).all()


def test_texts_need_a_tokenizer_and_take_ones_own(gpt2: Any, folder: Path, transformers: ModuleType) -> None:
    with pytest.raises(ResstreamError, match="without a tokenizer"):
        observe(gpt2, ["w5 w2"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = see(gpt2, Request(["w5 w2 w30"], tokenizer))
    assert found.prompts[0].tokens == ["w5", "w2", "w30"]
    assert see(folder, Request(["w5 w2 w30"])).prompts[0].tokens == ["w5", "w2", "w30"]
    assert load(folder).tokenize is not None


def test_weights_that_are_another_models_are_found_out(gpt2: Any, torch: ModuleType) -> None:
    with torch.no_grad():
        handle = gpt2.transformer.h[0].register_forward_hook(
            lambda _module, _inputs, out: (2 * out[0], *out[1:]) if isinstance(out, tuple) else 2 * out
        )
    try:
        with pytest.raises(ResstreamError, match="our forward pass differs from the model's"):
            observe(gpt2, PROMPTS, claims=FEW)
    finally:
        handle.remove()


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_a_model_in_short_floats_is_taken(gpt2: Any, torch: ModuleType, kind: str) -> None:
    import copy

    short = copy.deepcopy(gpt2).to(getattr(torch, kind))
    found = observe(short, PROMPTS, claims=["contraction.diameter"])
    assert found.line("contraction.diameter").met == 2 * 2 * 2 * 3
    assert max(found.notes.values()) > 1e-5


def test_a_model_of_nnsight_is_the_model_inside(gpt2: Any) -> None:
    nnsight = package("nnsight")
    compared(observe(nnsight.NNsight(gpt2), PROMPTS, claims=FEW), observe(gpt2, PROMPTS, claims=FEW), 1e-12)


def test_what_a_trace_of_nnsight_saved_is_a_table(gpt2: Any, torch: ModuleType) -> None:
    nnsight = package("nnsight")
    wrapped = nnsight.NNsight(gpt2)
    gpt2.set_attn_implementation("eager")
    with wrapped.trace(torch.tensor(PROMPTS[0])[None], output_attentions=True):
        first = wrapped.transformer.h[0].input.save()
        output = wrapped.output.save()
    table = {f"layers.{layer}.pattern": output.attentions[layer] for layer in range(2)}
    found = observe({**table, "layers.0.stream": first}, claims=FEW)
    assert [line.id for line in found.lines] == ["contraction.causal"]
    assert found.causal
    own = see(gpt2, Request(PROMPTS)).prompts[0].layers[0]
    assert own.stream is not None
    assert np.abs(first[0].detach().double().numpy() - own.stream).max() == 0


def test_a_bridge_of_transformerlens_shows_what_its_hooks_see(
    gpt2: Any, folder: Path, transformers: ModuleType
) -> None:
    bridges = package("transformer_lens.model_bridge")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder)
    bridge = bridges.TransformerBridge.boot_transformers(str(folder), hf_model=model, tokenizer=tokenizer)
    found = observe(bridge, PROMPTS, claims=FEW)
    compared(found, observe(gpt2, PROMPTS, claims=FEW), 1e-3)
    assert "TransformerLens" in found.source
    assert all(difference < 1e-5 for difference in found.notes.values())
    assert see(bridge, Request(["w5 w2"])).prompts[0].tokens == ["w5", "w2"]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_arrays_of_jax_are_taken(kind: str) -> None:
    jax = package("jax")
    key = jax.random.PRNGKey(0)
    A = jax.nn.softmax(jax.random.normal(key, (2, 6, 6)), -1).astype(kind)
    X = jax.random.normal(key, (6, 3)).astype(kind)
    for around, how in ((None, "projected"), ("rounding", "ball")):
        found = lookup("contraction.diameter").at(A=A[0], X=X, norm="l2", around=around)
        assert (found.outcome, found.json()["taken"]["A"]["as"]) == ("holds", how)
    seen = observe({"layers.0.pattern": A, "layers.0.read": X}, claims=["contraction.diameter"], certify=6)
    assert (seen.line("contraction.diameter").certified, seen.violated) == (6, [])
