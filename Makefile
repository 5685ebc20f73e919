# What a fresh machine needs to try, test and measure spec-console: Python >= 3.11 with venv, make, git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# More than cores: much of the time of a test is waiting for a server, a link or a screen.
WORKERS ?= 3

.PHONY: demo test check bench screenshots nccl-check format clean

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,rig]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/spec-console --demo

# A crowd on every core, then, whatever came of it, what needs the machine to itself. Tests drive
# real servers, links and signals beside each other on few cores: what failed is run once more with
# nothing beside it and has to pass there; the first report stands above.
# No word of make's own in here: make runs such a line even when it is asked only to print it.
test: $(VENV)/.dev
	@failed=; \
	$(BIN)/python -m pytest -m "not alone" -n $(WORKERS) --dist loadgroup || failed=1; \
	$(BIN)/python -m pytest -m alone || failed=1; \
	[ -z "$$failed" ] || { \
		echo "== once more, one at a time: what failed above =="; \
		$(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

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

# The newest wheel, or VERSIONS="2.27.7 2.32.3"; wheels (350 MB each) stay where NCCL_WHEELS says.
VERSIONS ?=
nccl-check: $(VENV)/.dev
	$(BIN)/python -m tests.nccl.nccl_check $(VERSIONS)

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
