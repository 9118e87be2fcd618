"""Folders as models are published: read, never executed; what is broken or hostile is refused by name."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from resstream.errors import WeightsError
from resstream.observe.sources.folder import load

TOKENS = np.array([5, 2, 30, 7, 7, 11])


@pytest.fixture
def folder(tmp_path: Path, torch: ModuleType, transformers: ModuleType) -> Path:
    """A small GPT-2, as `transformers` saves it."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=16, n_layer=2, n_head=2, vocab_size=37, n_positions=32, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    return tmp_path


def tensors_of(folder: Path, dtype: Any = None) -> dict[str, Any]:
    from safetensors.torch import load_file

    found = load_file(str(folder / "model.safetensors"))
    return {name: tensor if dtype is None else tensor.to(dtype) for name, tensor in found.items()}


@pytest.mark.filterwarnings("ignore")
def test_a_saved_folder_gives_the_same_logits(folder: Path, torch: ModuleType, transformers: ModuleType) -> None:
    made = transformers.GPT2LMHeadModel.from_pretrained(folder).double().eval()
    with torch.no_grad():
        theirs = made(torch.tensor(TOKENS)[None]).logits[0].numpy()
    model = load(folder)
    assert (model.family, model.name, model.tokenize) == ("gpt2", folder.name, None)
    ours = model.transformer.forward(TOKENS).logits
    assert ours is not None
    assert np.abs(ours - theirs).max() <= 1e-13 * np.abs(theirs).max()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_floats_are_read_exactly(folder: Path, torch: ModuleType, safetensors: ModuleType, kind: str) -> None:
    short = tensors_of(folder, getattr(torch, kind))
    safetensors.save_file(short, str(folder / "model.safetensors"))
    embedding = load(folder).transformer.embedding
    assert (embedding == short["transformer.wte.weight"].double().numpy()).all()
    assert np.unique(embedding).size > 100


@pytest.mark.filterwarnings("ignore")
def test_sharded_files_are_one_model(folder: Path, safetensors: ModuleType) -> None:
    whole = load(folder).transformer.forward(TOKENS).logits
    tensors = tensors_of(folder)
    names = sorted(tensors)
    files = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in files.items():
        safetensors.save_file({name: tensors[name] for name in part}, str(folder / file))
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {name: file for file, part in files.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert (load(folder).transformer.forward(TOKENS).logits == whole).all()


@pytest.mark.filterwarnings("ignore")
def test_a_pickle_is_named_and_not_run(folder: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(WeightsError, match=r"pytorch_model.bin is a pickle, which may run code"):
        load(folder)
    assert not (tmp_path / "sprung").exists()


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-200])


def long_header(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes((2**63 - 1).to_bytes(8, "little") + path.read_bytes()[8:])


def escape(folder: Path) -> None:
    index = {"weight_map": {"wte.weight": "../elsewhere.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


BROKEN = {
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "expected model.safetensors"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "config.json: no such file"),
    "config no JSON": (lambda folder: (folder / "config.json").write_text("{"), "not JSON"),
    "config a list": (lambda folder: (folder / "config.json").write_text("[]"), "expected a table"),
    "config too deep": (lambda folder: (folder / "config.json").write_text("[" * 100_000), "not JSON"),
    "config no text": (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe\x00"), "not text in UTF-8"),
    "weights cut": (cut, "corrupt, cut short"),
    "weights with a huge header": (long_header, "corrupt, cut short"),
    "weights empty": (lambda folder: (folder / "model.safetensors").write_bytes(b""), "corrupt, cut short"),
    "index out of the folder": (escape, "is no safetensors file of the same folder"),
    "index no table": (lambda f: (f / "model.safetensors.index.json").write_text("[]"), "weight_map"),
    "tokenizer broken": (lambda folder: (folder / "tokenizer.json").write_text("{}"), "not a tokenizer"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BROKEN)
def test_broken_folders_are_refused(folder: Path, name: str) -> None:
    change, message = BROKEN[name]
    change(folder)
    with pytest.raises(WeightsError, match=message):
        load(folder)


def test_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no such folder"):
        load(tmp_path / "missing")
