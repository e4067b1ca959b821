"""Imports point one way, importing changes nothing and loads little, and what the house forbids is not there."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "swirl"

# A package may import only those before it; inside one, imports make no circle.
PACKAGES = ("_version", "text", "errors", "system", "precision", "compiling", "optimise", "priors", "data", "io")
PACKAGES += ("switching", "rewards", "inference", "estimators", "analysis", "datasets", "plots", "report")
PACKAGES += ("workflows", "reproduce", "cli", "__init__", "__main__")
# `Trajectories.from_csv` and its like import their reader when they are called.
EXCEPTIONS = {"data.from_files": "io", "data.streamed": "io"}
MAX_AT_THE_TOP = 20

NOT_AT_IMPORT = ("matplotlib", "xarray", "h5py", "h5netcdf", "pandas", "typer", "sklearn", "numba", "pooch")
NOT_AT_IMPORT += ("pydantic", "pynwb", "pyarrow", "plotly", "jinja2", "optax", "scipy.optimize", "scipy.special")


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1]) if parts[-1] == "__init__" and len(parts) > 1 else ".".join(parts)


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


@functools.cache
def trees():
    return {name: ast.parse(path.read_text(), filename=str(path)) for name, path in MODULES.items()}


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


def package(name):
    return name.split(".")[0]


def upwards(imports):
    """Imports from a package to one that comes after it."""
    place = {name: i for i, name in enumerate(PACKAGES)}
    return [
        f"{name} imports {other}"
        for name, others in imports.items()
        for other in sorted(others)
        if place[package(other)] > place[package(name)] and EXCEPTIONS.get(name) != package(other)
    ]


def circles(imports):
    """Modules in a circle of imports (or between two circles): what is left when the ends are taken off."""
    left = {name: {other for other in others if other != name and other in imports} for name, others in imports.items()}
    while True:
        wanted = set().union(*left.values())
        gone = {name for name, others in left.items() if not others or name not in wanted}
        if not gone:
            return sorted(left)
        left = {name: others - gone for name, others in left.items() if name not in gone}


@functools.cache
def imports():
    return {name: imported(tree) - {name} for name, tree in trees().items()}


def test_the_house_has_a_dozen_rooms():
    assert {package(name) for name in MODULES} == set(PACKAGES)
    free = {"__init__", "__main__", "_version"}
    assert len({package(name) for name in MODULES} - free) <= MAX_AT_THE_TOP


def test_imports_point_one_way():
    assert upwards(imports()) == []


def test_imports_make_no_circle():
    assert circles({name: others for name, others in imports().items() if name not in EXCEPTIONS}) == []


def test_the_searches_see_what_is_wrong():
    assert upwards({"data.mdp": {"errors", "io.netcdf"}}) == ["data.mdp imports io.netcdf"]
    assert upwards({"data.from_files": {"io.moseq"}}) == []
    ring = {"a.x": {"a.y"}, "a.y": {"a.z"}, "a.z": {"a.x", "b"}, "a.w": {"a.x"}, "b": set()}
    assert circles(ring) == ["a.x", "a.y", "a.z"]
    assert circles({"a.x": {"a.y", "b"}, "a.y": {"b"}, "b": set()}) == []


def test_the_search_for_imports_sees_all_kinds():
    tree = ast.parse(
        "import swirl.inference.em\nfrom swirl.data import mdp\nfrom swirl import SWIRL\n"
        "from swirl.estimators.swirl import SWIRL\ndef f():\n    from swirl.estimators.save_load import load_model\n"
        "    import_module('swirl.estimators.registry')"
    )
    assert imported(tree) == {
        "inference.em",
        "data.mdp",
        "__init__",
        "estimators.swirl",
        "estimators.save_load",
        "estimators.registry",
    }


def fresh_python(program):
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_the_model_loads_little_and_changes_no_setting():
    program = f"""
import json, sys, jax
before = {{key: repr(value) for key, value in jax.config.values.items()}}
import swirl, swirl.estimators.swirl, swirl.estimators.registry
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


