"""A folder as models are published: config.json, safetensors, perhaps tokenizer.json. Nothing of it is executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from resstream.errors import WeightsError
from resstream.given import parse_json, read_text
from resstream.observe.extras import needed
from resstream.observe.sources.model import Model, Tokenizer, build

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
LARGEST_JSON = 64 * 2**20


def load(folder: Path) -> Model:
    """The model in a folder; whatever is missing, broken or of another kind raises WeightsError."""
    if not folder.is_dir():
        if folder.is_file():
            raise WeightsError(f"{folder}: expected a folder, an .npz or a .safetensors file; pickles are not read")
        raise WeightsError(f"{folder}: no such folder")
    config = read_json(folder / "config.json")
    return build(config, SafeTensors(_files(folder)), folder.name, _tokenizer(folder / "tokenizer.json"))


def read_json(path: Path) -> Any:
    """What a JSON file says; a missing, broken or huge one raises WeightsError."""
    return parse_json(str(path), read_text("", path, LARGEST_JSON, WeightsError), WeightsError)


def _files(folder: Path) -> list[Path]:
    if not (folder / INDEX).is_file():
        if not (folder / SINGLE).is_file():
            found = sorted(path.name for path in folder.glob("*.bin"))
            hint = f"; {found[0]} is a pickle, which may run code and is not read" if found else ""
            raise WeightsError(f"{folder}: expected {SINGLE} or {INDEX}{hint}")
        return [folder / SINGLE]
    index = read_json(folder / INDEX)
    parts = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(parts, dict) or not all(isinstance(name, str) for name in parts.values()):
        raise WeightsError(f"{folder / INDEX}: expected a table weight_map of file names")
    names = sorted(set(parts.values()))
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise WeightsError(f"{folder / INDEX}: {name!r} is no safetensors file of the same folder")
    return [folder / name for name in names]


class SafeTensors(Mapping[str, Any]):
    """The tensors of some safetensors files by name, each read when it is asked for."""

    def __init__(self, files: list[Path]) -> None:
        safetensors = needed("safetensors")
        needed("ml_dtypes")  # which teaches NumPy, and so safetensors, the name bfloat16
        self._where: dict[str, Any] = {}
        for path in files:
            try:
                opened = safetensors.safe_open(str(path), framework="numpy")
                self._where |= dict.fromkeys(opened.keys(), opened)
            except FileNotFoundError:
                raise WeightsError(f"{path}: no such file") from None
            except (OSError, safetensors.SafetensorError) as error:
                raise WeightsError(f"{path}: corrupt, cut short or not a safetensors file ({error})") from None

    def __getitem__(self, name: str) -> Any:
        try:
            return self._where[name].get_tensor(name)
        except (TypeError, AttributeError) as error:
            raise WeightsError(f"{name}: its kind of numbers cannot be read ({error})") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


def _tokenizer(path: Path) -> Tokenizer | None:
    """The tokenizer of a folder, a table that the `tokenizers` package reads; None where there is none."""
    if not path.is_file():
        return None
    tokenizers = needed("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare exceptions
        raise WeightsError(f"{path}: not a tokenizer ({error})") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def tokenize(text: str) -> tuple[list[int], list[str]]:
        encoded = tokenizer.encode(text)
        return encoded.ids, encoded.tokens

    return tokenize
