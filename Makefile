# The first Python that is new enough; with none, tools/environment.py says what is missing.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c "$(NEW_ENOUGH)" 2>/dev/null && echo $$python && exit; done; echo python3)

VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

# How many tests run at once, and what else pytest is told: make test ARGUMENTS="-k outbox -x"
# One more than processors, since tests wait for servers now and then.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
ARGUMENTS ?=

# Thousands of small databases: in memory where the system has it, so that no disk is waited for.
IN_MEMORY := $(if $(wildcard /dev/shm/.),PYTEST_DEBUG_TEMPROOT=/dev/shm)

# Only folders that hold Python: mypy refuses an empty one.
TYPED = conftest.py $(foreach folder,src shop/src tests shop/tests bench tools examples,\
	$(if $(shell find $(folder) -name '*.py' 2>/dev/null),$(folder)))

LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	--no-header --python-version 3.11
RUN_EXTRAS := --extra postgres --extra mariadb --extra aiosqlite --extra archive
COMPILE := $(LOCK) --no-emit-package todoke pyproject.toml shop/pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help run test prove pythons check bench lock docs clean run-environment test-environment

help:
	@echo "todoke: what you commit, arrives."
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

run: run-environment ## start the shop on SQLite, with everything it needs; Ctrl-C ends it
	@exec $(BIN)/python -m shop.demo $(ARGUMENTS)

test: test-environment ## run all tests, each on one of its databases; ARGUMENTS=--every-database on all
	@exec env $(IN_MEMORY) $(PYTEST) --numprocesses $(WORKERS) --maxprocesses 8 $(ARGUMENTS)

prove: test-environment ## run the proofs with large counts; writes docs/proof/report.md
	@exec $(PYTEST) tests/proof --prove --timeout 14400 $(ARGUMENTS)

pythons: ## run all tests on each Python that todoke supports and this machine has
	@exec $(PYTHON) tools/pythons.py $(ARGUMENTS)

check: test-environment ## format, lint, types, import rules and house rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/pyright
	$(BIN)/lint-imports
	@exec env $(IN_MEMORY) $(PYTEST) tests/house --numprocesses $(WORKERS) --maxprocesses 8

bench: test-environment ## measure beside raw loops and peers: ARGUMENTS="drain publish --rounds 5"
	@exec $(BIN)/python -m bench $(ARGUMENTS)

lock: test-environment ## write requirements/*.txt anew; ARGUMENTS=--upgrade takes newer versions
	$(COMPILE) $(RUN_EXTRAS) $(ARGUMENTS) requirements/run.in --output-file requirements/run.txt
	$(COMPILE) --all-extras $(ARGUMENTS) requirements/test.in --constraint requirements/run.txt \
		--output-file requirements/test.txt
	$(LOCK) $(ARGUMENTS) requirements/bench.in --constraint requirements/test.txt \
		--output-file requirements/bench.txt
	$(LOCK) $(ARGUMENTS) requirements/mysqlclient.in --output-file requirements/mysqlclient.txt

docs: test-environment ## run every example in README and docs
	@exec $(PYTEST) tests/house/test_docs.py $(ARGUMENTS)

clean: ## remove caches, built files and what runs left in var/; keeps .venv
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf build dist docs/_build shop/dist var

run-environment:
	@TODOKE_VENV=$(VENV) $(PYTHON) tools/environment.py run

test-environment:
	@TODOKE_VENV=$(VENV) $(PYTHON) tools/environment.py test
