"""What the entries of every exact number system share: operators, three-valued comparisons, and what they refuse.

A number system states one table of operations, as a subclass of `Entry`. The operators are here, once: they let in
other exact numbers, and refuse a foreign one (a float that is not whole, NaN, a complex number) with the line of the
claim that brought it. A comparison that cannot be decided raises `Undecided`; it is never False for want of knowledge.
What has no value (a quotient by zero, the root of a negative number) is an entry too, `NoValue`, which swallows what it
meets: so `where(x == 0, 0, y / x)` means what it says, and only a value that is asked for must exist.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from flint import fmpq, fmpz

from resstream.arithmetic.literals import Exact, Irrational, to_fmpq
from resstream.errors import ForeignNumber, Unbounded, Undecided, Undefined

_PACKAGE = Path(__file__).parent.parent
_HERE, _CLAIMS = f"{_PACKAGE}/", f"{_PACKAGE / 'claims'}/"


_stated: ContextVar[str] = ContextVar("stated", default="")
_CALLED = ("/numpy/", "/scipy/")
"""What a claim calls on the way to an entry, and is not its own line."""


@contextmanager
def stated_in(where: str) -> Iterator[None]:
    """What happens now is due to what was written there, a place of before."""
    before = _stated.set(where)
    try:
        yield
    finally:
        _stated.reset(before)


def place() -> str:
    """The line of the claim that is being evaluated, as "line 7 of mine.py": the nearest caller outside the package."""
    if _stated.get():
        return _stated.get()
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        ours = file.startswith(_HERE) and not file.startswith(_CLAIMS)
        if not ours and not file.startswith("<") and not any(name in file for name in _CALLED):
            return f"line {frame.f_lineno} of {Path(file).name}"
        frame = frame.f_back  # type: ignore[assignment]
    return "a side or an expression"


_MENDS = {name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")} | {"fabs": "absolute"}
"""What `resstream.arithmetic` calls a function of NumPy."""

_NUMPY_ONLY = frozenset(_MENDS).union(
    ["exp2", "expm1", "log2", "log10", "log1p", "cbrt", "tan", "arcsin", "arccos", "arctan", "arctan2"],
    ["sinh", "cosh", "arcsinh", "arccosh", "arctanh", "floor", "ceil", "trunc", "rint", "degrees", "radians"],
    ["deg2rad", "rad2deg", "logaddexp", "hypot", "spacing", "isnan", "isinf", "isfinite", "signbit"],
)
"""Methods by which NumPy's functions would go through an array of objects."""


def refuse(name: str) -> NoReturn:
    """Refuse a function that has no exact reading, naming what to use instead."""
    if name in _MENDS:
        mend = f"use resstream.arithmetic.{_MENDS[name]}"
    elif name in ("float", "int", "complex"):
        mend = "compute with the entries as they are, by operators and the functions of resstream.arithmetic"
    else:
        mend = "use the functions of resstream.arithmetic (mean, amax, total, descending, where, ...)"
    called = f"numpy.{name}" if name in _NUMPY_ONLY else f"{name}()"
    raise ForeignNumber(f"{called} in {place()} has no exact reading: {mend}")


SMALL = range(-16, 17)
"""Whole numbers of which every system keeps its entries."""

_WHOLE = {value: fmpq(value) for value in SMALL}

LARGEST_FLOAT = 2**53 - 1
"""The largest whole float that is taken for the number meant: what was rounded to a larger one is not known."""


