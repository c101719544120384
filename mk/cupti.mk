# CUPTI, for the test of the table of metrics: its host interface needs no GPU.
# Only where the toolkit is not installed; in a virtual environment of its own
# that `make clean` keeps (about 30 MB). Without network the test is skipped.
CUPTI = nvidia-cuda-cupti==13.0.85
CUPTI_VENV = build/venv-cupti
CUPTI_READY = $(CUPTI_VENV)/ready-$(subst =,-,$(CUPTI))

deps-cupti:
	@if [ ! -e $(CUPTI_READY) ] && \
	    ! ldconfig -p 2>/dev/null | grep -q 'libcupti\.so\.13' && \
	    [ ! -e /usr/local/cuda/lib64/libcupti.so.13 ]; then \
	    $(MAKE) --no-print-directory $(CUPTI_READY); fi
$(CUPTI_READY):
	@echo "installing into $(CUPTI_VENV): $(CUPTI)"
	@mkdir -p build && { $(PYTHON3) -m venv $(CUPTI_VENV) && \
	    $(CUPTI_VENV)/bin/python -m pip install -q --retries 0 --timeout 20 \
	    --disable-pip-version-check --no-deps $(CUPTI); } \
	    >$(CUPTI_VENV).log 2>&1 || { tail -n 5 $(CUPTI_VENV).log; \
	    echo "deps-cupti: cannot install $(CUPTI) (no package index within" \
	    "reach?); $(CUPTI_VENV).log has all of it"; exit 1; }
	@rm -f $(CUPTI_VENV).log && touch $@

# Their header of counters includes one of C++.
$(B)/tests/conformance/t_cuda_abi.o: CPPFLAGS += -Itests/conformance/shim \
    -idirafter /usr/local/cuda/include

.PHONY: deps-cupti
