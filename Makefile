PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Stamps keep the set-up from running again while its inputs are unchanged.
READY := $(VENV)/.ready

.PHONY: demo test check casebook bench bench-cures calibration matrix docs format clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "fitdoctor needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check]'
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m examples.demo

# Tests that judge times run alone; both parts run, whatever the first one says. Many of the
# others wait for processes that they start, so that three at a time fill two cores.
test: $(READY)
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "not measures"; first=$$?; \
	$(BIN)/python -m pytest -m measures && exit $$first

check: $(READY)
	$(BIN)/ruff format --diff src tests casebook benchmarks examples
	$(BIN)/ruff check src tests casebook benchmarks examples
	$(BIN)/mypy
	$(BIN)/mypy tests/synthetic.py
	$(BIN)/lint-imports

casebook: $(READY)
	$(BIN)/python -m casebook --json benchmarks/results/casebook.json

bench: $(READY)
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.input
	$(BIN)/python -m benchmarks.articles
	$(BIN)/python -m benchmarks.pack
	$(BIN)/python -m benchmarks.pack_kills

bench-cures: $(READY)
	$(BIN)/python -m benchmarks.cures

calibration: $(READY)
	$(BIN)/python -m benchmarks.calibration

# Every supported Python, Keras and backend in an environment of its own: an hour, many gigabytes.
matrix: $(READY)
	$(BIN)/python -m benchmarks.matrix

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m mkdocs build --strict

format: $(READY)
	$(BIN)/ruff format src tests casebook benchmarks examples
	$(BIN)/ruff check --fix src tests casebook benchmarks examples

clean:
	rm -rf $(VENV) .fitdoctor .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
