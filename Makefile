# Each target brings what it needs: the virtual environment, the install, the run.
#
#   make demo     a network learns to read handwritten digits
#   make test     the whole suite
#   make plain    the tests of numpy, lax, nn and random, and the examples, without forms for the CPU
#   make check    ruff, pyright and the quick tests, of each two cases: what to run before a commit
#   make sample   one case of each quick test of what stands on jaxlib, and programs compiled and compared
#   make generated  more random programs than in `make test`, others every day (PROGRAMS=2000), and
#                 each call of a function everywhere, with templates and without
#   make sharded  a thousand random programs of parts on eight virtual devices, others every day
#   make compiled  2,000 programs at sizes and special values where XLA changes its ways, compared
#                 with the NumPy evaluator, others every day
#   make numeric  every function over dtypes, shapes and ways of calling against NumPy and SciPy,
#                 errors of special functions in ulps, second derivatives at special points,
#                 distributions at a million draws
#   make mutants  400 faults planted in passes, ops and forms, one at a time, each tried against the
#                 tests of its room; MUTANTS=60 SEED=2 plants others
#   make bench    xfront's own times; AGAINST=PYTHON:jax compares them with another library's;
#                 ROWS=^workloads measures whole programs of all fields alone
#   make docs     the documentation as a site
#   make ecosystem  libraries that build on JAX, each in a real use; make ecosystem-sample: the quick ones
#   make accelerators  the op table and the examples compiled for a TPU v5e and an H100, neither needed
#   make lines    how many lines of code the engine has
#
# PYTHON selects the interpreter, VENV where its environment goes, WORKERS the test processes; JAXLIB
# a release other than the newest, for an environment of its own: JAXLIB='jaxlib==0.11.*' VENV=.venv-0.11.

PYTHON  ?= python3
VENV    ?= .venv
WORKERS ?= 2
AGAINST ?=
ROWS    ?=
TESTS   ?= tests
PROGRAMS ?= 2000
MUTANTS ?= 400
SEED    ?= 0
JAXLIB  ?=

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
BIN     := $(VENV)/bin
RUN     := $(VENV)/.run-$(VERSION)
DEV     := $(VENV)/.dev-$(VERSION)
DOCS    := $(VENV)/.docs-$(VERSION)
PLANTED := $(VENV)/.mutants-$(VERSION)

ECOSYSTEM := .venv-ecosystem-$(VERSION)
LIBRARIES := $(ECOSYSTEM)/.libraries

.PHONY: demo test plain sample generated sharded compiled numeric mutants check lint bench docs lines clean \
  accelerators ecosystem ecosystem-sample
.DELETE_ON_ERROR:

demo: $(RUN)
	$(BIN)/python examples/digits.py

test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

generated: $(DEV)
	XFRONT_GENERATED=$(PROGRAMS) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/generated \
	  tests/xfront/eager/test_templates.py

sharded: $(DEV)
	$(BIN)/python -m tests.xfront.sharding.mapped_programs 1000 $(WORKERS)
	$(BIN)/python -m tests.xfront.sharding.sum_programs 100

compiled: $(DEV)
	nice $(BIN)/python -m tests.compiled --programs $(PROGRAMS) --workers $(WORKERS)

numeric: $(DEV)
	XFRONT_GENERATED=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/numeric
	XFRONT_GENERATED=1 $(BIN)/python -m pytest -n $(WORKERS) -q tests/xfront/random/test_distributions.py -k many
	XFRONT_GENERATED=1 $(BIN)/python -m pytest -n $(WORKERS) -q tests/xfront/test_settings.py -k debug_nans
	XFRONT_GENERATED=1 $(BIN)/python -m pytest -n $(WORKERS) -q tests/gradients/test_second_derivatives.py
	$(BIN)/python -m tests.accuracy