class Entry:
    """A real number of an exact number system, as an entry of an object array.

    Subclasses state the table: `of`, `plus`, `minus`, `times`, `over`, `negative`, `size` (absolute value), `larger`,
    `square_root`, the transcendental functions, `below` (self < other) and `same` (self == other), the last two as
    True, False or None where it is not known. Operators, and the order of operands, are settled here.

    >>> from resstream.arithmetic import RATIONAL, exact
    >>> x, y = RATIONAL.array([exact(1, 3), 2])
    >>> isinstance(x, Entry), x + y, x < y
    (True, 7/3, True)
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    # -- the table

    @staticmethod
    def matrix_product(rows: list[Any], columns: list[Any]) -> list[Any] | None:
        """All products of a row with a column, as lists of entries; None where the system has no way of its own."""
        return None

    @staticmethod
    def sum_of(line: list[Any]) -> Entry | None:
        """The sum of entries of the system, added in their order; None where the system has no way of its own."""
        return None

    @staticmethod
    def largest_of(line: list[Any]) -> Entry | None:
        """The largest of entries of the system, compared in their order; None where it has no way of its own."""
        return None

    def of(self, value: fmpq) -> Entry:
        """A known number as an entry of the same system."""
        raise NotImplementedError

    def plus(self, other: Any) -> Entry:
        raise NotImplementedError

    def times(self, other: Any) -> Entry:
        raise NotImplementedError

    def over(self, other: Any) -> Entry:
        raise NotImplementedError

    def negative(self) -> Entry:
        raise NotImplementedError

    def minus(self, other: Any) -> Entry:
        return self.plus(other.negative())

    def below(self, other: Any) -> bool | None:
        raise NotImplementedError

    def same(self, other: Any) -> bool | None:
        raise NotImplementedError

    def larger(self, other: Any) -> Entry:
        raise NotImplementedError

    def size(self) -> Entry:
        return self.larger(self.negative())

    def square_root(self) -> Entry:
        raise NotImplementedError

    def root(self, degree: int) -> Entry:
        """The root of a degree above 2 of a nonnegative number."""
        raise NotImplementedError

    def exponential(self) -> Entry:
        raise NotImplementedError

    def logarithm(self) -> Entry:
        raise NotImplementedError

    def cosine(self) -> Entry:
        raise NotImplementedError

    def sine(self) -> Entry:
        raise NotImplementedError

    def hyperbolic_tangent(self) -> Entry:
        raise NotImplementedError

    def error_function(self) -> Entry:
        raise NotImplementedError

    def pi(self) -> Entry:
        """The number pi, in the same system."""
        raise NotImplementedError

    def frozen(self) -> Entry:
        """The number as a constant of a derivative that is being taken."""
        return self

    def adopt(self, value: Any) -> Entry | None:
        """A number in the system's own foreign form (an `arb`, an expression) as an entry; None for other things."""
        return None

    def settled(self) -> Entry:
        """The number in a system that reports and certificates know."""
        return self

    def known(self) -> fmpq | None:
        """The rational number that the entry is, where its system is that of the rationals."""
        return None

    def whole(self, value: int) -> Entry:
        """A small whole number as an entry of the same system."""
        return self.of(_WHOLE[value])

    # -- other numbers

    def meet(self, other: Any) -> Any:
        """Another operand as an entry of this system; NotImplemented where the other one is to decide."""
        if type(other) is int and other in SMALL:
            return self.whole(other)
        if isinstance(other, (NoValue, type(self))):
            return other
        if isinstance(other, (int, np.integer, np.bool_, fmpq, fmpz, Fraction, Exact)):
            return self.of(to_fmpq(other))
        if isinstance(other, Irrational):
            return other.of_system(self)
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Entry):
            value = other.known()
            return NotImplemented if value is None else self.of(value)
        adopted = self.adopt(other)
        if adopted is not None:
            return adopted
        if isinstance(other, (float, np.floating, complex, np.complexfloating)):
            kind, mend = "number", "claims are about real numbers"
            if isinstance(other, (float, np.floating)) and np.isfinite(other):
                is_whole = bool(other == np.rint(other))
                if is_whole and abs(float(other)) <= LARGEST_FLOAT:
                    return self.of(fmpq(int(other)))
                kind, mend = "float", f'write exact("{other!s}") if that is meant'
                if is_whole:
                    mend = f"beyond 2^53 floats are rounded; write the whole number, {int(other)} if that is meant"
            raise ForeignNumber(f"the {kind} {other} in {place()} meets exact numbers: {mend}")
        return NotImplemented

    # -- operators

    def _apply(self, name: str, other: Any) -> Any:
        """An operation of the table with another operand, of whatever kind."""
        other = self.meet(other)
        return other if other is NotImplemented or type(other) is NoValue else getattr(self, name)(other)

    def _applied_to(self, name: str, other: Any) -> Any:
        """The same with the operands in the other order."""
        other = self.meet(other)
        return other if other is NotImplemented or type(other) is NoValue else getattr(other, name)(self)

    def __init_subclass__(cls) -> None:
        """The operators of a number system, made of its table: between two of its entries nothing else is called."""
        for operator, name in (("add", "plus"), ("sub", "minus"), ("mul", "times"), ("truediv", "over")):
            setattr(cls, f"__{operator}__", _operator(cls, name))

    if TYPE_CHECKING:  # made above

        def __add__(self, other: Any) -> Any: ...

        def __sub__(self, other: Any) -> Any: ...

        def __mul__(self, other: Any) -> Any: ...

        def __truediv__(self, other: Any) -> Any: ...

    def __radd__(self, other: Any) -> Any:
        return self._applied_to("plus", other)

    def __rsub__(self, other: Any) -> Any:
        return self._applied_to("minus", other)

    def __rmul__(self, other: Any) -> Any:
        return self._applied_to("times", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._applied_to("over", other)

    def __neg__(self) -> Any:
        return self.negative()

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.size()

    def __pow__(self, exponent: Any) -> Any:
        """A whole power, by multiplication; what is not whole is refused."""
        if isinstance(exponent, np.ndarray):
            return NotImplemented
        if isinstance(exponent, Exact) and exponent.value.denominator == 1:
            exponent = int(exponent.value)
        if isinstance(exponent, (float, np.floating)) and float(exponent).is_integer():
            exponent = int(exponent)
        if not isinstance(exponent, (int, np.integer)):
            raise ForeignNumber(
                f"the power {exponent} in {place()}: exact numbers have whole powers, and resstream.arithmetic.sqrt"
            )
        result: Any = self.of(fmpq(1))
        for bit in f"{abs(int(exponent)):b}":
            result = result * result
            if bit == "1":
                result = result * self
        return result if exponent >= 0 else 1 / result

    def __rpow__(self, base: Any) -> Any:
        raise ForeignNumber(f"a power with an exact exponent in {place()}: use resstream.arithmetic.exp and log")

    # -- comparisons

    def _compared(self, other: Any, question: Callable[[Any, Any], bool | None], sign: str) -> Any:
        if type(other) is not type(self):
            other = self.meet(other)
            if other is NotImplemented:
                return other
            if type(other) is NoValue:
                other.demand()
        answer = question(self, other)
        if answer is None:
            raise Undecided(f"whether {self} {sign} {other} is not known at this precision")
        return answer

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a.below(b), "<")

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: b.below(a), ">")

    def __le__(self, other: Any) -> Any:
        return self._compared(other, at_most_one, "<=")

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: at_most_one(b, a), ">=")

    def __eq__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a.same(b), "==")

    def __ne__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: negated(a.same(b)), "!=")

    # -- as NumPy's own scalars

    __iter__ = None

    def __getitem__(self, key: Any) -> Any:
        """An array of this one number, by a subscript that gives it axes: of `np.trace(M)[..., None, None]`, say."""
        return entries_of([self], ())[key]

    # -- what there is no exact reading of

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        refuse("float")

    def __int__(self) -> int:
        refuse("int")

    def __complex__(self) -> complex:
        refuse("complex")

    def __index__(self) -> int:
        refuse("int")

    def __round__(self, digits: int = 0) -> Any:
        refuse("round")

    def __floor__(self) -> Any:
        refuse("floor")

    def __ceil__(self) -> Any:
        refuse("ceil")

    def __trunc__(self) -> Any:
        refuse("trunc")

    def __floordiv__(self, other: Any) -> Any:
        refuse("floor_divide")

    __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__

    def conjugate(self) -> Entry:
        """The number itself: entries are real."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _NUMPY_ONLY:
            return lambda *_: refuse(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def at_most_one(first: Entry, second: Entry) -> bool | None:
    """Whether first <= second, three-valued: not second < first, known where the latter is, or where they are equal."""
    if first is second:
        return True
    beyond = second.below(first)
    return beyond if beyond is None else not beyond


def negated(answer: bool | None) -> bool | None:
    """The negation of a three-valued answer."""
    return None if answer is None else not answer


def _operator(cls: type[Entry], name: str) -> Callable[[Any, Any], Any]:
    operation = getattr(cls, name)

    def operator(self: Any, other: Any) -> Any:
        return operation(self, other) if type(other) is cls else self._apply(name, other)

    return operator


class NoValue(Entry):
    """What has no value, or may have none (`certain` False): the reason, and where it arose.

    Whatever is computed from it has none either. Asked for (compared, or a side of a relation), it raises Undefined, or
    Undecided where it may still have one at a higher precision (Unbounded where an enclosure is the whole line).

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([1])[0]
    >>> isinstance(x / 0, NoValue), isinstance(1 + x / 0, NoValue)
    (True, True)
    >>> (x / 0).certain
    True
    """

    __slots__ = ("certain", "reason", "unbounded")

    def __init__(self, reason: str, certain: bool, unbounded: bool = False) -> None:
        self.reason = f"{reason} in {place()}"
        self.certain = certain
        self.unbounded = unbounded

    def __repr__(self) -> str:
        return f"no value ({self.reason})"

    def demand(self) -> NoReturn:
        """Say that there is none."""
        if self.certain:
            raise Undefined(self.reason)
        raise (Unbounded if self.unbounded else Undecided)(self.reason)

    def meet(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self

    def __pow__(self, exponent: Any) -> Any:
        return self

    def of(self, value: fmpq) -> Entry:
        return self

    def _swallow(self) -> Entry:
        return self

    def _swallow_other(self, other: Any) -> Entry:
        return self

    plus = times = over = minus = larger = _swallow_other
    negative = size = square_root = exponential = logarithm = cosine = sine = hyperbolic_tangent = _swallow
    error_function = pi = _swallow

    def root(self, degree: int) -> Entry:
        return self

    def below(self, other: Any) -> bool | None:
        self.demand()

    def same(self, other: Any) -> bool | None:
        self.demand()


class Entries(np.ndarray[Any, Any]):
    """An object array of entries: NumPy's own, but for operators between two arrays of one system.

    NumPy multiplies object matrices entry by entry in Python, and asks at each entry anew what it meets, which is most
    of the time of a judgement.
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """A full reduction gives the entry, as of a plain array."""
        return array[()] if return_scalar else array.view(Entries)

    def __add__(self, other: Any) -> Any:
        found = _paired(self, other, "plus")
        return super().__add__(other) if found is None else found

    def __sub__(self, other: Any) -> Any:
        found = _paired(self, other, "minus")
        return super().__sub__(other) if found is None else found

    def __mul__(self, other: Any) -> Any:
        found = _paired(self, other, "times")
        return super().__mul__(other) if found is None else found

    def __truediv__(self, other: Any) -> Any:
        found = _paired(self, other, "over")
        return super().__truediv__(other) if found is None else found

    def __matmul__(self, other: Any) -> Any:
        product = _product(self, other)
        return super().__matmul__(other) if product is None else product

    def __rmatmul__(self, other: Any) -> Any:
        product = _product(other, self)
        return super().__rmatmul__(other) if product is None else product


