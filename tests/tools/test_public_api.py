"""The list of what is public is made from the packages, so that nothing public is missing in it."""

from importlib.metadata import version

import pytest

import fencepost
from tools.public_api import SNAPSHOT, modules

pytestmark = pytest.mark.unit


def test_every_fence_is_in_the_list() -> None:
    fences = {"redis", "etcd", "zookeeper", "consul", "sql", "http", "host", "s3", "registry", "result", "file"}
    assert {f"fencepost.fences.{fence}" for fence in fences} <= set(modules())


def test_what_is_private_by_its_name_an_engine_or_a_driver_is_not_in_the_list() -> None:
    assert not [each for each in modules() if "._" in each or ".engines." in each or ".drivers." in each]


def test_every_public_module_has_its_part_of_the_list() -> None:
    text = SNAPSHOT.read_text()
    assert [each for each in modules() if f"# {each}\n" not in text] == []


def test_there_is_one_version() -> None:
    assert version("fencepost") == fencepost.__version__
