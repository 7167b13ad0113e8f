# One layer: wheels for Lambda's platform, compiled so that a cold start does not.
LAYER_PYTHON ?= python3.13

build-%:
	$(LAYER_PYTHON) -m pip install --quiet --disable-pip-version-check --target $(ARTIFACTS_DIR)/python \
		--platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --only-binary=:all: \
		--python-version 3.13 --implementation cp --no-deps --no-compile -r requirements.txt
	$(LAYER_PYTHON) -m compileall -q --invalidation-mode unchecked-hash $(ARTIFACTS_DIR)/python