def _paired(first: Any, second: Any, name: str) -> Entries | None:
    """An operation of the table on two arrays of one system, entry by entry; None where they are not."""
    if not isinstance(second, np.ndarray) or second.dtype != object:
        return None
    left, right = first.ravel().tolist(), second.ravel().tolist()
    kinds = {*map(type, left), *map(type, right)}
    if len(kinds) != 1 or not issubclass(kind := kinds.pop(), Entry):
        return None
    operation = getattr(kind, name)
    if first.shape == second.shape:
        return entries_of(list(map(operation, left, right)), first.shape)
    try:
        pairs = np.broadcast(first, second)
    except ValueError:
        return None
    return entries_of(list(starmap(operation, pairs)), pairs.shape)


def _product(first: Any, second: Any) -> Entries | None:
    """The product of two matrices by what their system has for it; None where there is nothing, and for small ones."""
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)) or first.ndim != 2 or second.ndim != 2:
        return None
    if first.dtype != object or second.dtype != object or first.shape[1] != second.shape[0]:
        return None
    if first.size * second.shape[1] < _WORTH_IT:
        return None
    rows, columns = first.tolist(), second.T.tolist()
    kinds = {type(entry) for lines in (rows, columns) for line in lines for entry in line}
    if len(kinds) > 1 or not issubclass(kind := kinds.pop(), Entry):
        return None
    product = kind.matrix_product(rows, columns)
    return None if product is None else entries_of(product, (len(rows), len(columns)))


_WORTH_IT = 8
"""Products of two entries from which the way through a system's own matrices pays."""


def entries_of(entries: list[Any], shape: tuple[int, ...]) -> Entries:
    """An array of a shape that holds the entries of a list, row by row."""
    # Not by assignment, for which NumPy would ask every entry whether it is an array.
    return np.fromiter(entries, dtype=object, count=len(entries)).reshape(shape).view(Entries)


def along(x: np.ndarray[Any, Any], axis: int, name: str) -> Entries | None:
    """An object array reduced along an axis, which stays, by `sum_of` or `largest_of`; None where there is no such way.

    NumPy would make an entry of every partial result, which is most of the time of a judgement beside the products.
    """
    if x.shape[axis] < 2:  # of one entry it is that entry itself
        return None
    lines = np.swapaxes(x, axis, -1)
    kinds = set(map(type, x.ravel().tolist()))
    if len(kinds) != 1 or not issubclass(kind := kinds.pop(), Entry):
        return None
    reduced = [getattr(kind, name)(line) for line in lines.reshape(-1, lines.shape[-1]).tolist()]
    if reduced[0] is None:
        return None
    return np.swapaxes(entries_of(reduced, (*lines.shape[:-1], 1)), axis, -1)
