"""Llama, Mistral and Qwen 2: RMSNorm, rotary halves, shared keys and values, gated MLPs."""

from __future__ import annotations

from resstream.errors import WeightsError
from resstream.observe.sources.neox import unembedding
from resstream.observe.sources.rope import rotary
from resstream.observe.sources.tensors import Settings, Tensors, bias_of_heads, heads_in, heads_out
from resstream.reference.transformer import RMS, AttentionLayer, FeedForward, Transformer, TransformerBlock

PREFIXES = ("model.",)
WITHOUT = (r"rotary_emb\.inv_freq$", r"^lm_head\.weight$")


def transformer(config: Settings, tensors: Tensors) -> Transformer:
    """The model of a configuration and tensors; raises WeightsError."""
    d, heads, symbols = config.whole("hidden_size"), config.whole("num_attention_heads"), config.whole("vocab_size")
    groups = config.whole("num_key_value_heads", heads)
    h, width = config.whole("head_dim", d // heads), config.whole("intermediate_size")
    epsilon = config.number("rms_norm_eps", 1e-6)
    activation = config.activation("hidden_act", "silu")
    blocks = []
    biased = {"attention_bias": ".self_attn.q_proj.bias", "mlp_bias": ".mlp.up_proj.bias"}
    for index in range(config.whole("num_hidden_layers")):
        at = f"layers.{index}"
        for flag, name in biased.items():
            if flag in config.values and config.flag(flag, False) != (f"{at}{name}" in tensors):
                raise WeightsError(
                    f"config: {flag} = {config.values[flag]}, and the weights say otherwise at {at}{name}"
                )
        shared = {"q": heads, "k": groups, "v": groups}
        W_Q, W_K, W_V = (
            heads_in(tensors.linear(f"{at}.self_attn.{name}_proj", d, count * h), count)
            for name, count in shared.items()
        )
        b_Q, b_K, b_V = (
            bias_of_heads(tensors.row_if_there(f"{at}.self_attn.{name}_proj.bias", count * h), count)
            for name, count in shared.items()
        )
        W_O = heads_out(tensors.linear(f"{at}.self_attn.o_proj", heads * h, d), heads)
        b_O = tensors.row_if_there(f"{at}.self_attn.o_proj.bias", d)
        attention = AttentionLayer(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O)
        mlp = FeedForward(
            tensors.linear(f"{at}.mlp.up_proj", d, width),
            tensors.linear(f"{at}.mlp.down_proj", width, d),
            activation,
            tensors.row_if_there(f"{at}.mlp.up_proj.bias", width),
            tensors.row_if_there(f"{at}.mlp.down_proj.bias", d),
            tensors.linear(f"{at}.mlp.gate_proj", d, width),
            tensors.row_if_there(f"{at}.mlp.gate_proj.bias", width),
        )
        norms = tensors.norms(at, (".input_layernorm", ".post_attention_layernorm"), d, epsilon, RMS)
        blocks.append(TransformerBlock(attention, mlp, *norms))
    embedding = tensors("embed_tokens.weight", symbols, d)
    return Transformer(
        embedding,
        blocks,
        tensors.norm("norm", d, epsilon, RMS),
        unembedding(config, tensors, "lm_head", embedding, tied=False),
        rotary=rotary(config, h),
        context=_window(config),
    )


def _window(config: Settings) -> int | None:
    """How many tokens see each other: within a sliding window, longer prompts would need another mask."""
    if not config.values.get("use_sliding_window", True):
        return None
    return None if config.values.get("sliding_window") is None else config.whole("sliding_window")
