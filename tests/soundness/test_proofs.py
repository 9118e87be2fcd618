"""Trick claims go through the provers: nothing is proved that would be a lie, nor what a certificate refutes."""

import importlib.util
import sys
from pathlib import Path

import pytest

from resstream.falsify.certify import Certificate, certify
from resstream.prove.answer import MODEL, OUTCOMES
from resstream.prove.goals import prove

SECONDS = 4.0
SECONDS_A_GOAL = 1.0


def _load():
    spec = importlib.util.spec_from_file_location("resstream_tricks_to_prove", Path(__file__).with_name("tricks.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.TRICKS


TRICKS = _load()


@pytest.fixture(scope="module")
def answers():
    """What is proved of every trick."""
    return {name: prove(made, SECONDS, SECONDS_A_GOAL) for name, (_, _, made) in TRICKS.items()}


@pytest.mark.parametrize("name", TRICKS)
def test_the_provers_tell_no_lie(name, answers):
    _, lies, _ = TRICKS[name]
    for answer in answers[name]:
        assert answer.outcome in OUTCOMES
        assert not (answer.proved and "proved" in lies), str(answer)


def test_there_was_something_to_lie_about(answers):
    tempted = [name for name, (_, lies, _) in TRICKS.items() if "proved" in lies and answers[name]]
    assert len(tempted) >= 40


def test_no_model_certifies_what_must_not_be_refuted(answers):
    certified = 0
    for name, (_, lies, made) in TRICKS.items():
        for answer in answers[name]:
            if answer.outcome == MODEL and isinstance(certify(made, answer.model), Certificate):
                assert "refuted" not in lies, f"{name}: {answer}"
                certified += 1
    assert certified >= 5
