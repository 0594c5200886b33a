"""The plugins of this suite."""

pytest_plugins = [
    "tests.support.tier",
    "tests.support.seed",
    "tests.support.signals",
    "tests.support.patience",
    "tests.support.slowest",
    "tests.support.unit",
]
