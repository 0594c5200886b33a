# The front door. Every target sets up what it needs: a virtual environment, and for tests the servers they start.

# Sources are compiled once, not in each of the many processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILED := $(VENV)/.compiled
# How many test processes, for people and for CI alike: the suite mostly waits, for processes, leases and servers.
JOBS ?= 6
# What to run of the tests: ENGINE is any scheme of an engine, CHAPTER one of the contract, ARGS goes to pytest.
ENGINE ?=
CHAPTER ?=
ARGS ?=
SELECT = $(if $(ENGINE),--engine $(ENGINE)) $(if $(CHAPTER),--chapter $(CHAPTER)) $(ARGS)
PYTEST = $(BIN)/python -m pytest -n $(JOBS) $(SELECT)
# What needs the machine to itself runs by itself. 5: nothing of what was asked for is of this kind.
NONE = || [ $$? = 5 ]
ALONE = $(BIN)/python -m pytest -m calm $(SELECT) $(NONE)

.PHONY: help demo unit test test-all test-slow soak endure pythons mutants check gen format bench clean

help:
	@echo "make demo       watch locks fail without a fence, and hold with one (20 s)"
	@echo "make unit       what needs no server (under 30 s)"
	@echo "make test       what to run before each commit: unit tests, the whole contract on the embedded engines,"
	@echo "                and what can differ on every real server (under 5 min)"
	@echo "make test ENGINE=redis    everything about one engine, by any of its schemes (under 5 min);"
	@echo "                also CHAPTER=waiting for one chapter of the contract, ARGS=… for pytest"
	@echo "make test-all   all the rest: variants, ensembles, what needs the machine to itself (under 20 min)"
	@echo "make test-slow  make test once more, with the twenty slowest tests and what their time went into"
	@echo "make soak       random adversaries with ever new seeds: MINUTES=10 (0: one round), SEED=…, ENGINE=…"
	@echo "make endure     a million grants, and more that no test has the time for: GRANTS=, CANCELLATIONS=, KILLS=, ENGINE=…"
	@echo "make pythons    unit tests on every other Python from 3.12 on that is found here (2 min each)"
	@echo "make mutants    plant faults, and see which tests find them: TARGET=redis, fences/redis, session (hours in all)"
	@echo "make check      lint, types, layers, generated twins, public API (1 min)"
	@echo "make bench      speed beside the peers and the limit"
	@echo "make gen        write the blocking twins of the asynchronous sources"
	@echo "make format     format the sources"

$(READY): pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh
	@touch $(READY)

# What pytest makes of the tests is kept beside them: once, and not by each test process at the same time.
$(COMPILED): $(READY)
	@echo "compiling the tests (once)"
	@$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 || true
	@touch $(COMPILED)

demo: $(READY)
	@$(BIN)/python -m fencepost.demo

unit: $(COMPILED)
	$(BIN)/python -m pytest -n 2 -m unit --ignore tests/contract $(ARGS)

test: $(COMPILED)
	@sh tools/servers.sh
ifeq ($(ENGINE)$(CHAPTER),)
	$(PYTEST) -m "not slow and not calm"
else
	$(PYTEST) -m "not calm" $(NONE)
	$(ALONE)
endif

# Whatever `make test` leaves out.
test-all: $(COMPILED)
	@sh tools/servers.sh
	$(PYTEST) -m "slow and not calm"
	$(ALONE)

test-slow: $(COMPILED)
	@sh tools/servers.sh
	$(PYTEST) -m "not slow and not calm" --slowest 20

MINUTES ?= 10
SEED ?=

soak: $(READY)
	@sh tools/servers.sh
	$(BIN)/python tools/soak.py --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) \
		$(if $(ENGINE),--engine $(ENGINE))

GRANTS ?= 0
CANCELLATIONS ?= 0
KILLS ?= 0

endure: $(READY)
	@sh tools/servers.sh
	$(BIN)/python tools/endure.py --grants $(GRANTS) --cancellations $(CANCELLATIONS) --kills $(KILLS) \
		$(if $(SEED),--seed $(SEED)) $(ENGINE)

# Unit tests on the other Pythons that are here, each in an environment of its own.
pythons:
	@MAKE="$(MAKE)" sh tools/pythons.sh

TARGET ?=

mutants: $(READY)
	@sh tools/servers.sh
	$(BIN)/python tools/mutants.py $(TARGET) $(ARGS)

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/unasync.py --check
	$(BIN)/python tools/public_api.py --check

gen: $(READY)
	$(BIN)/python tools/unasync.py
	$(BIN)/python tools/public_api.py

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python tools/unasync.py

# One place after another; `make bench PLACE=redis` for one.
PLACE ?= $(notdir $(patsubst %/__init__.py,%,$(wildcard benchmarks/*/__init__.py)))

bench: $(READY)
	@sh tools/servers.sh
	@for place in $(PLACE); do $(BIN)/python -m benchmarks $$place $(ARGS) || exit 1; done

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
