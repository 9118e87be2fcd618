"""Which objects of a model a claim's variables are read as, and at how many places.

A variable is bound by its domain and its name, which are the same throughout the library: a row-stochastic A is an
attention pattern, X what the heads read, W a head's OV circuit, S its scores, x a row of the stream. What a model has
nothing for (a rotation, a scalar) is drawn from its domain, seeded, and said. A claim that quantifies over what the
model is not (a ReLU layer, doubly stochastic patterns) is not applicable, and why is said too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.claim import Claim
from resstream.domains import (
    AttentionOnly,
    Causal,
    Domain,
    DoublyStochastic,
    Heads,
    Matrix,
    NonConstant,
    NonZero,
    Norm,
    Positive,
    ReluLayer,
    RowStochastic,
    Stack,
    Tokens,
)
from resstream.domains.current import Objects
from resstream.observe.seen import Activations, Prompt, Seen, Weights
from resstream.reference import Head, ov_circuit
from resstream.reference.norms import Norm as NormValue
from resstream.reference.transformer import FeedForward

CHAIN, HEAD, LAYER, POSITIONS, STATE = "chains of heads", "heads", "layers", "positions", "states"
"""Where a claim is looked at: one head index through all layers; every head; every layer; every row of every state;
every state."""

MOST_SYMBOLS = 2048
"""Claims that form tables from tokens to tokens are left out beyond this many symbols."""

TOO_MANY = {
    "contraction.duality": "it takes every one of 2^n subsets of the tokens",
    "literature.softmax_sensitivity": "it takes every one of 2^n subsets of the tokens",
    "circuits.head_is_tensor_product": "it forms the tensor product of a pattern and a circuit, (n d)^2 entries",
}


class NotApplicable(Exception):
    """A claim does not speak of this model; the message says why."""


COSTLY = ("jacobian", "derivative", "eigenvalue", "spectrum")
"""Claims whose code names one of these take d derivatives, or worse, for each row; they look at one row of each array,
the last.
"""


@dataclass(frozen=True)
class Site:
    """One place of a model: prompt, layer, head (None where all are meant) and kind of norm."""

    prompt: int
    layer: int | None
    head: int | None
    norm: str = ""

    def __str__(self) -> str:
        words = [f"prompt {self.prompt}"]
        words += [f"layer {self.layer}"] if self.layer is not None else []
        words += [f"head {self.head}"] if self.head is not None else []
        return ", ".join(words + ([self.norm] if self.norm else []))


Getter = Callable[["Look"], Any]


@dataclass(frozen=True)
class Look:
    """What a getter sees: the site, with its prompt, its layer and the layer before."""

    site: Site
    seen: Activations

    @property
    def prompt(self) -> Prompt:
        return self.seen.prompts[self.site.prompt]

    def layer(self, back: int = 0) -> Seen:
        assert self.site.layer is not None
        return self.prompt.layers[self.site.layer - back]

    def weights(self, back: int = 0) -> Weights:
        assert self.site.layer is not None
        return self.seen.weights[self.site.layer - back]

    def pattern(self, back: int = 0) -> Array:
        return normalised(self.layer(back).pattern[self.site.head])


def normalised(A: Array) -> Array:
    """Rows over their sums, which the model's own rounding left a little off one."""
    return A / A.sum(-1, keepdims=True)


def head_of(weights: Weights, name: str, head: int) -> Array:
    """A map of one head: W_Q, W_K, W_V, W_O, or OV or QK, the circuits."""
    layer = weights.attention
    if layer is None:
        raise NotApplicable("the weights are not known")
    if name == "OV":
        return ov_circuit(layer.values_map[head], layer.W_O[head])
    if name == "QK":
        return layer.W_Q[head] @ layer.keys_map[head].T / np.sqrt(layer.W_Q.shape[-1])
    return {"W_Q": layer.W_Q, "W_K": layer.keys_map, "W_V": layer.values_map, "W_O": layer.W_O}[name][head]


def _map(name: str, back: int = 0, turned: bool = False) -> Getter:
    def get(look: Look) -> Array:
        assert look.site.head is not None
        W = head_of(look.weights(back), name, look.site.head)
        return W.T if turned else W

    return get


