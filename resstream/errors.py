"""The errors that resstream raises, each of which says what to do."""


class ResstreamError(ValueError):
    """Base of every error raised on purpose by resstream."""


class ShapeError(ResstreamError):
    """An array has the wrong shape: the message names it, what was got and what was expected."""


class DomainError(ResstreamError):
    """A value lies outside the set on which a function is defined."""


class Undefined(DomainError):
    """A value that is asked for does not exist: a quotient by zero, the root of a negative number."""


class ForeignNumber(ResstreamError):
    """A number or a function that has no exact reading meets exact numbers: a float that is not whole, `np.exp`."""


class ClaimError(ResstreamError):
    """A claim is badly stated: unknown id, missing domain, or no relation returned."""


class ClaimFault(ClaimError):
    """Evaluating a claim raised what is no limit of a number system: the fault is in the claim's own functions."""


class NotDeterministic(ClaimFault):
    """A claim answered differently when it was asked again at the same instance."""


class ArithmeticLimit(ResstreamError):
    """A number system cannot represent or decide what was asked of it; another one may."""


class NotExact(ArithmeticLimit):
    """The value is not a rational number, so rational arithmetic cannot hold it."""


class NotExpressible(ArithmeticLimit):
    """The reading (of expressions, of a solver) has no words for what is asked; the message names it."""


class Undecided(ArithmeticLimit):
    """The enclosures overlap, so the answer needs more precision."""


class Kink(Undecided):
    """A derivative is asked for at a kink: an absolute value, a maximum or a ReLU of equal values."""


class Unbounded(Undecided):
    """An enclosure has grown to the whole line."""


class TrainingError(ResstreamError):
    """Training cannot start or go on: settings that cannot work, a loss that is no number, or a foreign checkpoint."""


class WeightsError(ResstreamError):
    """A file of weights cannot be read: it is corrupt, cut short, or not one of ours."""


class Contradiction(ResstreamError):
    """A statement was proved and refuted at the same sizes: a fault of resstream itself, which must be reported."""
