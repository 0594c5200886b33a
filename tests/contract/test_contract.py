"""The contract suite, on every engine in both flavours."""

from fencepost.testing.contract import CHAPTERS

for chapter in CHAPTERS:
    globals()[chapter.test_name] = chapter.tests
