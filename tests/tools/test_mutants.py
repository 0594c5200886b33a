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


def test_a_fault_of_a_driver_is_looked_for_by_the_tests_of_that_driver() -> None:
    drivers = planted.ROOT / "src/fencepost/drivers"
    faults = [mutant for mutant in planted.mutants([]) if (planted.ROOT / mutant.file).is_relative_to(drivers)]
    assert {mutant.table for mutant in faults} == {"engines", "fences"}
    for mutant in faults:
        driver = (planted.ROOT / mutant.file).relative_to(drivers).parts[0]
        assert f"tests/drivers/{driver}" in planted.tests_of(mutant), mutant
