"""Attacking claims: engines, the judge, shrinking, counterexamples and their reports."""

from resstream.callables import make_callable
from resstream.falsify.counterexample import Counterexample, instance
from resstream.falsify.run import falsify
from resstream.falsify.variants import load_claims, vary
from resstream.falsify.verdict import Verdict

make_callable(__name__)

__all__ = ["Counterexample", "Verdict", "falsify", "instance", "load_claims", "vary"]
