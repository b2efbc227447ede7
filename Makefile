# Two environments with stamps: .uv holds a hash-locked uv, .venv everything else.
# `make demo` and `make test` need Python 3.11 (or newer), make and a network for packages; nothing else.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
UV := .uv/bin/uv
export UV_COMPILE_BYTECODE := 1
# Commands and pages are processes of their own: each would compile the whole package again.
export PYTHONDONTWRITEBYTECODE :=
export UV_PYTHON_DOWNLOADS := never
export UV_NO_PROGRESS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
OUT ?= build

.PHONY: help demo test test-all pages spark faults fuzz lint format report dist site notebooks pictures man bench bench-check house mutate validate lock clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

.uv/stamp: dev/locks/requirements-uv.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; found: $$($(PYTHON) --version 2>&1). Set PYTHON=/path/to/python3.11"; exit 2; }
	@"$(PYTHON)" -m venv .uv
	@.uv/bin/python -m pip install -qq --require-hashes --no-deps --only-binary :all: -r dev/locks/requirements-uv.txt
	@touch $@

.venv/stamp: dev/locks/requirements.lock pyproject.toml .uv/stamp
	@echo "setting up .venv (locked packages; half a minute the first time)"
	@test -x $(BIN)/python || $(UV) venv -q --python "$(PYTHON)" .venv
	@$(UV) pip sync -q --python $(BIN)/python --require-hashes dev/locks/requirements.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

demo: .venv/stamp ## Read shipped results, compare them, render the report
	@$(BIN)/evalstats demo --output $(OUT)/demo

# As many processes as cores: a library that starts a thread for each core in each of them spends a sixth more, and Polars a
# twentieth; the whole suite leaves Polars its threads, in which the order of rows could differ.
test test-all: export OPENBLAS_NUM_THREADS := 1
test: export POLARS_MAX_THREADS := 1

test: .venv/stamp ## The test suite (without the long simulations, and what needs a browser)
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not browser"

test-all: .venv/stamp ## The whole suite, with coverage and type-I simulations
	$(BIN)/python -m pytest -q -n auto --dist loadfile --hypothesis-profile=search

PAGES := $(BIN)/python -m pytest -q -m "browser or slow" tests/test_notebooks.py tests/website tests/report/test_every_page.py \
	tests/report/test_browser.py tests/report/test_page_script.py tests/report/test_site_script.py

# A browser beside another process has lost an event; what fails is asked once more, alone, and has to pass there.
pages: .venv/stamp ## Pages in a browser, by all of axe's rules, and notebooks to their last cell: too long for each `make test`
	$(PAGES) -n auto --dist loadfile || $(PAGES) --last-failed --last-failed-no-failures none

# In a folder beside .venv, which is kept to what is locked for everyone; pyspark is built from its source archive.
.spark/stamp: dev/locks/requirements-spark.txt .venv/stamp .uv/stamp
	@echo "setting up .spark (Spark; a minute or two the first time)"
	@rm -rf .spark
	@$(UV) pip install -q --python $(BIN)/python --target .spark --no-deps --require-hashes -r dev/locks/requirements-spark.txt
	@# A Java that is too old, or a machine without room for one, is found here and not by a test.
	@PYTHONPATH=.spark timeout 180 $(BIN)/python -c "from pyspark.sql import SparkSession as S; assert S.builder.master('local[1]').getOrCreate().range(3).count() == 3" 2>/dev/null || { echo "Spark does not start here"; exit 1; }
	@touch $@

spark: .spark/stamp ## The tests on Spark (they need Java 17 or newer)
	PYTHONPATH=.spark $(BIN)/python -m pytest -q tests/loaders/test_scan.py -k spark

faults: .venv/stamp ## Kills, full disks, damaged stores, missing rights: tries and failures
	$(BIN)/python -m pytest -q tests/faults

fuzz: .venv/stamp ## Damaged files and results, odd command lines: inputs and crashes (EVALSTATS_FUZZ=10: ten times as many)
	$(BIN)/python -m pytest -q tests/fuzz

