# `make demo` and `make test` need only Python 3.11 or newer with venv; they set up .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# The comparison comes last: it reads the runs of the others.
DEMOS := $(filter-out compare,$(basename $(notdir $(NOTEBOOKS)))) compare

.PHONY: demo test lab bench format clean

demo: $(VENV)/.demo
	@for name in $(DEMOS); do \
		echo "== biaslib run $$name -f params/$$name/demo.yaml"; \
		$(BIN)/biaslib run $$name -f params/$$name/demo.yaml || exit $$?; \
	done

test: $(VENV)/.test
	@echo "== format, lint, notebooks without outputs"
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/nbstripout --verify $(NOTEBOOKS)
	@echo "== tests"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

lab: $(VENV)/.lab
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

bench: $(VENV)/.demo
	$(BIN)/python benchmarks/pll_speed.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/weat_speed.py
	$(BIN)/python benchmarks/explorer_speed.py
	$(BIN)/python benchmarks/mbe_speed.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/nbstripout $(NOTEBOOKS)

clean:
	rm -rf $(VENV)

# A stamp an extra: installing again only when the requirements have changed.
$(VENV)/.demo: EXTRAS := demo,units,coref
$(VENV)/.test: EXTRAS := demo,units,coref,cluster,lab,test
$(VENV)/.lab: EXTRAS := demo,units,lab
$(VENV)/.demo $(VENV)/.test $(VENV)/.lab: pyproject.toml
	@echo "== setting up $(VENV) with biaslib[$(EXTRAS)] (once; a few minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@touch $@