def _of_head(name: str) -> Getter:
    def get(look: Look) -> Array:
        array = getattr(look.layer(), name)
        if array is None:
            raise NotApplicable(f"the {name} are not known")
        return array[look.site.head]

    return get


def _read(look: Look) -> Array:
    x = look.layer().read
    if x is None:
        raise NotApplicable("what the heads read is not known")
    return x


def _state(look: Look) -> Array:
    states = look.prompt.states
    if states is None or look.site.layer is None:
        raise NotApplicable("the states of the stream are not known")
    return states[look.site.layer]


def _values(look: Look) -> Array:
    return _read(look) @ _map("W_V")(look)


@dataclass(frozen=True)
class _Role:
    """How a variable is read: at which unit, by which getter, and how many layers it looks back."""

    unit: str
    get: Getter
    back: int = 0
    tokens: bool = False
    """Whether it depends on the prompt, or on weights alone."""


_BY_NAME: Mapping[str, _Role] = {
    "W_Q": _Role(HEAD, _map("W_Q")),
    "W_K": _Role(HEAD, _map("W_K")),
    "W_V": _Role(HEAD, _map("W_V")),
    "W_O": _Role(HEAD, _map("W_O")),
    "W": _Role(HEAD, _map("OV")),
    "W_OV": _Role(HEAD, _map("OV")),
    "M": _Role(HEAD, _map("QK")),
    "T": _Role(HEAD, _map("W_V")),
    "W_QK": _Role(HEAD, _map("QK")),
    "X": _Role(LAYER, _read, tokens=True),
    "S": _Role(HEAD, _of_head("scores"), tokens=True),
    "Q": _Role(HEAD, _of_head("queries"), tokens=True),
    "K": _Role(HEAD, _of_head("keys"), tokens=True),
    "V": _Role(HEAD, _values, tokens=True),
}
"""Matrices by name."""


def _of_norm(name: str) -> Getter:
    def get(look: Look) -> Array:
        norm = look.weights().norm
        assert norm is not None
        value = {"gain": norm.gain, "bias": norm.bias, "epsilon": np.array([[float(norm.epsilon)]])}[name]  # type: ignore[arg-type]
        if value is None:
            d = _read(look).shape[-1]
            return np.ones((1, d)) if name == "gain" else np.zeros((1, d))
        return value

    return get


_NORM: Mapping[str, _Role] = {name: _Role(STATE, _of_norm(name)) for name in ("gain", "bias", "epsilon")}
"""Parameters of the norm that attention reads through."""

_ROWS: Mapping[str, _Role] = {
    "x": _Role(POSITIONS, lambda look: _rows(_state(look)), tokens=True),
    "y": _Role(POSITIONS, lambda look: _rows(np.roll(_state(look), 1, axis=0)), tokens=True),
    "s": _Role(HEAD, lambda look: _rows(_of_head("scores")(look)), tokens=True),
    "t": _Role(HEAD, lambda look: _rows(np.roll(_of_head("scores")(look), 1, axis=0)), tokens=True),
    "q": _Role(HEAD, lambda look: _rows(_of_head("queries")(look)), tokens=True),
    "k": _Role(HEAD, lambda look: _rows(_of_head("keys")(look)), tokens=True),
}
"""Single rows by name: every row of an array, as a batch (y and t are the rows before x and s)."""

_CLAIMS: Mapping[str, Mapping[str, _Role]] = {
    "factored": {
        "A": _Role(HEAD, _map("W_V")),
        "B": _Role(HEAD, _map("W_O")),
        "C": _Role(HEAD, _map("W_Q")),
        "D": _Role(HEAD, _map("W_K", turned=True)),
    },
    "composition": {"first": _Role(HEAD, _map("OV", 1), 1), "second": _Role(HEAD, _map("QK"))},
}
"""Variables that mean something else in a family of claims."""


def _rows(x: Array) -> Array:
    return x[:, None, :]


def _patterns(back: int) -> _Role:
    return _Role(HEAD, lambda look: look.pattern(back), back, tokens=True)


def _pattern_row(row: int) -> _Role:
    return _Role(HEAD, lambda look: look.pattern()[row : row + 1] if row >= 0 else look.pattern()[row:], tokens=True)


