"""The plugins of this suite."""

pytest_plugins = [
    "tests.support.tier",
    "tests.support.distribution",
    "tests.support.seed",
    "tests.support.signals",
    "tests.support.limit",
    "tests.support.garbage",
    "tests.support.slowest",
    "tests.support.unit",
]