# First it is recorded which tests run which lines. Nobody may change the sources meanwhile.
mutants: $(PLANTED)
	for room in xfront_ir lowering; do \
	  MUTANTS_RECORD=$(VENV)/.record-$$room.json nice $(BIN)/python -m pytest -p tests.mutants.record -q \
	    tests/$$room || exit 1; \
	done
	nice $(BIN)/python -m tests.mutants $(VENV)/.record-xfront_ir.json $(VENV)/.record-lowering.json \
	  --mutants $(MUTANTS) --seed $(SEED) --workers $(WORKERS)

# The tests that compile through forms of the CPU, with the plain rule for every operation.
plain: $(DEV)
	XFRONT_CPU_FORMS=0 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" -q \
	  tests/test_examples.py tests/xfront/numpy tests/xfront/lax tests/xfront/nn tests/xfront/random

# What stands on jaxlib: lowering, compiled values, the tables of programs, devices.
sample: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --cases 1 -q tests/lowering \
	  tests/xfront_ir/test_op_table.py tests/xfront/test_array.py tests/xfront/tracing \
	  tests/xfront/running tests/xfront/eager tests/xfront/lax
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/compiled

check: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --cases 2 -q $(TESTS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(RUN)
	$(BIN)/python benchmarks/run.py --rows '$(ROWS)' $(if $(AGAINST),--against $(AGAINST))

docs: $(DOCS)
	$(BIN)/mkdocs build --strict

lines:
	@$(PYTHON) -m tests.lines

# Libraries that build on JAX, in an environment of their own without the jax package.
ecosystem: $(LIBRARIES)
	$(ECOSYSTEM)/bin/python -W ignore -m xfront -m pytest -W ignore -q tests/ecosystem

ecosystem-sample: $(LIBRARIES)
	$(ECOSYSTEM)/bin/python -W ignore -m xfront -m pytest -W ignore -q -m "not slow" tests/ecosystem

# Plugins compile for devices that are described: of the CUDA one, nothing that it depends on is needed.
accelerators: PYTHON_OF_PLUGINS = .venv-accelerators/bin/python
accelerators:
	@test -e $(PYTHON_OF_PLUGINS) || $(PYTHON) -m venv .venv-accelerators
	$(PYTHON_OF_PLUGINS) -m pip install --quiet --editable '.[test,tpu]'
	version=$$($(PYTHON_OF_PLUGINS) -c 'from importlib.metadata import version; print(version("jaxlib"))'); \
	  $(PYTHON_OF_PLUGINS) -m pip install --quiet --no-deps jax-cuda12-pjrt==$$version jax-cuda12-plugin==$$version
	$(PYTHON_OF_PLUGINS) -m pytest -q tests/lowering/test_topologies.py tests/test_examples.py -k 'topolog or tpu or h100'
	$(PYTHON_OF_PLUGINS) -m tests.accelerators --write

clean:
	rm -rf $(VENV) build dist site *.egg-info

# A stamp names the Python it was made with, so another PYTHON makes the environment anew.
$(RUN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "xfront needs Python 3.11 or newer; give one with make PYTHON=..."; exit 1; }
	@test -e $(RUN) || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing xfront and jaxlib into $(VENV); this takes half a minute, once."
	$(BIN)/python -m pip install --quiet --editable . $(JAXLIB:%='%')
	@touch $(RUN)

$(DEV): $(RUN)
	@echo "Installing what the tests need into $(VENV); this takes some minutes, once."
	$(BIN)/python -m pip install --quiet --editable '.[test]' $(JAXLIB:%='%')
	@touch $(DEV)

$(DOCS): $(RUN)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $(DOCS)

$(PLANTED): $(DEV)
	$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	@touch $(PLANTED)

$(LIBRARIES): pyproject.toml tests/ecosystem/requirements.txt tests/ecosystem/dependencies.txt
	$(PYTHON) -m venv --clear $(ECOSYSTEM)
	{ $(ECOSYSTEM)/bin/python -m pip install --quiet --editable . -r tests/ecosystem/dependencies.txt && \
	  $(ECOSYSTEM)/bin/python -m pip install --quiet --no-deps -r tests/ecosystem/requirements.txt; } || \
	  { echo "The libraries were not installed (from PyPI, which may be out of reach): nothing was tested."; exit 1; }
	@touch $(LIBRARIES)
