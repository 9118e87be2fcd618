"""Settings shared by every test: profiles, seeds, one BLAS thread a worker."""

from __future__ import annotations

import os

# Before NumPy is imported: one thread for each worker, or the workers fight over the cores.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from resstream.falsify import profiles  # noqa: E402

pytest_plugins = ["pytester"]

PROFILE = os.environ.get("RESSTREAM_PROFILE", "default")

for _profile, _examples in (("quick", 20), ("default", 60), ("tenfold", 600), ("deep", 2000)):
    settings.register_profile(
        f"resstream-{_profile}",
        max_examples=_examples,
        deadline=None,  # a cold start is no failure
        derandomize=_profile != "deep",
        database=None,
        print_blob=True,
    )
settings.load_profile(f"resstream-{PROFILE}")


@pytest.fixture(scope="session")
def profile() -> profiles.Profile:
    """The profile of this run, named by RESSTREAM_PROFILE."""
    return profiles.profile(PROFILE)


def pytest_report_header() -> str:
    from resstream import claims

    return f"resstream: profile {PROFILE} (RESSTREAM_PROFILE), {len(claims.library())} claims"
