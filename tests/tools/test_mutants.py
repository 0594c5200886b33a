"""The planted faults, as far as it costs no run of the suite."""

from pathlib import Path

import pytest

from tools import mutants as planted

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "table", sorted(planted.TABLES.glob("*/*.toml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_planted_fault_has_its_place_in_the_sources_and_tests_that_should_find_it(table: Path) -> None:
    for mutant in planted.mutants([f"{table.parent.name}/{table.stem}"]):
        assert (planted.ROOT / mutant.file).read_text().count(mutant.old) == 1, mutant
        places = [place for place in planted.tests_of(mutant) if place.startswith("tests/")]
        assert places
        assert all((planted.ROOT / place).exists() for place in places), mutant
