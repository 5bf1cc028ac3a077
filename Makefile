# Bytecode and numba caches must be written, or every start compiles for seconds.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,plot,neural,images,web
STAMP := $(VENV)/.installed

.PHONY: setup demo test lint bench constraints clean

setup: $(STAMP)

# uv installs about three times faster than pip; where it cannot be had or fails, pip does the same job.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	{ $(BIN)/python -m pip install --quiet uv \
	    && $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e ".[$(EXTRAS)]"; } \
	  || $(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$(EXTRAS)]"
	touch $@

demo: setup
	$(BIN)/taskorder demo

test: setup
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/ordering.py
	$(BIN)/python benchmarks/linear.py

# Newest versions that fit together on every supported Python; the file names no package index. Torch stays out of it.
constraints: setup
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --upgrade --python-version 3.11 \
	  $(foreach extra,dev plot neural images web,--extra $(extra)) pyproject.toml -o constraints.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
