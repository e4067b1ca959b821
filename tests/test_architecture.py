"""Imports point one way, importing changes nothing and loads little, and what STYLE.md forbids is not there."""

import ast
import json
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "swirl"

# A module may import only what stands before it (STYLE.md's list, with the modules there are).
LAYERS = [
    ("_version", "precision", "faults", "machine", "writing", "sizes", "hdf5"),
    ("reading", "importers", "importers.sessions", "importers.small_tables"),
    ("importers.table_text", "importers.table_lines", "importers.table_chunks", "importers.table_roles"),
    ("importers.table_columns", "importers.table_sessions", "importers.tables"),
    ("importers.syllables", "importers.moseq_hdf5", "importers.moseq_tables", "importers.moseq_labels"),
    (
        "importers.moseq",
        "importers.pickled_names",
        "importers.track_files",
        "importers.track_tables",
        "importers.tracks",
    ),
    ("importers.place_moves", "importers.place_grid", "importers.polygon_contacts", "importers.place_polygons"),
    ("importers.place_nodes", "importers.place_files", "importers.places", "importers.visits"),
    ("importers.session_labels",),
    ("importers.nwb_file", "importers.nwb_positions", "importers.nwb_bouts", "importers.nwb"),
    ("importers.episodes", "importers.doors"),
    ("trajectories", "successors", "mdp", "arrangement", "history", "encoding"),
    ("soft_q", "optimise", "priors"),
    ("rewards.forms", "rewards.dense", "rewards.gauge", "rewards.backoff"),
    ("rewards.values", "rewards.shared", "rewards.policies", "rewards.planned"),
    ("rewards.inverse_q", "rewards.inverse_q_network", "rewards"),
    ("switching", "messages"),
    ("estep.lanes", "estep.counts", "estep.kernel", "estep.compiled", "estep.scan", "estep.associative", "estep"),
    ("autoregression",),
    ("mstep", "iteration", "convergence", "seeding", "em"),
    ("alignment", "metrics", "cautions", "simulate", "storage", "online", "likelihood", "progress"),
    ("archive", "estimator", "folding", "discrete", "continuous", "fitting", "prior_choice"),
    ("given", "labelled", "model"),
    ("baselines.contexts", "baselines.markov", "baselines.arhmm", "baselines.gaussian_arhmm", "baselines.iq_learn"),
    ("baselines.iq_network", "baselines.drifting", "baselines"),
    ("registry",),
    ("selection", "verdicts", "comparison", "comparing"),
    ("state_tables", "uncertainty_draws", "uncertainty_result", "uncertainty"),
    ("significance", "behaviour", "naming", "signals", "predictive", "robustness"),
    ("triggered.given", "triggered.means", "triggered.windows", "triggered.average", "triggered"),
    ("exporters.bouts", "exporters.tables", "exporters.nwb_asked", "exporters.nwb_targets"),
    ("exporters.nwb_contents", "exporters.nwb", "exporters.matlab", "exporters"),
    ("environment_files", "environments", "data_files", "checkup.findings", "checkup.figures", "checkup.notes"),
    ("checkup.sessions",),
    ("checkup.clock", "checkup.states", "checkup.moves", "checkup.actions", "checkup.histories", "checkup.signals"),
    ("checkup.words", "checkup.examination", "checkup"),
    ("memory.sizes", "memory.account", "memory.moments", "memory.prediction", "memory.verdict", "memory"),
    ("imported", "config", "fit_run", "fitted_files", "comparison_files", "compare_run"),
    ("datasets.dataset", "datasets.files", "datasets.gridworld", "datasets.labyrinth_graph", "datasets.labyrinth"),
    ("datasets.spontaneous", "datasets.rosenberg", "datasets.random_walk", "datasets"),
    ("plots.style", "plots.labels", "plots.layout", "plots.figure", "plots.grid", "plots.split", "plots.panels"),
    ("plots.scores", "plots.segments", "plots.graph", "plots.policy", "plots.paths", "plots.raster", "plots.bands"),
    ("plots.compared",),
    ("plots.tables", "plots.dependence", "plots.checks", "plots.references", "plots.anywhere", "plots.moves"),
    ("plots.durations", "plots.by_mode", "plots", "fit_reading"),
    ("fit_drawings.panels", "fit_drawings.wants", "fit_drawings.does", "fit_drawings.when", "fit_drawings.fitting"),
    ("fit_drawings.beside", "fit_drawings.against", "fit_drawings", "fit_figures"),
    ("report.plain", "report.case", "report.nouns", "report.facts", "report.certainty", "report.checks"),
    ("report.sessions", "report.animals", "report.figures_animals"),
    ("report.signal", "report.words", "report.methods", "report.places", "report.provenance", "report.intervals"),
    ("report.figures_bouts", "report.figures_certainty", "report.figures_checks", "report.figures_comparison"),
    ("report.figures_signal", "report.contents", "report.writing", "report"),
    ("demo.figures", "demo.page", "demo.run", "demo"),
    ("reproduce.settings", "reproduce.ledger", "reproduce.published", "reproduce.page", "reproduce.checked"),
    ("reproduce.gridworld_drawings", "reproduce.gridworld_figures", "reproduce.gridworld"),
    ("reproduce.labyrinth_fits", "reproduce.labyrinth_figures", "reproduce.labyrinth_behaviour"),
    ("reproduce.labyrinth_studies", "reproduce.labyrinth_beyond", "reproduce.labyrinth"),
    ("reproduce.spontaneous_figures", "reproduce.spontaneous_checks", "reproduce.spontaneous_fits"),
    ("reproduce.spontaneous_sections", "reproduce.spontaneous", "reproduce.run", "reproduce"),
    ("doctor.checks", "doctor.installed", "doctor.room", "doctor.surroundings", "doctor.self_test"),
    ("doctor.examination", "doctor.words", "doctor"),
    ("cli.words", "cli.options", "cli.doctor", "cli.demo", "cli.fetch", "cli.reproduce", "cli.importing", "cli.check"),
    ("cli.fit", "cli.apply", "cli.compare", "cli.name", "cli.export", "cli.report", "cli.plot", "cli.app", "cli"),
    ("__init__", "__main__"),
]
ORDER = [name for layer in LAYERS for name in layer]

