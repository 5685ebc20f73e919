# What a fresh machine needs to try, test and measure spec-console: Python >= 3.11 with venv, make, git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that measure, share one port or one machine-wide thing run one at a time in an xdist group.
WORKERS ?= 2
TESTS ?= tests

.PHONY: demo test again check bench screenshots nccl-check format clean

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,rig]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/spec-console --demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(TESTS) || $(MAKE) again

# Tests drive real servers, links and signals beside each other on few cores. What failed in the
# crowd is run once more by itself, and has to pass there; the first report stands above.
again:
	@echo "== once more, one at a time: what failed above =="
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none $(TESTS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks

screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.samples.screenshots

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
