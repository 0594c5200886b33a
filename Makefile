# The front door. Every target sets up what it needs: a virtual environment, and for `test` the servers it starts.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# How many test processes: the suite is mostly waiting, for leases to end and processes to die.
JOBS ?= 4

.PHONY: help demo test check gen format bench clean

help:
	@echo "make demo    watch locks fail without a fence, and hold with one (20 s)"
	@echo "make test    the whole suite, on real processes"
	@echo "make check   lint, types, layers, generated twins, public API"
	@echo "make bench   speed beside the peers and the limit"
	@echo "make gen     write the blocking twins of the asynchronous sources"
	@echo "make format  format the sources"

$(READY): pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python -m fencepost.demo

test: $(READY)
	@sh tools/servers.sh
	$(BIN)/python -m pytest -n $(JOBS) -m "not calm" $(ARGS)
	@# 5: nothing of what was asked for needs the machine to itself.
	$(BIN)/python -m pytest -m calm $(ARGS) || [ $$? = 5 ]

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
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
