# One layer: wheels for Lambda's platform, compiled so that a cold start does not.
# The names of files in compiled code are those of Lambda, so that builds are alike everywhere.
LAYER_PYTHON ?= python3.13

build-%:
	$(LAYER_PYTHON) -m pip install -qq --disable-pip-version-check --no-input --target $(ARTIFACTS_DIR)/python \
		--platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --only-binary=:all: \
		--python-version 3.13 --implementation cp --no-deps --no-compile -r requirements.txt
	rm -rf $(ARTIFACTS_DIR)/python/bin
	$(LAYER_PYTHON) -m compileall -q --invalidation-mode unchecked-hash \
		-s $(ARTIFACTS_DIR) -p /opt $(ARTIFACTS_DIR)
