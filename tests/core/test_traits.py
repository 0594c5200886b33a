import pytest

from fencepost.core.traits import LEVELS, Traits

pytestmark = pytest.mark.unit

TRAITS = Traits(scope="host", fencing="strict", survives="restart", order="arrival", death="close", ttl_floor=1.0)


def test_a_stronger_level_meets_a_weaker_requirement() -> None:
    assert TRAITS.shortfalls({"scope": "process", "survives": "nothing", "death": "lease", "shared": True}) == []


def test_what_is_not_met_is_named() -> None:
    assert TRAITS.shortfalls({"survives": "minority", "fencing": "strict"}) == [
        "survives 'minority' is required and 'restart' is given"
    ]


@pytest.mark.parametrize(("trait", "wanted"), [("speed", "fast"), ("survives", "everything"), ("shared", "yes")])
def test_an_unknown_requirement_raises(trait: str, wanted: str) -> None:
    with pytest.raises(ValueError, match=trait):
        TRAITS.shortfalls({trait: wanted})


def test_every_level_is_met_by_itself_and_by_those_above() -> None:
    for trait, levels in LEVELS.items():
        given = levels.index(getattr(TRAITS, trait))
        for index, level in enumerate(levels):
            assert bool(TRAITS.shortfalls({trait: level})) is (index > given)
