# Everything a newcomer needs, on a machine with Python, git and make.
#
#   make plan    a virtual environment, the install, and what a model costs
#   make test    the same with the tests' dependencies, and the whole suite
#   make check   style and types, as CI does
#   make bench   the figures in benchmarks/results, on this machine

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MODELS ?= albert-base-v2 albert-xxlarge-v2 bert-base-uncased
SUITE ?= -m "not slow"

.PHONY: plan test test-slow check bench clean

plan: $(VENV)/core
	$(BIN)/albertine plan $(MODELS)

test: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 $(SUITE)

test-slow: $(VENV)/dev
	$(BIN)/python -m pytest -m slow

check: $(VENV)/dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(VENV)/dev
	$(BIN)/python benchmarks/forward_cpu.py
	$(BIN)/python benchmarks/convert.py
	$(BIN)/python benchmarks/memory_forecast.py

$(VENV)/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $(VENV)/core $@

clean:
	rm -rf $(VENV) build dist