lint: .venv/stamp ## ruff, format check, pyright strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/stamp ## Apply the formatter
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .

report: .venv/stamp ## HTML and PDF of the demonstration report
	@$(BIN)/evalstats demo --output $(OUT)/demo --to html --to pdf

dist: .venv/stamp .uv/stamp ## The wheel and the source archive, the wheel out of the archive
	@rm -rf dist
	@$(UV) build -q --no-build-isolation --python $(BIN)/python --out-dir dist
	@rm -f dist/.gitignore
	@ls -s --block-size=K dist

site: .venv/stamp ## The website, without Quarto (`quarto render` makes it with Quarto)
	@$(BIN)/python -m dev.website.build

notebooks: .venv/stamp ## Run the notebooks and store their outputs
	@$(BIN)/python -m dev.website.notebooks

pictures: .venv/stamp ## The pictures of the README, from today's pages (needs Chromium)
	@$(BIN)/python -m dev.website.pictures

man: .venv/stamp ## The man page, from the help of the commands
	@$(BIN)/python -m dev.website.man_page

# The packages that ours is measured against, locked; the one called evalstats as ours is needs an environment of its own.
.peers/stamp: dev/locks/requirements-peers.txt dev/locks/requirements-namesake.txt .venv/stamp .uv/stamp
	@echo "setting up .peers (the packages to measure against)"
	@$(UV) venv -q --clear --python $(BIN)/python .peers/science
	@$(UV) pip sync -q --python .peers/science/bin/python --require-hashes dev/locks/requirements-peers.txt
	@$(UV) venv -q --clear --python $(BIN)/python .peers/namesake
	@$(UV) pip sync -q --python .peers/namesake/bin/python --require-hashes dev/locks/requirements-namesake.txt
	@touch $@

bench: .peers/stamp ## Speed and accuracy beside other packages; renews docs/speed.md
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.commands --store

bench-check: .peers/stamp ## Fail where speed has become worse than stored
	@$(BIN)/python -m benchmarks --check

house: .venv/stamp ## Sizes, calls, helpers and names of the code, beside the stored figures
	@$(BIN)/python dev/house.py

mutate: .venv/stamp ## Put faults into evalstats/stats, count what no test notices; renews docs/mutants.md
	@$(BIN)/python -m dev.mutation

validate: .venv/stamp ## Rerun the simulations of our own error rates; a run broken off goes on where it stopped
	$(BIN)/python -m dev.validation

lock: .uv/stamp ## Re-resolve the lock files
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate dev/locks/requirements-uv.in -o dev/locks/requirements-uv.txt
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --extra report --extra dev pyproject.toml -o dev/locks/requirements.lock
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --extra report -c dev/locks/requirements.lock pyproject.toml -o dev/locks/requirements-runtime.lock
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate dev/locks/requirements-release.in -o dev/locks/requirements-release.txt
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate dev/locks/requirements-peers.in -o dev/locks/requirements-peers.txt
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate dev/locks/requirements-namesake.in -o dev/locks/requirements-namesake.txt
	$(UV) pip compile -q --upgrade --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header --no-annotate dev/locks/requirements-spark.in -o dev/locks/requirements-spark.txt
	@sed -i '1i # Runtime, report and development packages with hashes. Made by `make lock`; do not edit.' dev/locks/requirements.lock
	@sed -i '1i # What evalstats-toolkit[report] runs with, of requirements.lock. Made by `make lock`; do not edit.' dev/locks/requirements-runtime.lock
	@sed -i '1i # What checks a release, with hashes. Made by `make lock`; do not edit.' dev/locks/requirements-release.txt
	@sed -i '1i # What the tests on Spark need beside the rest, with hashes. Made by `make lock`; do not edit.' dev/locks/requirements-spark.txt
	@sed -i '1i # Packages that ours is measured against, with hashes. Made by `make lock`; do not edit.' dev/locks/requirements-peers.txt dev/locks/requirements-namesake.txt

clean: ## Remove all environments and everything built
	rm -rf .venv .uv .peers .spark build dist .pytest_cache .ruff_cache