def test_reading_and_checking_a_table_needs_neither_jax_nor_scipy(tmp_path):
    (tmp_path / "walk.csv").write_text("session,t,place\na,0,x\na,1,y\na,2,x\n")
    program = """
import contextlib, io, json, sys
from swirl.cli import main
for arguments in (
    ["import", "table", "walk.csv", "--state", "place", "-o", "s.csv"],
    ["check", "s.csv"],
    ["check", "s.csv", "--env", "observed", "--json"],
):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    if code:
        raise SystemExit(told.getvalue())
print(json.dumps([name for name in ("jax", "scipy", "matplotlib", "numba", "optax") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


NAMED_TUPLE = ("_replace", "_asdict", "_fields", "_make")
# How much memory a fit takes is predicted for SWIRL alone.
OF_ONE_CLASS = {"workflows.fit", "workflows.compare", "workflows.null", "workflows.power", "workflows.sweep"}


def looks_inside(name, tree):
    """Where a syntax tree reads what is not for it: private members of others, and models by trial or by class.

    A module may use the private members that it defines itself.  `getattr` is for names that are computed.
    """
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    estimators = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("swirl.estimators.")
        for alias in node.names
    } - {"HiddenModeEstimator"}  # any model at all, at the door
    for node in ast.walk(tree):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else None
        wrong = False
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            wrong = ast.unparse(node.value) not in ("self", "cls") and node.attr not in own | set(NAMED_TUPLE)
        elif called in ("getattr", "hasattr"):
            wrong = "model" in ast.unparse(node.args[0]).lower() and isinstance(node.args[1], ast.Constant)
        elif called == "isinstance" and name not in OF_ONE_CLASS:
            wrong = estimators & {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
        if wrong:
            yield f"{name}:{node.lineno} {ast.unparse(node)}"


def test_models_describe_themselves():
    found = [
        line for name, tree in trees().items() if package(name) != "estimators" for line in looks_inside(name, tree)
    ]
    assert found == []


def test_the_search_for_looks_inside_sees_them():
    program = """
from swirl.estimators.base import HiddenModeEstimator
from swirl.estimators.swirl import SWIRL
class A:
    def _mine(self): return self._own + A()._mine() + point._replace(x=1)
model._histories
fit.model._table()
getattr(fit.model, "restarts_", None)
hasattr(model, "policies_")
getattr(model, f"{name}_", None)
isinstance(model, HiddenModeEstimator)
isinstance(model, SWIRL | ARHMM)
"""
    assert {line.split(":")[1] for line in looks_inside("plots.x", ast.parse(program))} == {
        "6 model._histories",
        "7 fit.model._table",
        "8 getattr(fit.model, 'restarts_', None)",
        "9 hasattr(model, 'policies_')",
        "12 isinstance(model, SWIRL | ARHMM)",
    }


def forbidden(name, tree):
    """What is forbidden in a syntax tree: module, line and kind of each."""
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
        elif isinstance(node, ast.Attribute) and node.attr == "config" and name != "system":  # `swirl.keep_compiled()`
            kind = "jax.config"
        elif isinstance(node, ast.Attribute) and node.attr == "enable_x64" and name != "precision":
            kind = "enable_x64"
        if kind is not None:
            yield f"{name}, line {node.lineno}: {kind}"


def test_nothing_that_is_forbidden():
    assert [found for name, tree in trees().items() for found in forbidden(name, tree)] == []


def test_the_search_for_what_is_forbidden_sees_all_kinds():
    tree = ast.parse(
        "assert x\nprint(x)\nraise Exception('no')\nraise ValueError('yes')\n"
        "try:\n    pass\nexcept:\n    pass\njax.config.update('a', 1)\njax.enable_x64(True)"
    )
    kinds = ["assert", "print", "bare exception", "bare except", "jax.config", "enable_x64"]
    assert sorted(found.split(": ")[1] for found in forbidden("em", tree)) == sorted(kinds)
    assert [found for found in forbidden("precision", tree) if "enable_x64" in found] == []
