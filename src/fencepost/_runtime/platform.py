"""What this platform can: not every one has all that Linux has, and gevent's patches take some of it away."""

from importlib import import_module


def lacking(*calls: str) -> list[str]:
    """Those that are not there, each given as `module.name` of the standard library."""
    return [call for call in calls if not _has(call)]


def _has(call: str) -> bool:
    module, _, name = call.partition(".")
    try:
        return hasattr(import_module(module), name)
    except ImportError:
        return False
