"""Every family of models gives the logits of `transformers`, on small random instances made from configurations."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from resstream.errors import WeightsError
from resstream.observe.sources.model import build

NEW: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "vocab_size": 37,
}  # fmt: skip
OLD: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 37, "n_positions": 32}
ENDS = {"bos_token_id": 0, "eos_token_id": 0}
BANDS = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
PARTLY = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
LINEAR = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0}
MASKED = {**NEW, "max_position_embeddings": 32}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "vocab_size": 37, "max_position_embeddings": 32}

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {**OLD, **ENDS}),
    "gpt2 untied, exact gelu": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {**OLD, **ENDS, "tie_word_embeddings": False, "activation_function": "gelu", "n_inner": 20},
    ),
    "gpt-neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**NEW, "rope_parameters": PARTLY, **ENDS}),
    "gpt-neox, one after the other": (
        "GPTNeoXForCausalLM",
        "GPTNeoXConfig",
        {**NEW, "rope_parameters": PARTLY, "use_parallel_residual": False, "attention_bias": False, **ENDS},
    ),
    "gpt-j": ("GPTJForCausalLM", "GPTJConfig", {**OLD, "rotary_dim": 4, **ENDS}),
    "bloom, six heads": (
        "BloomForCausalLM",
        "BloomConfig",
        {"hidden_size": 24, "n_layer": 2, "n_head": 6, "vocab_size": 37, **ENDS},
    ),
    "llama, shared keys": ("LlamaForCausalLM", "LlamaConfig", {**NEW, "num_key_value_heads": 1, **ENDS}),
    "llama, biases, tied, three bands": (
        "LlamaForCausalLM",
        "LlamaConfig",
        {
            **NEW,
            **ENDS,
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
            "rope_parameters": BANDS,
        },
    ),
    "llama, linear scaling": ("LlamaForCausalLM", "LlamaConfig", {**NEW, "rope_parameters": LINEAR, **ENDS}),
    "mistral, wide heads": (
        "MistralForCausalLM",
        "MistralConfig",
        {**NEW, "num_key_value_heads": 1, "head_dim": 12, **ENDS},
    ),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {**NEW, "num_key_value_heads": 1, **ENDS}),
    "bert": ("BertForMaskedLM", "BertConfig", MASKED),
    "bert without a head": ("BertModel", "BertConfig", MASKED),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**MASKED, **ENDS, "bos_token_id": 0, "eos_token_id": 2}),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", DISTIL),
}

TOKENS = np.array([5, 2, 30, 7, 7, 11, 36, 3, 2, 9, 30])


@pytest.fixture
def instance(torch: ModuleType, transformers: ModuleType) -> Callable[[str], Any]:
    return lambda name: made_of(name, torch, transformers)


def made_of(name: str, torch: ModuleType, transformers: ModuleType) -> Any:
    """A small model of a family with random weights, gains and biases, in float64."""
    torch.manual_seed(0)
    model, config, settings = CASES[name]
    made = getattr(transformers, model)(getattr(transformers, config)(**settings)).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return made.double()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_logits_are_those_of_transformers(name: str, instance: Callable[[str], Any], torch: ModuleType) -> None:
    made = instance(name)
    with torch.no_grad():
        out = made(torch.tensor(TOKENS)[None])
    theirs = (out.logits if hasattr(out, "logits") else out.last_hidden_state)[0].numpy()
    trace = build(made.config.to_dict(), made.state_dict(), name).transformer.forward(TOKENS)
    ours = trace.final if trace.logits is None else trace.logits
    # Theirs computes angles and RMSNorm in float32 whatever the weights are, and is float64 elsewhere.
    in_float32 = made.config.model_type in ("gpt_neox", "gptj", "llama", "mistral", "qwen2", "bloom")
    scale = np.abs(theirs).max()
    assert ours.shape == theirs.shape
    assert scale > 1
    assert np.abs(ours - theirs).max() <= (2e-6 if in_float32 else 1e-13) * scale


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_a_weight_more_or_less_is_refused(name: str, instance: Callable[[str], Any]) -> None:
    made = instance(name)
    config, tensors = made.config.to_dict(), dict(made.state_dict())
    needed = next(key for key in tensors if key.endswith(("mlp.c_fc.weight", "h_to_4h.weight", "fc_in.weight",
                                                          "up_proj.weight", "intermediate.dense.weight",
                                                          "lin1.weight")))  # fmt: skip
    with pytest.raises(WeightsError, match="not among"):
        build(config, {key: value for key, value in tensors.items() if key != needed}, name)
    with pytest.raises(WeightsError, match="no place for: stray"):
        build(config, {**tensors, "stray": tensors[needed]}, name)
    with pytest.raises(WeightsError, match="expected the shape"):
        build(config, {**tensors, needed: tensors[needed][1:]}, name)
    with pytest.raises(WeightsError, match="NaN"):
        build(config, {**tensors, needed: tensors[needed] * float("nan")}, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "mamba"}, "model_type: expected one of"),
        ({"model_type": None}, "model_type"),
        ({"n_head": 0}, "n_head: expected a whole number"),
        ({"n_layer": "two"}, "n_layer: expected a whole number"),
        ({"n_embd": 8}, "expected the shape"),
        ({"activation_function": "mish"}, "activation_function: expected one of"),
        ({"layer_norm_epsilon": -1.0}, "layer_norm_epsilon: expected a number"),
        ({"scale_attn_by_inverse_layer_idx": True}, "not implemented"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    change: dict[str, Any], message: str, instance: Callable[[str], Any]
) -> None:
    made = instance("gpt2")
    with pytest.raises(WeightsError, match=message):
        build({**made.config.to_dict(), **change}, made.state_dict(), "changed")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tie_word_embeddings": True}, "tie_word_embeddings is true, and lm_head.weight is not the embedding"),
        ({"attention_bias": True}, r"attention_bias = True, and the weights say otherwise at layers\.0"),
        ({"mlp_bias": True}, "mlp_bias = True"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "expected one of them"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "'yarn': expected default, linear or llama3"),
        ({"quantization_config": {"bits": 4}}, "quantized weights are not read"),
        ({"num_attention_heads": 4}, "expected the shape"),
        ({"num_hidden_layers": 10**9}, "not among"),
    ],
)
def test_a_configuration_that_the_weights_contradict_is_refused(
    change: dict[str, Any], message: str, instance: Callable[[str], Any]
) -> None:
    made = instance("llama, shared keys")
    with pytest.raises(WeightsError, match=message):
        build({**made.config.to_dict(), **change}, made.state_dict(), "changed")
