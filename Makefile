# One Gradient Step. `make help` lists the targets. Needs Python 3.11 or newer (with venv) and make.
.DEFAULT_GOAL := help
.PHONY: help book test check bench deviations lint format refresh notebooks slides assignments grade serve address lock clean

# The first interpreter that is new enough, the tested version first; override with `make PYTHON=...`.
PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell \
  $(p) -c 'import sys, venv, ensurepip; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
PAGES := _build/html
START := $(CURDIR)/$(PAGES)/book/intro.html
# The argument of `make address` reaches the tool as it was typed: neither make nor a shell reads it.
unexport URL
address: export ONESTEP_ADDRESS := $(value URL)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE := 1
# The chapters' matrices are small: more threads than one cost more than they bring, much more on a busy machine.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

# The lock holds for the Python it was made on; elsewhere the ranges of the requirements decide.
INSTALL = $(BIN)/python book/_tools/install.py

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv found (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "$(CURDIR)" > $@

# A virtual environment holds the path of its folder: in a checkout that was moved or copied it leads elsewhere.
.PHONY: here
here: $(VENV)/made
	@made=$$(cat $(VENV)/made); test -z "$$made" || test "$$made" = "$(CURDIR)" || { \
	  echo "$(VENV) was made in $$made, before this checkout was moved or copied."; \
	  echo "Remove it (rm -rf $(VENV)) and run make again: it is made anew, which needs the network."; exit 1; }

$(VENV)/book: $(VENV)/made requirements.txt requirements.lock requirements.hashes pyproject.toml | here
	$(INSTALL) requirements.txt
	@touch $@

$(VENV)/grading: $(VENV)/book requirements-grading.txt requirements-grading.hashes
	$(INSTALL) requirements-grading.txt
	@touch $@

$(VENV)/test: $(VENV)/book requirements-test.txt requirements-grading.txt requirements-test.hashes
	$(INSTALL) requirements-test.txt
	@touch $@

book: $(VENV)/book ## build the site; chapters run again when they or the library changed
	$(BIN)/python -m book._tools.build
	@echo "The book is built. Open file://$(START)"

test: $(VENV)/test ## the checks that decide: library, chapters, site, style
	$(BIN)/python -m book._tools.build --whole
	$(BIN)/python tests/tools/suites.py test

check: $(VENV)/test ## the long checks: slow tests, every chapter in a real JupyterLab
	$(BIN)/python -m book._tools.build --whole
	$(BIN)/python tests/tools/suites.py check

bench: $(VENV)/test ## measure speed and memory, as a table in tests/BENCHMARKS.md
	$(BIN)/python tests/tools/bench.py

deviations: $(VENV)/test ## how far every formula is off, as the tests find it, in tests/DEVIATIONS.md
	$(BIN)/python tests/tools/deviations.py --slow

lint: $(VENV)/test ## style and spelling
	$(BIN)/python tests/tools/suites.py lint

format: $(VENV)/test ## rewrite code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

refresh: $(VENV)/test ## run all chapters and store the outputs that tests compare
	$(BIN)/python -m book._tools.refresh

notebooks: book ## copy what the build made for JupyterLab, Binder and Colab to book/notebooks/
	$(BIN)/python -m book._tools.notebooks

# A seed reaches the tool as it was typed, like an address.
unexport SEED
assignments: export ONESTEP_SEED := $(value SEED)
assignments: $(VENV)/grading ## make the assignments; make assignments SEED=<secret> draws a variant of your own
	$(BIN)/python -m book._tools.assignments

grade: $(VENV)/grading ## grade a class: make grade COURSE=<folder> ASSIGNMENT=<name> SUBMISSIONS=<folder>
	$(BIN)/python -m book._tools.grading "$(COURSE)" "$(ASSIGNMENT)" "$(SUBMISSIONS)"

slides: $(VENV)/test ## slides of the chapters, in _build/slides/
	$(BIN)/python -m book._tools.slides

serve: book ## serve the site on this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(PAGES) 8000

address: here ## set the public repository: make address URL=https://github.com/<owner>/<name>
	$(BIN)/python book/_tools/address.py

lock: $(VENV)/test ## write the installed versions to requirements.lock
	$(BIN)/python book/_tools/install.py --lock

clean: ## remove everything that make made
	rm -rf $(VENV) _build build *.egg-info .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
