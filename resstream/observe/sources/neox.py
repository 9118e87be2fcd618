"""GPT-NeoX and Pythia: rotary halves of part of a head, attention and MLP in parallel or one after the other."""

from __future__ import annotations

from resstream.arithmetic import Array
from resstream.errors import WeightsError
from resstream.observe.sources.rope import rotary
from resstream.observe.sources.tensors import Settings, Tensors, heads_out
from resstream.reference.transformer import (
    PARALLEL,
    PRE,
    AttentionLayer,
    FeedForward,
    Transformer,
    TransformerBlock,
)

PREFIXES = ("gpt_neox.",)
WITHOUT = (r"\.attention\.(masked_)?bias$", r"rotary_emb\.inv_freq$", r"^(embed_out|lm_head)\.weight$")


def transformer(config: Settings, tensors: Tensors) -> Transformer:
    """The model of a configuration and tensors; raises WeightsError."""
    d, heads = config.whole("hidden_size"), config.whole("num_attention_heads")
    width, symbols = config.whole("intermediate_size"), config.whole("vocab_size")
    epsilon = config.number("layer_norm_eps", 1e-5)
    activation = config.activation("hidden_act", "gelu")
    layout = PARALLEL if config.flag("use_parallel_residual", True) else PRE
    blocks = []
    for index in range(config.whole("num_hidden_layers")):
        at = f"layers.{index}"
        attention = fused_attention(tensors, f"{at}.attention", d, heads)
        mlp = FeedForward(
            tensors.linear(f"{at}.mlp.dense_h_to_4h", d, width),
            tensors.linear(f"{at}.mlp.dense_4h_to_h", width, d),
            activation,
            tensors.row(f"{at}.mlp.dense_h_to_4h.bias", width),
            tensors.row(f"{at}.mlp.dense_4h_to_h.bias", d),
        )
        norms = tensors.norms(at, (".input_layernorm", ".post_attention_layernorm"), d, epsilon)
        blocks.append(TransformerBlock(attention, mlp, *norms, layout))
    embedding = tensors("embed_in.weight", symbols, d)
    name = "lm_head" if "lm_head.weight" in tensors else "embed_out"  # as `transformers` 5 saves it, and as before
    base, share = config.number("rotary_emb_base", 10_000), config.number("rotary_pct", 0.25)
    return Transformer(
        embedding,
        blocks,
        tensors.norm("final_layer_norm", d, epsilon),
        unembedding(config, tensors, name, embedding, tied=False),
        rotary=rotary(config, d // heads, share=share, base=base),
    )


def fused_attention(tensors: Tensors, at: str, d: int, heads: int) -> AttentionLayer:
    """Attention whose queries, keys and values lie in one matrix, three rows of blocks for each head."""
    h = d // heads
    W = tensors(f"{at}.query_key_value.weight", 3 * d, d).reshape(heads, 3, h, d).transpose(1, 0, 3, 2)
    b = tensors.row_if_there(f"{at}.query_key_value.bias", 3 * d)
    b_Q, b_K, b_V = (None, None, None) if b is None else b.reshape(heads, 3, 1, h).transpose(1, 0, 2, 3)
    W_O = heads_out(tensors.linear(f"{at}.dense", d, d), heads)
    return AttentionLayer(W[0], W[1], W[2], W_O, b_Q, b_K, b_V, tensors.row_if_there(f"{at}.dense.bias", d))


def unembedding(config: Settings, tensors: Tensors, name: str, embedding: Array, tied: bool) -> Array | None:
    """The unembedding (d, V): the embedding's transpose where they are tied (by default, or as the configuration says).

    None for a model without one, of which the body alone was saved. Weights that are not tied raise WeightsError.
    """
    own = tensors.linear(name, *embedding.shape[::-1]) if f"{name}.weight" in tensors else None
    if not config.flag("tie_word_embeddings", tied):
        return own
    if own is not None and (own != embedding.T).any():
        raise WeightsError(f"config: tie_word_embeddings is true, and {name}.weight is not the embedding")
    return embedding.T
