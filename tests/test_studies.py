"""The studies' code on small data: their committed results come from the full runs."""

import importlib.util
import json
from pathlib import Path

STUDIES = Path(__file__).parent.parent / "studies"


def study(name):
    spec = importlib.util.spec_from_file_location(name, STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gridworld_recovery_on_a_small_draw():
    module = study("gridworld_recovery")
    draws = [module.one_draw(0, n_sessions=50, n_restarts=2)]
    summary = module.summarise(draws)
    assert summary["draws with S-2 > S-1 > I-2, I-1 > MaxEnt"] == 1
    assert summary["S-2 reward, canonical: mean, worst"][0] > 0.95
    assert abs(summary["S-2 minus truth, test LL: mean, worst"][0]) < 0.005
    assert module.table(draws).count("\n") == 1 + len(module.MODELS)


def test_committed_results_say_what_the_study_claims():
    record = json.loads((STUDIES / "results" / "gridworld_recovery.json").read_text(encoding="utf-8"))
    assert record["command"] == "python studies/gridworld_recovery.py"
    assert study("gridworld_recovery").summarise(record["draws"]) == record["summary"]
    assert record["summary"]["draws"] == 10
