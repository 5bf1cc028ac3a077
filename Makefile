# Bytecode and numba caches must be written, or every start compiles for seconds.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,plot,neural,images,excel,web,ray,docs
STAMP := $(VENV)/.installed
ADAPTERS := .venv-adapters
TRACKERS := .venv-trackers

.PHONY: setup demo test test-slow test-all test-adapters test-trackers docs lint bench constraints clean

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

# Every module and every command, in a few minutes on two cores. Both workers would compile the same kernels in a fresh
# clone, so they are compiled before.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

test: setup
	$(BIN)/python tests/compile_kernels.py
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

# What `make test` leaves out; CONTRIBUTING.md says why.
test-slow: setup
	$(BIN)/python tests/compile_kernels.py
	$(PYTEST) -m slow $(PYTEST_ARGS)

test-all: test test-slow

# Against the real frameworks, which need much more than we do: an environment on top of .venv, whose torch it shares
# (without the override uv would fetch one of gigabytes). Nothing may be skipped here.
test-adapters: $(ADAPTERS)/.installed
	TASKORDER_NO_SKIPS=. $(ADAPTERS)/bin/python -m pytest tests/adapters $(PYTEST_ARGS)

$(ADAPTERS)/.installed: $(STAMP)
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m venv --clear --without-pip $(ADAPTERS)
	echo "torch; python_version < '0'" | $(BIN)/uv pip install --quiet --python $(ADAPTERS)/bin/python \
	  -c constraints.txt --overrides - -r pyproject.toml --extra avalanche continuum six
	$(BIN)/python -c "import site; print('$(CURDIR)/src', *site.getsitepackages(), sep='\n')" \
	  > $$($(ADAPTERS)/bin/python -c "import site; print(site.getsitepackages()[0])")/base.pth
	touch $@

# Against the real trackers, offline, in an environment on top of .venv as well; MLflow keeps its runs in a database.
test-trackers: $(TRACKERS)/.installed
	TASKORDER_NO_SKIPS=. $(TRACKERS)/bin/python -m pytest tests/trackers $(PYTEST_ARGS)

$(TRACKERS)/.installed: $(STAMP)
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m venv --clear --without-pip $(TRACKERS)
	$(BIN)/uv pip install --quiet --python $(TRACKERS)/bin/python -c constraints.txt \
	  mlflow-skinny==3.17.2 sqlalchemy alembic wandb==0.31.0 tensorboard==2.21.0
	$(BIN)/python -c "import site; print('$(CURDIR)/src', *site.getsitepackages(), sep='\n')" \
	  > $$($(TRACKERS)/bin/python -c "import site; print(site.getsitepackages()[0])")/base.pth
	touch $@

# A static site in build/site; a warning is an error.
docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees -c docs . build/site

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Half an hour on two cores; docs/benchmarks.md is written from what the scripts keep.
bench: setup
	$(BIN)/python benchmarks/law.py
	$(BIN)/python benchmarks/ordering.py
	$(BIN)/python benchmarks/ordering.py sizes sizes60
	$(BIN)/python -m pip install --quiet --no-deps python-tsp==0.5.0
	$(BIN)/python benchmarks/paths.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/engine.py steps tree compile forms memory
	$(BIN)/python benchmarks/ray_scaling.py
	$(BIN)/python benchmarks/page.py

# Newest versions that fit together on every supported Python; the file names no package index. Torch stays out of it.
constraints: setup
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --upgrade --python-version 3.11 \
	  $(foreach extra,dev plot neural images excel web ray docs,--extra $(extra)) pyproject.toml -o constraints.txt

clean:
	rm -rf $(VENV) $(ADAPTERS) $(TRACKERS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
