"""Counterexamples: what refutes a claim, in exact numbers, with both sides enclosed, in every form one may need."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from resstream.arithmetic import RATIONAL, Array, Ball, BallEntry, NoValue, RationalEntry, to_fmpq, to_fraction
from resstream.claim import Claim, Instance
from resstream.errors import ArithmeticLimit, ClaimError
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import PRECISIONS, Judgement
from resstream.falsify.variants import Origin, distinct_name, origin_of
from resstream.relations import NEGATED

if TYPE_CHECKING:
    from rich.panel import Panel

    from resstream.falsify.formats.trace import Trace

FORMAT = "resstream-counterexample-1"

_NUMBER = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?")
_LATEX = {"<=": r"\le", "<": "<", ">=": r"\ge", ">": ">", "==": "=", "!=": r"\ne"}


@dataclass(frozen=True, repr=False)
class Exhibit:
    """An instance of a claim with both sides as judged (rationals where bits is None, balls elsewhere), to be shown.

    raw holds exact numbers. The instances that make a bound sharp are shown so; those that refute are `Counterexample`.
    """

    claim: Claim
    raw: Instance
    judgement: Judgement
    seed: int = 0
    engine: str = ""

    @property
    def title(self) -> str:
        """The first line of the text."""
        return f"{self.claim.id}, an instance"

    # -- values

    def values(self) -> dict[str, Any]:
        """The objects that the raw numbers stand for, by variable: exact rationals where rational, balls elsewhere."""
        values: dict[str, Any] = {}
        for system in (RATIONAL, Ball(self.judgement.bits or PRECISIONS[0])):
            with system.working():
                for name in self.claim.over:
                    if name in values:
                        continue
                    try:
                        values[name] = self.claim.build_one(name, self.raw, system)
                    except (ArithmeticLimit, ZeroDivisionError):
                        continue
        return {name: values[name] for name in self.claim.over if name in values}

    def arrays(self) -> Iterator[tuple[str, Array | str]]:
        """The arrays inside the values, each with a name such as "A", "Ws[1]" or "norm.basis"; other things as text."""
        for name, value in self.values().items():
            yield from _flattened(name, value)

    # -- text

    def __str__(self) -> str:
        lines = [self.title]
        if self.claim.statement:
            lines += [f"  {line}" for line in self.claim.statement.splitlines()]
        lines += [f"  {line}" for line in self._changes()]
        shape = [*(f"{name} = {size}" for name, size in self.raw.sizes.items())]
        if shape:
            lines += ["", "at " + ", ".join(shape)]
        for name, value in self.arrays():
            lines += _aligned(name, value)
        lines += ["", *self._sides()]
        return "\n".join(lines)

    def _changes(self) -> list[str]:
        origin = origin_of(self.claim)
        return [f"with {name}: {_change(value)}" for name, value in (origin.changes.given() if origin else {}).items()]

    def _sides(self) -> list[str]:
        return [f"lhs = {_number(self.judgement.lhs)}", f"rhs = {_number(self.judgement.rhs)}"]

    def __rich__(self) -> Panel:
        from rich.panel import Panel
        from rich.text import Text

        head, _, body = str(self).partition("\n")
        return Panel(Text(body), title=Text(head, style="bold red"), title_align="left", expand=False)

    # -- forms

    def trace(self) -> Trace:
        """Its terms: how the numbers of the claim's sides and hypotheses come of its entries.

        What terms have no words for raises NotExpressible, what they cannot decide Undecided.
        """
        from resstream.falsify.formats.trace import trace

        return trace(self.claim, self.raw)

    def to(self, form: str) -> str:
        """The instance in one of the forms of `resstream.falsify.formats`: "check", "rocq", "numpy", ...

        An unknown form raises ClaimError; what its terms have no words for, NotExpressible.
        """
        from resstream.falsify.formats import lookup

        return lookup(form).write(self)

    def _values_snippet(self) -> str:
        lines = [f"# {line}" for line in (f"{self.title}:", *self._sides())]
        lines += ["from fractions import Fraction", ""]
        for name, value in self.arrays():
            written = _python(value) if isinstance(value, np.ndarray) else repr(value)
            lines.append(f"{re.sub(r'[^0-9A-Za-z]+', '_', name).strip('_')} = {written}")
        return "\n".join(lines) + "\n"

    # -- LaTeX and HTML

    def _shown_relation(self) -> str:
        return self.judgement.kind

    def latex(self) -> str:
        """The instance and both sides as LaTeX (a display for `$$` or an equation environment)."""
        rows = [
            rf"{_latex_name(name)} &= {_latex_matrix(value) if isinstance(value, np.ndarray) else _latex_text(value)}"
            for name, value in self.arrays()
        ]
        relation = _LATEX[self._shown_relation()]
        sides = rf"\mathrm{{lhs}} = {_latex_number(self.judgement.lhs)} &{relation} "
        rows.append(sides + rf"{_latex_number(self.judgement.rhs)} = \mathrm{{rhs}}")
        rows += [_latex_beside(*one) for one in self.judgement.beside]
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle\n{self.latex()}\n$"

    __repr__ = __str__  # what a prompt shows is to be read

    def _repr_html_(self) -> str:
        from resstream.falsify.formats.html import exhibit_html

        return exhibit_html(self)

    def json(self) -> dict[str, Any]:
        """The instance, both sides and where the claim comes from, as JSON-ready data."""
        origin = origin_of(self.claim)
        verdict = self.judgement
        return {
            "claim": origin.id if origin else self.claim.id,
            "file": origin.file if origin else None,
            "digest": origin.digest if origin else None,
            "distribution": origin.distribution if origin else None,
            "version": origin.version if origin else None,
            "named": origin is not None,
            "changes": origin.changes.given() if origin else {},
            "seed": self.seed,
            "engine": self.engine,
            "raw": raw_to_json(self.raw),
            "values": {name: _nested(v) if isinstance(v, np.ndarray) else v for name, v in self.arrays()},
            "lhs": _number(verdict.lhs),
            "kind": verdict.kind,
            "rhs": _number(verdict.rhs),
            "bits": verdict.bits,
            "margin": verdict.margin,
            "beside": [beside_text(one) for one in verdict.beside],
        }


@dataclass(frozen=True, repr=False)
class Counterexample(Exhibit):
    """An instance that certainly violates a claim, shrunk: made of a certificate, by `Counterexample.of` alone.

    worst is the certificate of the largest relative violation that was seen (as a share of |lhs| + |rhs|): a shrunk
    instance alone understates how false a claim is.

    >>> import resstream as rs
    >>> found = rs.falsify(rs.lookup("contraction.diameter_squared")).counterexample
    >>> found.judgement.lhs, found.judgement.kind, found.judgement.rhs
    (1/2, '<=', 1/4)
    >>> sorted(found.values())
    ['A', 'X', 'norm']
    """

    certificate: Certificate | None = None
    worst: Certificate | None = None

    @classmethod
    def of(
        cls, certificate: Certificate, seed: int = 0, engine: str = "", worst: Certificate | None = None
    ) -> Counterexample:
        """The counterexample of a certificate."""
        c = certificate
        return cls(c.claim, c.raw, c.judgement, seed, engine, certificate, worst or certificate)

    def __post_init__(self) -> None:
        if not isinstance(self.certificate, Certificate) or self.certificate.raw is not self.raw:
            raise TypeError("a counterexample is made of a certificate of its instance, by Counterexample.of")

    @property
    def title(self) -> str:
        """The first line of the text."""
        return f"{self.claim.id} is refuted"

    @property
    def largest_violation(self) -> float:
        """The largest certified relative violation seen, as a share of |lhs| + |rhs|."""
        return 0 - self.worst.judgement.margin if self.worst else 0.0

    @property
    def largest_raw(self) -> Instance | None:
        """Where that was."""
        return self.worst.raw if self.worst else None

    def _shown_relation(self) -> str:
        return NEGATED[self.judgement.kind]

    def _sides(self) -> list[str]:
        verdict = self.judgement
        certain = "exactly" if verdict.bits is None else f"certified at {verdict.bits} bits"
        lines = [
            *super()._sides(),
            f"lhs {verdict.kind} rhs fails: lhs {NEGATED[verdict.kind]} rhs {certain}; relative violation "
            f"{0 - verdict.margin:.3g}, largest seen {self.largest_violation:.3g}",
            *(beside_text(one) for one in verdict.beside),
        ]
        if self.engine:
            lines.append(f"found by {self.engine}, seed {self.seed}")
        return lines

    # -- Python

    def snippet(self) -> str:
        """Python code that runs as it stands: it builds the claim and the instance, and judges it again.

        Where the claim cannot be had again by name (it was made of functions on the spot), the exact values alone.
        """
        origin = origin_of(self.claim)
        if origin is None:
            return self._values_snippet()
        imports, made = _claim_code(origin)
        return (
            f"{imports}from resstream.falsify.counterexample import instance\n"
            "from resstream.falsify.certify import Certificate, certify\n\n"
            f"claim = {made}\n{self._raw_code()}\n"
            "certificate = certify(claim, raw)\n"
            "assert isinstance(certificate, Certificate), certificate\n"
            "print(certificate.judgement)\n"
        )

    def pytest_file(self, directory: str | Path | None = None) -> str:
        """A pytest file that shows this instance, with one test: that it refutes the claim.

        directory: where it is to be; it finds the file that states the claim from there, wherever it is run from.
        Raises ClaimError where the claim has no name.
        """
        origin = origin_of(self.claim)
        if origin is None:
            raise ClaimError(f"claim {self.claim.id} was made of functions on the spot, so no file can name it")
        imports, made = _claim_code(origin, directory)
        shown = str(self).replace("\\", "\\\\").replace('"""', "'''")
        name = re.sub(r"\W+", "_", self.claim.id)
        body = f"claim = {made}\n{self._raw_code()}\n"
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        return (
            f'"""A counterexample, found by resstream.\n\n{shown}\n"""\n\n'
            f"{imports}from resstream.falsify.counterexample import instance\n"
            "from resstream.falsify.certify import Certificate, certify\n\n\n"
            f"def test_{name}_is_refuted():\n{indented}"
            "    assert isinstance(certify(claim, raw), Certificate)\n"
        )

    def _raw_code(self) -> str:
        arrays = {name: _nested(values) for name, values in self.raw.arrays.items()}
        lines = "".join(f"        {name!r}: {values!r},\n" for name, values in arrays.items())
        return (
            "raw = instance(\n"
            "    claim,\n"
            f"    sizes={dict(self.raw.sizes)!r},\n"
            f"    options={dict(self.raw.options)!r},\n"
            f"    arrays={{\n{lines}    }},\n"
            ")"
        )

    # -- JSON

    def json(self) -> dict[str, Any]:
        """Everything as JSON-ready data, from which `from_json` (and `resstream replay`) judges it again.

        terms: how it can be judged without the claim's code, where that is not of this package's library.
        """
        from resstream.falsify.recorded import record

        return {
            "format": FORMAT,
            **super().json(),
            "terms": record(self, origin_of(self.claim)),
            "largest_violation": self.largest_violation,
            "largest_raw": raw_to_json(self.largest_raw) if self.largest_raw else None,
        }

    def save(self, directory: str | Path) -> Path:
        """Write the JSON into a directory (made where missing), whole or not at all; the path is returned.

        The name is the claim's id, with a digest of what was changed of a modified one. A claim that can be had again
        by name gets a pytest file beside it.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        name = distinct_name(self.claim)
        path = directory / f"{name}.json"
        _write(path, json.dumps(self.json(), indent=2) + "\n")
        if origin_of(self.claim):
            _write(directory / f"test_{re.sub(r'[^0-9A-Za-z]+', '_', name)}.py", self.pytest_file(directory))
        return path


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all: beside it first, then renamed."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".part", delete=False) as part:
        beside = Path(part.name)
        try:
            part.write(text)
            part.flush()
            os.fsync(part.fileno())
            beside.replace(path)
        except BaseException:  # Ctrl-C too
            beside.unlink(missing_ok=True)
            raise


# ---- raw instances as text --------------------------------------------------


def raw_to_json(raw: Instance) -> dict[str, Any]:
    """Sizes, options and arrays (nested lists of exact numbers as text)."""
    arrays = {name: _nested(values) for name, values in raw.arrays.items()}
    return {"sizes": dict(raw.sizes), "options": dict(raw.options), "arrays": arrays}


def instance(claim: Claim, sizes: Mapping[str, Any], options: Mapping[str, Any], arrays: Mapping[str, Any]) -> Instance:
    """An exact raw instance of a claim from plain data: nested lists of whole numbers or of text such as "-1/3".

    Sizes, options, names and shapes must be those of the claim; else ClaimError says which is not.

    >>> import resstream as rs
    >>> small = rs.claim("mine.small", over={"x": rs.domains.Vector("d")})(lambda x: rs.at_most(x, 1))
    >>> instance(small, sizes={"d": 2}, options={}, arrays={"x": [["1/3", 2]]}).arrays["x"].tolist()
    [[1/3, 2]]
    """
    return raw_from_json(claim, {"sizes": sizes, "options": options, "arrays": arrays})


def raw_from_json(claim: Claim, data: Any) -> Instance:
    """The exact raw instance of a claim that `raw_to_json` wrote; ClaimError where it does not fit the claim."""
    sizes, options, arrays = (_mapping(data, key) for key in ("sizes", "options", "arrays"))
    _require_names("sizes", sizes, claim.size_ranges())
    _require_names("options", options, claim.option_values())
    for name, values in claim.size_ranges().items():
        if type(sizes[name]) is not int or sizes[name] not in values:
            raise ClaimError(f"size {name}: expected one of {list(values)}, got {sizes[name]!r}")
    for name, choices in claim.option_values().items():
        if options[name] not in choices:
            raise ClaimError(f"option {name}: expected one of {list(choices)}, got {options[name]!r}")
    parts = claim.parts(sizes, options)
    try:
        _require_names("arrays", arrays, parts)
    except ClaimError as failure:
        raise ClaimError(f"{failure}: it may be of an earlier version, whose domains were built otherwise") from None
    exact = {name: _exact_array(name, arrays[name], part.shape) for name, part in parts.items()}
    for name, part in parts.items():
        whole = part.kind != "whole" or all(x.q == 1 and part.low <= x <= part.high for x in exact[name].flat)
        if not whole:
            raise ClaimError(f"array {name}: expected whole numbers from {part.low} to {part.high}")
    return Instance(dict(sizes), dict(options), exact)


def _mapping(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(value, Mapping):
        raise ClaimError(f"{key}: expected an object by name, got {type(value).__name__}")
    return dict(value)


def _require_names(what: str, got: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    if set(got) != set(expected):
        raise ClaimError(f"{what}: expected the names {sorted(expected)}, got {sorted(map(str, got))}")


def _exact_array(name: str, nested: Any, shape: tuple[int, ...]) -> Array:
    flat: list[fmpq] = []

    def read(value: Any, left: tuple[int, ...]) -> None:
        if left:
            if not isinstance(value, (list, tuple)) or len(value) != left[0]:
                got = f"{len(value)}" if isinstance(value, (list, tuple)) else type(value).__name__
                raise ClaimError(f"array {name}: expected the shape {shape}, got {got} where {left[0]} were expected")
            for entry in value:
                read(entry, left[1:])
        elif type(value) is int and abs(value) < 10**400:
            flat.append(fmpq(value))
        elif isinstance(value, str) and _NUMBER.fullmatch(value) and not re.search(r"/0+$", value):
            flat.append(to_fmpq(value))
        else:
            raise ClaimError(f"array {name}: expected whole numbers or text such as '-1/3', got {str(value)[:40]!r}")

    read(nested, shape)
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(shape)


def from_json(data: Any, claim: Claim | None = None) -> Exhibit:
    """The instance of a file, judged anew: a `Counterexample` where it refutes, elsewhere an `Exhibit`.

    `claim` is the one to judge by, where the file's own has no name. Raises ClaimError where the data is not one, or
    does not fit the claim.
    """
    from resstream.falsify.replay import claim_of

    if claim is None:
        claim = claim_of(data)
    raw = raw_from_json(claim, data["raw"])
    seed = data["seed"] if type(data.get("seed")) is int else 0
    answer = certify(claim, raw, exactly=True)
    engine = str(data.get("engine", ""))
    if isinstance(answer, Judgement):
        return Exhibit(claim, raw, answer, seed, engine)
    return Counterexample.of(answer, seed, engine, _largest(claim, data.get("largest_raw")))


def _largest(claim: Claim, data: Any) -> Certificate | None:
    """The certificate of the largest violation that a file tells of, if it still is one."""
    if data is None:
        return None
    answer = certify(claim, raw_from_json(claim, data))
    return answer if isinstance(answer, Certificate) else None


# ---- how numbers and arrays are written -------------------------------------


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Array | str]]:
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            yield from _flattened(f"{name}[{index}]", entry)
    elif dataclasses.is_dataclass(value):
        parts = [(entry.name, getattr(value, entry.name)) for entry in dataclasses.fields(value)]
        inner = [(f"{name}.{part}", entry) for part, entry in parts if isinstance(entry, (np.ndarray, list, tuple))]
        if not inner or not all(isinstance(entry, np.ndarray) for _, entry in inner) or len(inner) < len(parts):
            yield name, str(value) if type(value).__str__ is not object.__str__ else type(value).__name__
        for label, entry in inner:
            yield from _flattened(label, entry)
    else:
        yield name, str(value)


def _number(value: Any) -> str:
    """An entry as text: a whole number, a fraction, or a ball with its radius."""
    if isinstance(value, BallEntry):
        ball = value.value
        return ball.str(24) if ball.rad() > 0 or not ball.is_integer() else str(ball.unique_fmpz())
    if isinstance(value, NoValue):
        return repr(value)
    return str(to_fraction(_plain(value)))


def beside_text(beside: tuple[str, Any, str, Any]) -> str:
    """What else a violation rests on, in a line: a premise that holds, an alternative that fails too."""
    what, lhs, symbol, rhs = beside
    return f"{what}: {_number(lhs)} {symbol} {_number(rhs)}" if symbol else what


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, RationalEntry) else value


def _nested(values: Array) -> Any:
    if values.ndim == 0:
        return _number(values.item())
    return [_nested(row) if isinstance(row, np.ndarray) else _number(row) for row in values]


def _short(value: Any) -> str:
    if isinstance(value, BallEntry):
        return value.value.str(8, radius=False)
    return _number(value)


def _aligned(name: str, value: Array | str) -> list[str]:
    """A matrix with aligned columns after its name; leading axes one after the other."""
    if isinstance(value, str):
        return [f"  {name} = {value}"]
    if value.ndim > 2:
        return [line for k in range(len(value)) for line in _aligned(f"{name}[{k}]", value[k])]
    cells = [[_short(entry) for entry in row] for row in np.atleast_2d(value)]
    if len(cells) == 1 and len(cells[0]) == 1:
        return [f"  {name} = {cells[0][0]}"]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    rows = ["[" + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + "]" for row in cells]
    lead = f"  {name} = "
    return [(lead if k == 0 else " " * len(lead)) + row for k, row in enumerate(rows)]


def _change(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={text}" for name, text in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def _latex_number(value: Any) -> str:
    if isinstance(value, BallEntry):
        mantissa, _, exponent = value.value.str(12, radius=False).partition("e")
        return mantissa + (rf" \cdot 10^{{{int(exponent)}}}" if exponent else "")
    exact = to_fraction(_plain(value))
    if exact.denominator == 1:
        return str(exact.numerator)
    sign = "-" if exact < 0 else ""
    return rf"{sign}\tfrac{{{abs(exact.numerator)}}}{{{exact.denominator}}}"


def _latex_beside(what: str, lhs: Any, symbol: str, rhs: Any) -> str:
    sides = rf" {_latex_number(lhs)} {_LATEX[symbol]} {_latex_number(rhs)}" if symbol else ""
    return rf"&\text{{{_latex_escaped(what)}{':' if symbol else ''}}}{sides}"


def _latex_matrix(value: Array) -> str:
    if value.size == 1:
        return _latex_number(value.flat[0])
    if value.ndim > 2:
        return r",\; ".join(_latex_matrix(entry) for entry in value)
    rows = r" \\ ".join(" & ".join(_latex_number(entry) for entry in row) for row in np.atleast_2d(value))
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


def _latex_text(value: str) -> str:
    return rf"\text{{{_latex_escaped(value)}}}"


def _latex_name(name: str) -> str:
    return name if len(name) == 1 else rf"\mathtt{{{_latex_escaped(name)}}}"


def _latex_escaped(text: str) -> str:
    return re.sub(r"([\\{}_^#%&$~])", lambda found: "\\" + found[1] if found[1] not in "\\^~" else "-", text)


def _python(values: Array) -> str:
    """Nested lists of Fractions (balls by their midpoints) as Python code."""

    def written(entry: Any) -> str:
        if isinstance(entry, np.ndarray):
            return "[" + ", ".join(written(part) for part in entry) + "]"
        if isinstance(entry, BallEntry):
            return entry.value.str(17, radius=False)
        exact = to_fraction(_plain(entry))
        return str(exact.numerator) if exact.denominator == 1 else f"Fraction({exact.numerator}, {exact.denominator})"

    return written(values)


def _claim_code(origin: Origin, directory: str | Path | None = None) -> tuple[str, str]:
    """The imports and the expression that give the claim again; in a file of a directory, from where that file is."""
    if origin.file is None:
        imports, made = "from resstream import claims\n", f"claims.lookup({origin.id!r})"
        names = []
    else:
        imports, at = "", repr(origin.file)
        if directory is not None:
            imports, at = "from pathlib import Path\n\n", _from_file(Path(origin.file), Path(directory))
        made = f"load_claims({at})[{origin.id!r}]"
        names = ["load_claims"]
    changes = origin.changes.given()
    if changes:
        made = f"vary({made}, {', '.join(f'{name}={value!r}' for name, value in changes.items())})"
        names.append("vary")
    if names:
        imports += f"from resstream.falsify.variants import {', '.join(names)}\n"
    # Sorted as a linter would have them.
    return imports, made


def _from_file(file: Path, directory: Path) -> str:
    """An expression for the path of a file in a Python file of a directory."""
    try:
        return f"Path(__file__).parent / {Path(os.path.relpath(file.resolve(), directory.resolve())).as_posix()!r}"
    except ValueError:  # on another drive
        return repr(file.resolve().as_posix())


__all__ = [
    "FORMAT",
    "Counterexample",
    "Exhibit",
    "beside_text",
    "from_json",
    "instance",
    "raw_from_json",
    "raw_to_json",
]
