SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow lint type format bench docs clean

BIN := .venv/bin
STAMP := .venv/.installed
USABLE := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3.11 python3; do $$p $(USABLE) 2>/dev/null && echo $$p && break; done)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## make .venv with everything for development, from requirements.lock

# An environment without its stamp was interrupted half-way, so it is made anew; one with an older stamp is brought up to date.
$(STAMP): requirements.lock pyproject.toml
	@$(or $(PYTHON),false) $(USABLE) || { echo "error: Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(if $(wildcard $@),,--clear) .venv && rm -f $@ && $(BIN)/python -m pip install -r requirements.lock && \
	  $(BIN)/python -m pip install --no-deps --no-build-isolation -e . && touch $@

demo: $(STAMP) ## import, evaluate, fine-tune and compare on the embedded data
	$(BIN)/skillfit demo

test: $(STAMP) ## the fast tests
	$(BIN)/python -m pytest -n 2

test-slow: $(STAMP) ## the slow tests, one after another
	$(BIN)/python -m pytest -m 'slow and not gpu'

lint: $(STAMP) ## ruff (rules and format) and deptry (declared against imported packages)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/deptry .

type: $(STAMP) ## mypy
	$(BIN)/mypy

format: $(STAMP) ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix-only . && $(BIN)/ruff format .

bench: $(STAMP) ## run every benchmark in benchmarks/
	@found=$$(ls benchmarks/*.py 2>/dev/null) || { echo "benchmarks/ holds no benchmark yet"; exit 0; }; for f in $$found; do echo "== $$f"; $(BIN)/python $$f || exit 1; done

docs: $(STAMP) ## check that the links in the README and docs/ lead somewhere
	$(BIN)/python -m pytest tests/docs

clean: ## remove build products and caches; never runs/ nor .venv
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov src/*.egg-info
	find src tests benchmarks conf -name __pycache__ -type d -prune -exec rm -rf {} +
