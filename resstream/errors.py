"""The errors that resstream raises, each of which says what to do."""


class ResstreamError(ValueError):
    """Base of every error raised on purpose by resstream.

    >>> import resstream as rs
    >>> try:
    ...     rs.lookup("contraction.diametre")
    ... except ResstreamError as error:
    ...     print(str(error)[:66])
    unknown claim 'contraction.diametre': did you mean contraction.dia
    """


class ShapeError(ResstreamError):
    """An array has the wrong shape: the message names it, what was got and what was expected.

    >>> import numpy as np
    >>> from resstream.reference import softmax
    >>> softmax(np.zeros(3))
    Traceback (most recent call last):
        ...
    resstream.errors.ShapeError: scores: expected two axes or more (..., rows, columns), got shape (3,)
    """


class DomainError(ResstreamError):
    """A value lies outside the set on which a function is defined.

    >>> import resstream as rs
    >>> rs.domains.Matrix("n", -1)
    Traceback (most recent call last):
        ...
    resstream.errors.DomainError: Matrix: columns: expected a name such as 'n' or a whole number of at least 1, got -1
    """


class Undefined(DomainError):
    """A value that is asked for does not exist: a quotient by zero, the root of a negative number.

    >>> import resstream as rs
    >>> x = rs.arithmetic.RATIONAL.array([1])[0]
    >>> try:
    ...     (x / (x - 1)).demand()
    ... except Undefined as error:
    ...     print(str(error).partition(" in ")[0])
    division by zero
    """


class ForeignNumber(ResstreamError):
    """A number or a function that has no exact reading meets exact numbers: a float that is not whole, `np.exp`.

    >>> import resstream as rs
    >>> try:
    ...     0.1 * rs.arithmetic.RATIONAL.array([1])
    ... except ForeignNumber as error:
    ...     print(str(error).partition(": ")[2])
    write exact("0.1") if that is meant
    """


class ClaimError(ResstreamError):
    """A claim is badly stated: unknown id, missing domain, or no relation returned.

    >>> import resstream as rs
    >>> rs.claim("mine one", over={"x": rs.domains.Vector("d")})(lambda x: rs.at_most(x, 1))
    Traceback (most recent call last):
        ...
    resstream.errors.ClaimError: claim id 'mine one': expected letters, digits and . _ - + only
    """


class ClaimFault(ClaimError):
    """Evaluating a claim raised what is no limit of a number system: the fault is in the claim's own functions.

    >>> import numpy as np
    >>> import resstream as rs
    >>> faulty = rs.claim("mine.faulty", over={"x": rs.domains.Vector("d")})(lambda x: {}[0])
    >>> try:
    ...     faulty.at(x=np.zeros((1, 1)))
    ... except ClaimFault as error:
    ...     print(type(error.__cause__).__name__)
    KeyError
    """


class NotDeterministic(ClaimFault):
    """A claim answered differently when it was asked again at the same instance.

    >>> issubclass(NotDeterministic, ClaimFault)
    True
    """


class ArithmeticLimit(ResstreamError):
    """A number system cannot represent or decide what was asked of it; another one may.

    >>> import resstream as rs
    >>> rs.arithmetic.sqrt(rs.arithmetic.RATIONAL.array([2]))
    Traceback (most recent call last):
        ...
    resstream.errors.NotExact: the square root of 2 is not rational
    """


class NotExact(ArithmeticLimit):
    """The value is not a rational number, so rational arithmetic cannot hold it.

    >>> import resstream as rs
    >>> rs.arithmetic.exp(rs.arithmetic.RATIONAL.array([1]))
    Traceback (most recent call last):
        ...
    resstream.errors.NotExact: exp(1) is not rational
    """


class NotExpressible(ArithmeticLimit):
    """The reading (of expressions, of a solver) has no words for what is asked; the message names it.

    >>> import numpy as np
    >>> from resstream.reference import spectral_norm
    >>> from resstream.arithmetic.terms import Terms
    >>> X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    >>> try:
    ...     spectral_norm(Terms().array(X))
    ... except NotExpressible:
    ...     print("there are no words for it")
    there are no words for it
    """


class Undecided(ArithmeticLimit):
    """The enclosures overlap, so the answer needs more precision.

    >>> import resstream as rs
    >>> with rs.arithmetic.Ball(64).working():
    ...     x = rs.arithmetic.sqrt(rs.arithmetic.Ball(64).array([2]))
    ...     try:
    ...         bool(x[0] * x[0] == 2)
    ...     except Undecided as error:
    ...         print(str(error)[-30:])
    is not known at this precision
    """


class Kink(Undecided):
    """A derivative is asked for at a kink: an absolute value, a maximum or a ReLU of equal values.

    >>> import resstream as rs
    >>> zero, one = rs.arithmetic.RATIONAL.array([0]), rs.arithmetic.RATIONAL.array([1])
    >>> rs.arithmetic.derivative(rs.arithmetic.absolute, zero, one)
    Traceback (most recent call last):
        ...
    resstream.errors.Kink: derivative asked at a kink (absolute value, maximum or ReLU of equal values)
    """


class Unbounded(Undecided):
    """An enclosure has grown to the whole line.

    >>> import resstream as rs
    >>> with rs.arithmetic.Ball(64).working():
    ...     x = rs.arithmetic.Ball(64).array([10])[0]
    ...     for _ in range(4):
    ...         x = x.exponential()
    >>> try:
    ...     x.demand()
    ... except Unbounded as error:
    ...     print(str(error).partition(" in ")[0])
    overflow
    """


class TrainingError(ResstreamError):
    """Training cannot start or go on: settings that cannot work, a loss that is no number, or a foreign checkpoint.

    >>> from resstream.induction.settings import Settings
    >>> Settings(rate=0)
    Traceback (most recent call last):
        ...
    resstream.errors.TrainingError: rate: expected a positive number, got 0
    """


class WeightsError(ResstreamError):
    """A file of weights cannot be read: it is corrupt, cut short, or not one of ours.

    >>> from pathlib import Path
    >>> from resstream.induction.weights import load_model
    >>> load_model(Path("absent.npz"))
    Traceback (most recent call last):
        ...
    resstream.errors.WeightsError: absent.npz: no such file
    """


class Contradiction(ResstreamError):
    """A statement was proved and refuted at the same sizes: a fault of resstream itself, which must be reported.

    >>> issubclass(Contradiction, ResstreamError)
    True
    """
