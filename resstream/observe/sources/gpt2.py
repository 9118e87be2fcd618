"""GPT-2: LayerNorm before sublayers, learned positions, tied embeddings; its linear layers store maps of rows."""

from __future__ import annotations

import numpy as np

from resstream.observe.sources.neox import unembedding
from resstream.observe.sources.tensors import Settings, Tensors, bias_of_heads, heads_in, heads_out
from resstream.reference.transformer import AttentionLayer, FeedForward, Transformer, TransformerBlock

PREFIXES = ("transformer.",)
WITHOUT = (r"\.attn\.(masked_)?bias$", r"^lm_head\.weight$")


def transformer(config: Settings, tensors: Tensors) -> Transformer:
    """The model of a configuration and tensors; raises WeightsError."""
    config.require("scale_attn_weights", True)
    config.require("scale_attn_by_inverse_layer_idx", False)
    config.require("add_cross_attention", False)
    d, heads = config.whole("n_embd"), config.whole("n_head")
    width = config.whole("n_inner", 4 * d)
    epsilon = config.number("layer_norm_epsilon", 1e-5)
    activation = config.activation("activation_function", "gelu_new")
    blocks = []
    for index in range(config.whole("n_layer")):
        at = f"h.{index}"
        W = tensors(f"{at}.attn.c_attn.weight", d, 3 * d)
        b = tensors.row(f"{at}.attn.c_attn.bias", 3 * d)
        W_Q, W_K, W_V = (heads_in(part, heads) for part in np.split(W, 3, axis=1))
        b_Q, b_K, b_V = (bias_of_heads(part, heads) for part in np.split(b, 3, axis=1))
        W_O = heads_out(tensors(f"{at}.attn.c_proj.weight", d, d), heads)
        attention = AttentionLayer(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, tensors.row(f"{at}.attn.c_proj.bias", d))
        mlp = FeedForward(
            tensors(f"{at}.mlp.c_fc.weight", d, width),
            tensors(f"{at}.mlp.c_proj.weight", width, d),
            activation,
            tensors.row(f"{at}.mlp.c_fc.bias", width),
            tensors.row(f"{at}.mlp.c_proj.bias", d),
        )
        norms = tensors.norms(at, (".ln_1", ".ln_2"), d, epsilon)
        blocks.append(TransformerBlock(attention, mlp, *norms))
    symbols = config.whole("vocab_size")
    embedding = tensors("wte.weight", symbols, d)
    return Transformer(
        embedding,
        blocks,
        tensors.norm("ln_f", d, epsilon),
        unembedding(config, tensors, "lm_head", embedding, tied=True),
        position_embedding=tensors("wpe.weight", config.whole("n_positions", 1024), d),
    )