NOT_AT_IMPORT = ("matplotlib", "xarray", "h5py", "h5netcdf", "pandas", "typer", "sklearn", "numba", "pooch")
NOT_AT_IMPORT += ("pydantic", "pynwb", "pyarrow", "plotly", "jinja2")


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1]) if parts[-1] == "__init__" and len(parts) > 1 else ".".join(parts)


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(), filename=str(path)) for name, path in MODULES.items()}


def imported(tree):
    """Names of the swirl modules that a syntax tree imports, anywhere in it, also through import_module("…")."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            wanted = [name if name.removeprefix("swirl.") in MODULES else node.module for name in inside]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("swirl."):
            wanted = [node.value]
        else:
            continue
        for name in wanted:
            if name == "swirl":
                found.add("__init__")
            elif name.removeprefix("swirl.") in MODULES and name.startswith("swirl."):
                found.add(name.removeprefix("swirl."))
    return found


def test_every_module_has_a_place_in_the_order():
    assert sorted(ORDER) == sorted(MODULES)


def test_imports_point_one_way():
    place = {name: i for i, name in enumerate(ORDER)}
    upwards = [
        f"{name} imports {other}"
        for name, tree in TREES.items()
        for other in sorted(imported(tree) - {name})
        if place[other] > place[name]
    ]
    assert upwards == []


def test_the_search_for_imports_sees_all_kinds():
    tree = ast.parse(
        "import swirl.em\nfrom swirl import mdp, SWIRL\nfrom swirl.model import SWIRL\n"
        "def f():\n    from swirl.archive import load_model\n    import_module('swirl.registry')"
    )
    assert imported(tree) == {"em", "mdp", "__init__", "model", "archive", "registry"}


def fresh_python(program):
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_the_model_loads_little_and_changes_no_setting():
    program = f"""
import json, sys, jax
before = {{key: repr(value) for key, value in jax.config.values.items()}}
import swirl, swirl.model, swirl.registry
after = {{key: repr(value) for key, value in jax.config.values.items()}}
loaded = [name for name in {NOT_AT_IMPORT!r} if name in sys.modules]
print(json.dumps([loaded, before == after]))
"""
    assert fresh_python(program) == [[], True]


def test_importing_the_package_alone_does_not_load_jax():
    program = """
import json, sys, swirl
print(json.dumps([name for name in ("jax", "numpy", "scipy") if name in sys.modules]))
"""
    assert fresh_python(program) == []


def forbidden(name, tree):
    """What STYLE.md forbids in a syntax tree: module, line and kind of each."""
    for node in ast.walk(tree):
        kind = None
        if isinstance(node, ast.Assert):
            kind = "assert"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            kind = "print"
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            kind = "bare exception" if node.exc.func.id in ("Exception", "BaseException") else None
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            kind = "bare except"
        # The user's JAX settings are the user's; double precision is a scope, entered in one place.
        elif isinstance(node, ast.Attribute) and node.attr == "config":
            kind = "jax.config"
        elif isinstance(node, ast.Attribute) and node.attr == "enable_x64" and name != "precision":
            kind = "enable_x64"
        if kind is not None:
            yield f"{name}, line {node.lineno}: {kind}"


def test_nothing_that_is_forbidden():
    assert [found for name, tree in TREES.items() for found in forbidden(name, tree)] == []


def test_the_search_for_what_is_forbidden_sees_all_kinds():
    tree = ast.parse(
        "assert x\nprint(x)\nraise Exception('no')\nraise ValueError('yes')\n"
        "try:\n    pass\nexcept:\n    pass\njax.config.update('a', 1)\njax.enable_x64(True)"
    )
    kinds = ["assert", "print", "bare exception", "bare except", "jax.config", "enable_x64"]
    assert sorted(found.split(": ")[1] for found in forbidden("em", tree)) == sorted(kinds)
    assert [found for found in forbidden("precision", tree) if "enable_x64" in found] == []
