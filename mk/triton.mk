# Triton, for tests that compile: in a virtual environment of its own that
# `make clean` keeps. Without torch, which it does not need to compile. Its
# version is that of tests/data/triton, whose bytes are compared.
# numpy is for its interpreter, by which tests run kernels; later versions of
# numpy do not make numbers of arrays with one element, which it needs.
TRITON = triton==3.6.0
TRITON_NUMPY = numpy==2.2.6
TRITON_VENV = build/venv-triton
TRITON_READY = $(TRITON_VENV)/ready-$(subst =,-,$(TRITON)-$(TRITON_NUMPY))

deps-triton: $(TRITON_READY)
$(TRITON_READY):
	@echo "installing into $(TRITON_VENV): $(TRITON) $(TRITON_NUMPY)"
	@mkdir -p build && { $(PYTHON3) -m venv $(TRITON_VENV) && \
	    $(TRITON_VENV)/bin/python -m pip install -q \
	    --disable-pip-version-check --no-deps $(TRITON) $(TRITON_NUMPY); } \
	    >$(TRITON_VENV).log 2>&1 || { tail -n 5 $(TRITON_VENV).log; \
	    echo "deps-triton: cannot install $(TRITON) (no package index within" \
	    "reach?); $(TRITON_VENV).log has all of it"; exit 1; }
	@rm -f $(TRITON_VENV).log && touch $@

.PHONY: deps-triton
