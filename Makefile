# Everything that a person or CI runs. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON := .venv/bin/python
SAM := .venv-sam/bin/sam
LOCK := infra/local/requirements.txt
SAM_LOCK := infra/sam-requirements.txt
LAYERS := runtime bedrock documents
TEMPLATES := template.yaml infra/storage.yaml infra/observability.yaml

export SAM_CLI_TELEMETRY := 0

# What the user gives on the command line reaches the recipes as environment variables, letter for
# letter: quotes, $ and spaces stay what they are. A variable that is only in the environment (PORT,
# NAME) means something else there and is ignored.
define taken
given_$(1) := $$(filter command,$$(origin $(1)))
override $(1) := $$(if $$(given_$(1)),$$(value $(1)))
export $(1)
endef
$(foreach name,DOCS QUESTION BUDGET PORT NAME MODEL_SERVER MODEL PARAMETERS DIR,$(eval $(call taken,$(name))))

# $(call option,VARIABLE,--option): adds the option to the shell's arguments when it was given
option = $(if $(given_$(1)),set -- "$$@" $(2) "$$$(1)";)

.PHONY: help
help: ## show this list
	@echo 'make run [DOCS=folder] [QUESTION="..."] [BUDGET=dollars]   answers one question on this computer'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: environment sam-environment
environment:
	@infra/environment.sh .venv $(LOCK) editable
sam-environment:
	@infra/environment.sh .venv-sam $(SAM_LOCK)

# --- Run ------------------------------------------------------------------------------------------

.PHONY: run up
run: environment ## answer a question: DOCS, QUESTION, BUDGET, MODEL_SERVER, MODEL
	@set --; $(call option,DOCS,--documents) $(call option,QUESTION,--question) \
	$(call option,BUDGET,--budget) $(call option,MODEL_SERVER,--model-server) \
	$(call option,MODEL,--model) exec .venv/bin/autoops run "$$@"
up: environment ## keep the laptop's AWS running: PORT, MODEL_SERVER, MODEL
	@set --; $(call option,PORT,--port) $(call option,MODEL_SERVER,--model-server) \
	$(call option,MODEL,--model) exec .venv/bin/autoops up "$$@"

# --- Test -----------------------------------------------------------------------------------------

# Each run of tests has a folder of its own for what it leaves
pytest = own=$$(mktemp -d "$${TMPDIR:-/tmp}/autoops.XXXXXX"); trap 'rm -rf "$$own"' EXIT; \
	TMPDIR="$$own" $(PYTHON) -m pytest

.PHONY: test check format lint types imports templates machines verify retries prove bench conformance
test: environment ## run all tests (minutes)
	@$(pytest) -n 2

check: environment sam-environment ## everything that has to hold: format, lint, types, imports, templates, machines, tests
	@$(MAKE) format lint types imports templates machines
	@$(pytest) -n 2 --ignore tests/architecture

format: environment
	@echo "check: format"; $(PYTHON) -m ruff format --quiet --check --diff .
lint: environment
	@echo "check: lint"; $(PYTHON) -m ruff check --quiet .
types: environment
	@echo "check: types"; $(PYTHON) -m mypy --no-error-summary
imports: environment
	@echo "check: import direction"; said=$$(.venv/bin/lint-imports --no-cache 2>&1) \
	|| { echo "$$said"; exit 1; }
templates: sam-environment
	@echo "check: templates"; for template in $(TEMPLATES); do \
	AWS_DEFAULT_REGION=us-east-1 $(SAM) validate --lint --template "$$template" >/dev/null; done
machines: environment
	@echo "check: state machines, names, layers"; $(pytest) -n 2 tests/architecture
	@said=$$(.venv/bin/autoops verify) || { echo "$$said"; exit 1; }

verify: environment ## prove that no machine spends unguarded, and what each can cost at most
	@.venv/bin/autoops verify

retries: environment ## how often each model call is made at most, and its declared limit
	@.venv/bin/autoops verify --retries

prove: environment ## everything exhaustive: fault points, kill loops, races (up to an hour)
	@if ls tests/prove/test_*.py >/dev/null 2>&1; then $(pytest) tests/prove; \
	else echo "tests/prove holds no tests"; fi
conformance: environment ## hold the engine against behaviour recorded on AWS: DIR=../shared/conformance
	@$(PYTHON) -m local.stepfunctions.conformance "$${DIR:-../shared/conformance}" \
	--language JSONata --language independent
bench: environment ## benchmarks; each prints a table
	@for script in tests/benchmarks/*.py; do PYTHONPATH=tests $(PYTHON) "$$script"; done

# --- Build and deploy -----------------------------------------------------------------------------

.PHONY: build deploy
build: environment sam-environment ## build layers and functions into .aws-sam
	@infra/build.sh
	@$(pytest) tests/architecture/test_build.py
deploy: build ## deploy to your AWS account, asks first: PARAMETERS="ChatModel=... AlarmEmail=..."
	@$(SAM) deploy $(if $(given_PARAMETERS),--parameter-overrides $$PARAMETERS)

# --- Grow -----------------------------------------------------------------------------------------

.PHONY: step workflow docs lock clean
step: environment ## write a new step: NAME=grade_answer
	@$(PYTHON) -m local.scaffold step "$$NAME"
workflow: environment ## write a new workflow: NAME=grade-answers
	@$(PYTHON) -m local.scaffold workflow "$$NAME"
docs: environment ## draw the workflows' pictures
	@$(PYTHON) -m local.graph

compile = .venv-sam/bin/uv pip compile --quiet --no-header --no-annotate --no-emit-index-url
for_lambda = $(compile) --python-version 3.13 --python-platform aarch64-manylinux_2_28
lock: sam-environment ## resolve all dependencies anew, after a change in pyproject.toml
	@$(compile) --universal --python-version 3.11 --group dev -o $(LOCK)
	@for layer in $(LAYERS); do \
	$(for_lambda) --group $$layer -c $(LOCK) -o infra/layers/$$layer/requirements.txt; done
	@cd infra/layers; for layer in $(filter-out runtime,$(LAYERS)); do \
	{ grep -vxFf runtime/requirements.txt $$layer/requirements.txt || true; } >$$layer/new; \
	mv $$layer/new $$layer/requirements.txt; done
	@$(compile) --universal --python-version 3.11 --group sam -o $(SAM_LOCK)

clean: ## remove environments, builds, caches and local runs
	@rm -rf .venv .venv-sam .aws-sam .autoops .cache .import_linter_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +
