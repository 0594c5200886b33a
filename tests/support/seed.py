"""Where chance comes from: the same in every run, unless `--seed` says otherwise, as `make soak` does.

Random adversaries take their dice from the fixture. What hypothesis tries is derived from the test itself.
"""

import random

import hypothesis
import pytest

SETTINGS = hypothesis.settings(deadline=None, database=None, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "another course for everything random (and `--hypothesis-seed` for what hypothesis tries)"
    parser.getgroup("fencepost").addoption("--seed", type=int, help=help)


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.register_profile("fencepost", SETTINGS, derandomize=config.getoption("seed") is None)
    hypothesis.settings.load_profile("fencepost")


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Chance for one test. A failure shows with which `--seed` it comes again."""
    seed = request.config.getoption("seed") or 0
    print(f"seed {seed}")
    return random.Random(f"{seed} {request.node.name}")
