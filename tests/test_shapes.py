"""The shapes in the annotations are checked when tests run: a wrong one raises."""

import ast
import dataclasses
import importlib
import sys

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from small_worlds import world
from swirl.data.histories import Histories
from swirl.data.successors import Successors
from swirl.inference.estep.counts import Counts, Tables
from swirl.inference.messages import forward
from swirl.inference.mode_matching import match_modes
from swirl.inference.sampling import draw
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.soft_q import soft_bellman
from swirl.rewards.tables import to_dense
from test_architecture import MODULES, trees

ENV = world().successors


WRONG = {
    "actions of two tables differ": lambda: Successors(ENV.next, ENV.probability, ENV.available[:, :2]),
    "values are whole numbers": lambda: soft_bellman(
        ENV, np.zeros(ENV.n_nodes), np.zeros(ENV.n_nodes, int), discount=0.9, temperature=1.0
    ),
    "modes of tables differ": lambda: Tables(np.zeros(2), np.zeros((4, 3, 3)), np.zeros((6, 2))),
    "restarts of counts differ": lambda: Counts(
        np.zeros((2, 3)), np.zeros((2, 4, 3, 3)), np.zeros((2, 6, 3)), np.zeros(5)
    ),
    "a chain's modes differ": lambda: forward(np.zeros(2), np.zeros((5, 3, 3)), np.zeros((6, 3)), 6),
    "a cost without two axes": lambda: match_modes(np.zeros(3)),
    "options are not probabilities": lambda: draw(np.zeros((2, 2), int), np.random.default_rng(0)),
    "rewards without modes": lambda: to_dense(np.zeros(4), Histories.reachable(ENV, 1)),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_shape_raises(what):
    with pytest.raises(TypeCheckError):
        WRONG[what]()


def test_a_frozen_dataclass_of_the_engine_checks_its_fields():
    penalty = BackoffPenalty((), (np.ones(4),))
    with pytest.raises(TypeCheckError):
        dataclasses.replace(penalty, precisions=(np.ones((4, 1)),))


def test_shapes_are_never_imported_for_type_checkers_only():
    """Under TYPE_CHECKING the names are missing at run time, and the checks silently go."""
    offenders = [
        f"{name}, line {node.lineno}"
        for name, path in MODULES.items()
        if "TYPE_CHECKING" in path.read_text(encoding="utf-8")
        for node in ast.walk(trees()[name])
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if any(isinstance(inner, ast.ImportFrom) and inner.module == "jaxtyping" for inner in ast.walk(node))
    ]
    assert offenders == []


def test_the_hook_covers_every_module_with_annotations():
    """Each function of a module that uses jaxtyping is a wrapper of the written one."""
    for name, tree in trees().items():
        if name in ("estep.kernel", "__init__", "__main__") or MODULES[name].stem == "__init__":
            continue
        uses = any(isinstance(node, ast.ImportFrom) and node.module == "jaxtyping" for node in tree.body)
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
        if not uses or name.startswith("plots") or not functions:
            continue
        module = sys.modules.get(f"swirl.{name}") or importlib.import_module(f"swirl.{name}")
        assert hasattr(getattr(module, functions[0]), "__wrapped__"), f"{name}.{functions[0]} is not checked"
