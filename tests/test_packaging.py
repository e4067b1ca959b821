"""What a package index and conda-forge are told agrees with the repository (`make wheel` builds and tries it)."""

import doctest
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from swirl.workflows.doctor import EXTRAS, NEEDED

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_FOR_USERS = {"all", "bench", "cuda12", "cuda13", "dev", "docs"}
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def from_file(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


index_page = from_file("index_page")


def targets(page: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", page)


def test_the_readme_has_whole_addresses_on_an_index_page():
    page = index_page.for_index(README, "https://host.example/us/swirl")
    assert len(targets(page)) == len(targets(README)) > 5
    assert [target for target in targets(page) if not target.startswith("https://")] == []
    assert re.findall(r"!\[[^\]]*\]\((\S+)\)", page)[0].startswith(
        "https://host.example/us/swirl/raw/HEAD/docs/images/"
    )


def test_without_an_address_it_has_no_links_to_files():
    page = index_page.for_index(README)
    assert [target for target in targets(page) if not target.startswith("https://")] == []
    assert "![" not in page
    assert "The top of a report" not in page  # the caption of a picture goes with it
    assert "The top of a report (shortened)" in index_page.for_index(README, "https://host.example/us/swirl")
    assert "`docs/models.md`" in page
    assert page.rstrip().endswith("Files named on this page are in the source distribution.")


def test_code_and_whole_addresses_are_left_alone():
    text = "[a](https://host.example/a) [b](#install)\n\n```python\nx = y[0](z)\n```\n"
    for repository in (None, "https://host.example/us/swirl"):
        assert index_page.for_index(text, repository) == text


def test_its_examples_are_true():
    assert doctest.testmod(index_page).failed == 0


def test_the_hook_sets_the_readme_that_pyproject_calls_dynamic():
    assert "readme" in PROJECT["dynamic"]

    class Hook(index_page.IndexPage):
        def __init__(self):
            pass

        root = ROOT

    metadata = {"urls": {**PROJECT["urls"], "Repository": "https://host.example/us/swirl"}}
    Hook().update(metadata)
    assert metadata["readme"]["content-type"] == "text/markdown"
    assert "https://host.example/us/swirl/blob/HEAD/CONTRIBUTING.md" in metadata["readme"]["text"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[ <>=\[]", requirement)[0] for requirement in requirements}


def test_conda_forge_installs_what_pyproject_asks_for():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: the recipe is not parsed")
    recipe = yaml.safe_load((ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["name"] == PROJECT["name"]
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    [python, *run] = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    expected = set(PROJECT["dependencies"])
    for name, there in CONDA_NAMES.items():
        expected = {re.sub(rf"^{name}\b", there, requirement) for requirement in expected}
    assert {requirement.replace(" ", "") for requirement in run} == expected
    assert recipe["build"]["python"]["entry_points"] == [f"swirl = {PROJECT['scripts']['swirl']}"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_all_has_every_extra_for_users():
    [every] = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"[\w-]+", every.partition("[")[2])) == set(PROJECT["optional-dependencies"]) - NOT_FOR_USERS


def test_the_doctor_looks_for_what_pyproject_asks_for():
    assert names(PROJECT["dependencies"]) == set(NEEDED) - {"jaxlib"}  # that one comes with jax
    for extra, packages in EXTRAS.items():
        assert names(PROJECT["optional-dependencies"][extra]) == set(packages)
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - NOT_FOR_USERS


def test_project_urls_say_whose_they_are():
    assert all(address.startswith("https://") for address in PROJECT["urls"].values())
    assert all(len(label) <= 32 for label in PROJECT["urls"])  # an index refuses longer ones
    [paper] = [label for label, address in PROJECT["urls"].items() if "BRAINML-GT" in address]
    assert "not this" in paper


def test_python_versions_begin_where_pyproject_does():
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert f">={listed[0]}" == PROJECT["requires-python"]
