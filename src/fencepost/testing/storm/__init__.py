"""Storms: many processes that contend on a real engine, a nemesis that harms them, and a history that is checked."""

from fencepost.testing.storm.check import Finding
from fencepost.testing.storm.run import Report, storm

__all__ = ["Finding", "Report", "storm"]