def _chain(get: Callable[[Look, int], Any]) -> _Role:
    return _Role(CHAIN, lambda look: [get(look, layer) for layer in range(look.seen.layers)], tokens=True)


def _layer_of(look: Look, layer: int) -> Look:
    return Look(Site(look.site.prompt, layer, look.site.head), look.seen)


def object_of_a_head(name: str, site: Site, seen: Activations) -> Array:
    """The object that a variable of that name is read as at a head; NotApplicable where it is not known."""
    role = _patterns(0) if name == "A" else _BY_NAME[name]
    found: Array = role.get(Look(site, seen))
    return found


_STACKS: Mapping[str, _Role] = {
    "As": _chain(lambda look, layer: _layer_of(look, layer).pattern()),
    "Ws": _chain(lambda look, layer: _map("OV")(_layer_of(look, layer))),
    "X": _Role(CHAIN, lambda look: _read(_layer_of(look, 0)), tokens=True),
    "x": _Role(CHAIN, lambda look: _read(_layer_of(look, 0)), tokens=True),
}


@dataclass(frozen=True)
class Binding:
    """A claim, with a role for each variable that the model has, the names of those that are drawn, and its unit."""

    claim: Claim
    unit: str
    roles: Mapping[str, _Role]
    drawn: tuple[str, ...]
    norm: str | None
    """The variable that is a norm, of which each kind is a place of its own."""
    costly: bool = False

    def sites(self, seen: Activations) -> Iterator[Site]:
        """Every place of the model that the claim speaks of."""
        depends = any(role.tokens for role in self.roles.values())
        prompts = range(len(seen.prompts) if depends else 1)
        back = max(role.back for role in self.roles.values())
        kinds = self.claim.over[self.norm].options()["kind"] if self.norm else ("",)
        layers: Any = range(back, seen.layers)
        if self.unit in (POSITIONS, STATE) and not set(self.roles) & set(_NORM):
            layers = range(seen.layers + 1)
        if self.unit == CHAIN:
            layers = (None,)
        heads: Any = range(seen.heads) if self.unit in (HEAD, CHAIN) else (None,)
        for prompt, layer, head, kind in product(prompts, layers, heads, kinds):
            yield Site(prompt, layer, head, kind)

    def objects(
        self, site: Site, seen: Activations, rng: np.random.Generator, drawn: Made | None = None
    ) -> dict[str, Any]:
        """The claim's objects at a place; a claim that does not fit the shapes there raises NotApplicable.

        drawn: what is made of the domain, sizes and raw arrays of those that are drawn; built in floats without it.
        """
        look = Look(site, seen)
        objects = {name: role.get(look) for name, role in self.roles.items()}
        if self.costly:
            objects = {
                name: value[-1:] if isinstance(value, np.ndarray) and value.ndim > 2 else value
                for name, value in objects.items()
            }
        sizes = _sizes(self.claim, objects)
        for name in self.drawn:
            objects[name] = _draw(self.claim, name, sizes, rng, drawn or _built)
        if self.norm:
            objects[self.norm] = NormValue(site.norm)
        for name, domain in self.claim.over.items():
            if name not in self.drawn:
                _require_member(name, domain, objects[name])
        return Objects(objects, sizes)

    def counts(self, objects: Mapping[str, Any]) -> dict[str, int]:
        """The number that each size stands for at some objects."""
        return _sizes(self.claim, {name: objects[name] for name in self.roles})

    def perturbed(self, objects: Mapping[str, Any], radius: float, rng: np.random.Generator) -> dict[str, Any]:
        """The objects moved within a ball: every entry by up to `radius`; patterns stay patterns, under their mask.

        What was drawn, and norms, stay as they are.
        """
        moved = {
            name: _moved(self.claim.over[name], value, radius, rng) if name in self.roles else value
            for name, value in objects.items()
        }
        return Objects(moved, self.counts(objects))


