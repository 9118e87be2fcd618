"""The errors that resstream raises, each of which says what to do."""


class ResstreamError(ValueError):
    """Base of every error raised on purpose by resstream."""


class ShapeError(ResstreamError):
    """An array has the wrong shape: the message names it, what was got and what was expected."""


class DomainError(ResstreamError):
    """A value lies outside the set on which a function is defined."""


class ClaimError(ResstreamError):
    """A claim is badly stated: unknown id, missing domain, or no relation returned."""


class ArithmeticLimit(ResstreamError):
    """A number system cannot represent or decide what was asked of it; another one may."""


class NotExact(ArithmeticLimit):
    """The value is not a rational number, so rational arithmetic cannot hold it."""


class NotExpressible(ArithmeticLimit):
    """The SMT reading has no words for a function; the message is its name."""


class Undecided(ArithmeticLimit):
    """The enclosures overlap, so the answer needs more precision."""


class TrainingError(ResstreamError):
    """Training cannot start or go on: settings that cannot work, a loss that is no number, or a foreign checkpoint."""


class WeightsError(ResstreamError):
    """A file of weights cannot be read: it is corrupt, cut short, or not one of ours."""
