# Bytecode and numba caches must be written, or every start compiles for seconds.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev plot neural images excel web ray docs
STAMP := $(VENV)/.installed
ADAPTERS := .venv-adapters
TRACKERS := .venv-trackers
HF := .venv-hf

.PHONY: setup torch demo test test-slow test-all test-adapters test-trackers test-hf docs lint bench constraints dist \
  sbom clean

setup: $(STAMP)

# Every file that is downloaded must have a hash that stands in requirements/, build requirements included. uv installs
# about three times faster than pip; where it cannot be had or fails, pip does the same job.
$(STAMP): pyproject.toml requirements/uv.txt requirements/dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	{ $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt \
	    && $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt \
	    && $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; } \
	  || { $(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt \
	    && $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .; }
	touch $@

# The one download of CI without a hash: PyTorch has other files for each kind of machine. What it needs is in dev.txt.
torch: $(STAMP)
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0

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
# (adapters.txt leaves it out). Nothing may be skipped here.
test-adapters: $(ADAPTERS)/.installed
	TASKORDER_NO_SKIPS=. $(ADAPTERS)/bin/python -m pytest tests/adapters $(PYTEST_ARGS)

$(ADAPTERS)/.installed: $(STAMP) requirements/adapters.txt | torch
	$(BIN)/python -m venv --clear --without-pip $(ADAPTERS)
	$(BIN)/uv pip install --quiet --python $(ADAPTERS)/bin/python --require-hashes -r requirements/adapters.txt \
	  --no-deps --build-constraints requirements/dev.txt
	$(BIN)/python -c "import site; print('$(CURDIR)/src', *site.getsitepackages(), sep='\n')" \
	  > $$($(ADAPTERS)/bin/python -c "import site; print(site.getsitepackages()[0])")/base.pth
	touch $@

# Against the real trackers, offline, in an environment on top of .venv as well; MLflow keeps its runs in a database.
test-trackers: $(TRACKERS)/.installed
	TASKORDER_NO_SKIPS=. $(TRACKERS)/bin/python -m pytest tests/trackers $(PYTEST_ARGS)

$(TRACKERS)/.installed: $(STAMP) requirements/trackers.txt | torch
	$(BIN)/python -m venv --clear --without-pip $(TRACKERS)
	$(BIN)/uv pip install --quiet --python $(TRACKERS)/bin/python --require-hashes -r requirements/trackers.txt
	$(BIN)/python -c "import site; print('$(CURDIR)/src', *site.getsitepackages(), sep='\n')" \
	  > $$($(TRACKERS)/bin/python -c "import site; print(site.getsitepackages()[0])")/base.pth
	touch $@

# Models of transformers, fine-tuned with and without peft and trl on tiny models that are made on the spot: no hub is asked.
test-hf: $(HF)/.installed
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 TASKORDER_NO_SKIPS=. $(HF)/bin/python -m pytest tests/learners/huggingface \
	  tests/finetune $(PYTEST_ARGS)

$(HF)/.installed: $(STAMP) requirements/hf.txt | torch
	$(BIN)/python -m venv --clear --without-pip $(HF)
	$(BIN)/uv pip install --quiet --python $(HF)/bin/python --require-hashes --no-deps -r requirements/hf.txt
	$(BIN)/python -c "import site; print('$(CURDIR)/src', *site.getsitepackages(), sep='\n')" \
	  > $$($(HF)/bin/python -c "import site; print(site.getsitepackages()[0])")/base.pth
	touch $@

# On request, not in CI, and without hashes: orders in tools that fine-tune. Each pins packages of its own, so each has an environment of 0.6 GB
# or more on top of .venv, without the packages for GPUs, which the tests replace where a tool imports them.
TOOLS := llamafactory axolotl swift
PACKAGES_llamafactory := llamafactory==0.9.5
MORE_llamafactory := transformers==5.6.0 datasets==4.0.0 accelerate==1.11.0 peft==0.18.1 trl==0.24.0 omegaconf tyro \
  einops modelscope sentencepiece tiktoken av fire pillow
PACKAGES_axolotl := axolotl==0.19.0 axolotl-contribs-lgpl axolotl-contribs-mit
MORE_axolotl := transformers==5.16.1 huggingface_hub==1.17.0 peft==0.20.0 tokenizers==0.23.1 accelerate==1.13.0 \
  datasets==4.8.4 trl==1.9.0 addict fire colorama art python-dotenv pydantic==2.12.5 evaluate fastcore posthog==6.7.11 \
  mistral-common schedulefree sentencepiece einops wandb kernels nvidia-ml-py zstandard typer tensorboard
PACKAGES_swift := ms-swift==4.6.0
MORE_swift := transformers==5.19.0 datasets==4.8.4 accelerate peft==0.20.0 trl==0.29.1 modelscope addict binpacking \
  dacite einops json-repair nltk openai oss2 pillow rouge simplejson sortedcontainers tiktoken tensorboard sentencepiece \
  attrdict importlib-metadata

.PHONY: $(TOOLS:%=test-%)
$(TOOLS:%=test-%): test-%: .venv-%/.installed
	TASKORDER_NO_SKIPS=. .venv-$*/bin/python -m pytest tests/finetune_tools/test_$*.py $(PYTEST_ARGS)

.venv-%/.installed: $(STAMP) | torch
	$(BIN)/python -m venv --clear --without-pip .venv-$*
	$(BIN)/uv pip install --quiet --python .venv-$*/bin/python --no-deps $(PACKAGES_$*)
	printf "%s; python_version < '0'\n" torch torchvision torchaudio triton xformers bitsandbytes \
	  | $(BIN)/uv pip install --quiet --python .venv-$*/bin/python --overrides - $(MORE_$*)
	$(BIN)/python -c "import site; print('$(CURDIR)/src', *site.getsitepackages(), sep='\n')" \
	  > $$(.venv-$*/bin/python -c "import site; print(site.getsitepackages()[0])")/base.pth
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
	echo python-tsp==0.5.0 --hash=sha256:edf642d783e266db4b989ad1a9852c0e4df05400e19857653ba4c0d2361acd4b \
	  | $(BIN)/python -m pip install --quiet --no-deps --require-hashes -r /dev/stdin
	$(BIN)/python benchmarks/paths.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/engine.py steps strategies tree compile forms memory
	$(BIN)/python benchmarks/ray_scaling.py
	$(BIN)/python benchmarks/page.py

# Newest versions that fit together on every supported Python, with the hashes of all their files on all systems; the
# files name no package index. dev.txt also has what builds this package and what PyTorch needs, which itself stays out.
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --upgrade \
  --python-version 3.11

constraints: setup
	printf '%s\n' editables hatchling networkx setuptools sympy | $(LOCK) pyproject.toml - \
	  $(EXTRAS:%=--extra %) -o requirements/dev.txt
	echo "torch; python_version < '0'" > requirements/.without-torch
	printf '%s\n' continuum six | $(LOCK) pyproject.toml - --extra avalanche -c requirements/dev.txt \
	  --overrides requirements/.without-torch -o requirements/adapters.txt
	printf '%s\n' transformers==5.23.0 peft==0.21.2 trl==1.16.0 accelerate==1.15.0 | $(LOCK) - -c requirements/dev.txt \
	  --overrides requirements/.without-torch -o requirements/hf.txt
	rm requirements/.without-torch
	printf '%s\n' mlflow-skinny==3.17.2 sqlalchemy alembic wandb==0.31.0 tensorboard==2.21.0 \
	  | $(LOCK) - -c requirements/dev.txt -o requirements/trackers.txt
	echo uv | $(LOCK) - -o requirements/uv.txt

# What a release uploads: the sdist, the wheel, and a list of what they bring with them, in dist/.
dist: setup
	$(BIN)/uv build --quiet --require-hashes --build-constraints requirements/dev.txt

sbom: setup
	$(BIN)/python requirements/sbom.py dist

clean:
	rm -rf $(VENV) $(ADAPTERS) $(TRACKERS) $(HF) $(TOOLS:%=.venv-%) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
