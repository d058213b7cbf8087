# `make` says what there is. Everything runs from .venv, which `make setup` brings to what the lock files say.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

python := .venv/bin/python
ready := .venv/.ready
export PATH := $(CURDIR)/.tools/bin:$(CURDIR)/.venv/bin:$(PATH)

# Test files at once, one on each core; WORKERS=0 runs them one after another.
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

# What one run adds: make test ARGS="-k resolve", make lock ARGS=--upgrade
ARGS ?=

.PHONY: help
help: ## Say what each target does.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(ready) ## Make .venv with everything pinned; done again only when a lock file or pyproject.toml changes.

$(ready): requirements-dev.lock pyproject.toml sdk/pyproject.toml tools/set_up.py
	@echo "setting up .venv"
	@interpreter=$$(tools/find_python) && "$$interpreter" tools/set_up.py
	@touch $@

.PHONY: demo
demo: setup ## Show a gateway in front of an agent: start it, call tools, see what is let through and what is not.
	@$(python) -m interlock_gateway.demo $(ARGS)

.PHONY: test
test: setup tools ## Run all tests; at the end it says what could not be tested on this machine, and why.
	@$(python) -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: tools
tools: setup ## Put OPA, promtool and ripgrep into .tools/bin, npm packages beside it, where they are missing and can be had.
	@tools/install_tools

.PHONY: check
check: check-style check-types check-protos check-policies check-chart check-locks check-alerts ## Check style, types, protos, policies, chart and lock files, changing nothing.

.PHONY: check-style
check-style: setup
	@ruff check .
	@ruff format --check .

.PHONY: check-types
check-types: setup
	@$(python) -m mypy
	@MYPYPATH=$$(git ls-files 'tests/*.py' | xargs -n 1 dirname | sort -u | paste -sd: -):tools/chart:tools/image \
	  $(python) -m mypy $$(git ls-files 'tests/*.py' 'proto/*.py' 'tools/*.py' | grep -v 'tests/.*/conftest.py')

.PHONY: check-protos
check-protos: setup
	@buf lint
	@buf breaking --against proto/accepted/interlock-v1.binpb
	@$(python) proto/generate.py --check

.PHONY: check-policies
check-policies: setup tools
	@tools/check_policies

.PHONY: check-chart
check-chart: setup tools
	@tools/check_chart

.PHONY: check-alerts
check-alerts: tools
	@promtool check rules helm/interlock/files/alerts.yaml

.PHONY: check-locks
check-locks: setup
	@tools/lock --check

.PHONY: format
format: setup ## Put code and policies into their one form.
	@ruff check --fix-only .
	@ruff format .
	@if command -v opa >/dev/null; then opa fmt --write policies; fi

.PHONY: bench
bench: setup ## Measure speed and size, side by side with a direct call and a bare proxy; ends with 1 above what is wanted.
	@$(python) benchmarks --hold $(ARGS)

.PHONY: bench-mcp
bench-mcp: setup ## Measure MCP calls direct, through the gateway and through a FastMCP proxy.
	@$(python) benchmarks/mcp_calls.py $(ARGS)

.PHONY: faults
faults: setup ## Attack approvals, kill gateways, make previews stale, take work back: docs/reliability.md has the figures.
	@$(python) tests/faults $(ARGS)

.PHONY: image-root
image-root: setup ## Play the Dockerfile in a clean root, without a container engine, and try what comes out; takes root.
	@INTERLOCK_IMAGE_ROOT=1 $(python) -m pytest -s -p no:xdist tests/image/test_clean_root.py $(ARGS)

.PHONY: subset
subset: setup tools ## Run OPA's own cases, and write what Rego policies may use: gateway/interlock_gateway/policy/checks/subset.json.
	@$(python) tests/conformance/make_subset.py

.PHONY: corpus
corpus: setup ## Play sessions of agents through the policies: how often they let harm through, and bother for nothing.
	@$(python) tests/corpus/corpus_table.py

.PHONY: parity
parity: setup tools ## Let both policy engines decide 100,000 generated inputs, and say where they differ.
	@$(python) tests/parity/run_parity.py $(ARGS)

.PHONY: fuzz
fuzz: setup ## Throw damaged scripts, paths, URLs and SQL at the extractors of facts; ARGS="--runs 200000" for longer.
	@$(python) tests/fuzz/fuzz_facts.py $(ARGS)

.PHONY: operations
operations: setup ## Write docs/operations.md and the dashboard again: every metric, alert, log event and configuration key.
	@$(python) tests/observability/operations_document.py
	@$(python) tests/observability/dashboard_json.py

.PHONY: picture
picture: setup tools ## Draw docs/images/dashboard.svg from what a real Prometheus scrapes of a run of the demonstration.
	@$(python) tests/observability/dashboard_picture.py $(ARGS)

.PHONY: access
access: setup ## Write docs/access.md again, after a row of tests/integration/gateway/access.yaml has changed.
	@$(python) tests/integration/gateway/access_document.py

.PHONY: reference
reference: setup ## Write docs/sdk-reference.md again, after docstrings or names of the SDK have changed.
	@$(python) tests/unit/sdk/reference_document.py

.PHONY: requirements
requirements: setup ## Print which requirement is claimed by which tests, and which by none.
	@$(python) tests/house/requirement_claims.py

.PHONY: protos
protos: setup ## Write the Python stubs again after a proto has changed.
	@$(python) proto/generate.py

.PHONY: chart
chart: setup ## Write the chart's README and the schema of its values anew, after values or the gateway's settings have changed.
	@$(python) tools/chart/write_documents.py

.PHONY: accept-protos
accept-protos: setup ## Take the protos as the contract that later ones must not break; say in CHANGELOG.md what broke.
	@mkdir -p proto/accepted
	@buf build --exclude-source-info -o proto/accepted/interlock-v1.binpb

.PHONY: lock
lock: setup ## Write the lock files again after a dependency has changed; ARGS=--upgrade takes the newest versions.
	@tools/lock $(ARGS)

.PHONY: clean
clean: ## Remove everything that these targets made.
	rm -rf .venv .tools .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