def bind(claim: Claim, seen: Activations) -> Binding:
    """How a claim is read on a model; raises NotApplicable with the reason."""
    if claim.as_grows is not None:
        raise NotApplicable(f"it says what holds as {claim.as_grows.size} grows, and a model has one size")
    if claim.id in TOO_MANY:
        raise NotApplicable(TOO_MANY[claim.id])
    own = _CLAIMS.get(claim.id.split(".")[0], {})
    stacked = any(isinstance(domain, Stack) for domain in claim.over.values())
    roles: dict[str, _Role] = {}
    drawn: list[str] = []
    norm = None
    patterns = 0
    for name, domain in claim.over.items():
        if isinstance(domain, Norm):
            norm = name
        elif _is_causal(domain) and not seen.causal:
            raise NotApplicable("its patterns are causal, and the model's are not")
        elif isinstance(domain, RowStochastic) and not stacked and domain.rows != 1:
            roles[name] = _patterns(patterns)
            patterns += 1
        elif (role := _role(name, domain, own, stacked, seen)) is not None:
            roles[name] = role
        elif isinstance(domain, Matrix | NonZero) and domain.rows != 1 and domain.columns != 1:
            raise NotApplicable(f"{name} is no object of a trained model")
        else:
            drawn.append(name)
    if not {name for name in roles if name not in _NORM}:
        raise NotApplicable("none of its variables is an object of the model")
    if "S" in roles and seen.causal and "causal" not in claim.id and "mask" not in claim.id:
        raise NotApplicable("its softmax has no mask, and the model's has")
    if "S" in roles and not seen.causal and "causal" in claim.id:
        raise NotApplicable("its softmax has a causal mask, and the model's has none")
    units = {role.unit for role in roles.values()}
    unit = next(unit for unit in (CHAIN, HEAD, LAYER, POSITIONS, STATE) if unit in units)
    costly = any(word in code for word in COSTLY for code in claim.code())
    return Binding(claim, unit, roles, tuple(drawn), norm, costly)


def _is_causal(domain: Domain) -> bool:
    return isinstance(domain.inner if isinstance(domain, Stack) else domain, Causal)


def _role(name: str, domain: Domain, own: Mapping[str, _Role], stacked: bool, seen: Activations) -> _Role | None:
    """The role of a variable, None if it is to be drawn; NotApplicable if it can be neither."""
    if name in own:
        return own[name]
    if name in _NORM and not stacked:
        return _NORM[name] if all(weights.norm is not None for weights in seen.weights) else None
    if isinstance(domain, Stack):
        role = _STACKS.get(name)
        if role is None or not isinstance(domain.length, str):
            raise NotApplicable(f"{name} is no stack of layers that a trained model has")
        return role
    if stacked:
        return _STACKS.get(name)
    if isinstance(domain, Heads):
        return _Role(LAYER, _heads)
    if isinstance(domain, ReluLayer):
        if not all(_is_relu(weights.mlp) for weights in seen.weights):
            raise NotApplicable("its MLP is a ReLU layer, and the model's is not")
        raise NotApplicable("MLPs are looked at by the sum of their neurons")
    if isinstance(domain, AttentionOnly | Tokens | DoublyStochastic):
        raise NotApplicable(f"{name} in {domain} is not what the model has")
    if isinstance(domain, RowStochastic):
        return _pattern_row({"p": -1, "q": 0}.get(name, -1))
    if name in ("E", "U"):
        if seen.model is None or seen.model.unembedding is None:
            raise NotApplicable("the model has no unembedding, or it is not known")
        model, symbols = seen.model, seen.model.embedding.shape[-2]
        if symbols > MOST_SYMBOLS:
            raise NotApplicable(f"tables from token to token are left out beyond {MOST_SYMBOLS} symbols")
        return _Role(LAYER, lambda _: model.embedding if name == "E" else model.unembedding)
    if isinstance(domain, NonConstant):
        return _ROWS["x" if name not in _ROWS else name] if name in ("x", "y", "early", "late") else None
    if isinstance(domain, Matrix | NonZero):
        if domain.rows == 1:
            return _ROWS.get(name)
        if name == "x":
            return _Role(STATE, _state, tokens=True)
        return _BY_NAME.get(name)
    return None


def _heads(look: Look) -> list[Head]:
    layer = look.weights().attention
    if layer is None:
        raise NotApplicable("the weights are not known")
    maps = (layer.W_Q, layer.keys_map, layer.values_map, layer.W_O)
    return [Head(*(W[head] for W in maps)) for head in range(layer.heads)]


def _is_relu(mlp: FeedForward | None) -> bool:
    return mlp is not None and mlp.activation == "relu" and mlp.W_gate is None


def _sizes(claim: Claim, objects: Mapping[str, Any]) -> dict[str, int]:
    """The number that each size stands for, by the shapes of the objects that the model gave."""
    sizes: dict[str, int] = {}

    def meet(size: Any, number: int, name: str) -> None:
        if isinstance(size, int) or size is None:
            if size is not None and size != number:
                raise NotApplicable(f"{name} has {number} rows or columns, and the claim says {size}")
        elif sizes.setdefault(size, number) != number:
            raise NotApplicable(f"{size} would be {sizes[size]} and {number}")

    for name, value in objects.items():
        domain = claim.over[name]
        if isinstance(domain, Stack):
            meet(domain.length, len(value), name)
            domain, value = domain.inner, value[0]
        if not isinstance(value, np.ndarray):
            continue
        for size, length in zip(domain.shape() or (), value.shape[-2:], strict=False):
            meet(size, length, name)
    for size, values in claim.size_ranges().items():
        number = sizes.get(size)
        if number is not None and (number < values[0] or (number - values[0]) % values.step):
            of = f"in steps of {values.step}" if values.step > 1 else "or more"
            raise NotApplicable(f"{size} is {number} here, and the claim speaks of {values[0]} {of}")
        sizes.setdefault(size, max(values[0], min(2, values[-1])))
    if not claim.fits(sizes):
        raise NotApplicable(f"the claim speaks of sizes with {claim.where}")
    return sizes


Made = Callable[[Domain, Mapping[str, int], Mapping[str, Array], Mapping[str, str]], Any]


def _draw(claim: Claim, name: str, sizes: Mapping[str, int], rng: np.random.Generator, made: Made) -> Any:
    """An object from a variable's domain, generic: of raw arrays that are standard normal, or whole in their range.

    Square ones have zeros on the diagonal and small numbers beside it, of few digits: triangular factors of them are
    well-conditioned at any width, and their exact products short.
    """
    domain = claim.over[name]
    options = {option: values[0] for option, values in domain.options().items()}
    raw = {}
    for part, spec in domain.parts(sizes, options).items():
        values = rng.standard_normal(spec.shape)
        if spec.kind == "whole":
            values = FLOAT64.array(rng.integers(spec.low, spec.high + 1, spec.shape))
        elif len(spec.shape) == 2 and spec.shape[0] == spec.shape[1] > 1:
            unit = 2.0 ** -np.ceil(np.log2(spec.shape[0]))
            values = np.rint(8 * values) / 8 * unit * (1 - np.eye(spec.shape[0]))
        raw[part] = values
    return made(domain, sizes, raw, options)


def _built(domain: Domain, sizes: Mapping[str, int], raw: Mapping[str, Array], options: Mapping[str, str]) -> Any:
    return domain.build(raw, options, sizes)


def _moved(domain: Domain, value: Any, radius: float, rng: np.random.Generator) -> Any:
    if isinstance(value, list):
        inner = domain.inner if isinstance(domain, Stack) else domain
        return [_moved(inner, one, radius, rng) for one in value]
    if isinstance(value, Head):
        names = ("W_Q", "W_K", "W_V", "W_O")
        return Head(*(_moved(domain, getattr(value, name), radius, rng) for name in names))
    moved = value + radius * rng.uniform(-1, 1, value.shape)
    if isinstance(domain, RowStochastic):
        return normalised(np.where(value > 0, np.maximum(moved, 0), 0) + np.finfo(float).tiny * (value > 0))
    return np.abs(moved) if isinstance(domain, Positive) else moved


def _require_member(name: str, domain: Domain, value: Any) -> None:
    if isinstance(domain, NonConstant) and (np.ptp(value, axis=-1) == 0).any():
        raise NotApplicable(f"{name} has a constant row here")
    if isinstance(domain, NonZero) and not value.any():
        raise NotApplicable(f"{name} is zero here")
