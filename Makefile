# Two promises (README): `make demo` and `make test` do all their own set-up on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# uv takes half a minute where pip takes two and a half; pip steps in where uv cannot reach what pip can.
comma := ,
# Without bytecode every interpreter compiles JAX anew: 3 seconds instead of 1.
unexport PYTHONDONTWRITEBYTECODE
add = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable "$(1)" || $(BIN)/python -m pip install --quiet --editable "$(1)"

.PHONY: install demo test test-all lint format bench docs picture wheel clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip uv
	$(call add,.[dev])
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/swirl demo --output swirl-demo --force

# Whole files go to each of two workers, in the order of tests/conftest.py (xdist's own is by number of tests).
SHARED := -n 2 --dist loadfile --no-loadscope-reorder
# The fast tier; what is marked slow (end-to-end runs, long fits, most of the browser) is left to test-all.
test: $(STAMP)
	$(BIN)/python -m pytest $(SHARED) -m "not slow"

test-all: $(STAMP)
	$(BIN)/python -m pytest $(SHARED)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/sphinx-build -j 2 -W --keep-going -q -b html docs build/docs
	@echo "The pages are in build/docs: open build/docs/index.html"

# The picture of a report in the README: of the demo, with the verdict of swirl fit.
picture: demo
	$(BIN)/swirl fit swirl-demo/sessions.csv --env swirl-demo/grid.csv --modes 2 --hold-out 5 --quiet --force -o swirl-demo/picture.nc
	$(BIN)/swirl report swirl-demo/picture.nc --title "What does the agent want?" --quiet --force -o swirl-demo/report.html
	$(BIN)/python docs/extensions/report_picture.py swirl-demo/report.html docs/images/report.png

# The wheel and the source distribution as others get them: built, checked, installed and tried outside the checkout.
wheel: $(STAMP)
	$(BIN)/python packaging/try_wheel.py

bench: $(STAMP)
	$(call add,.[dev$(comma)bench])
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache
