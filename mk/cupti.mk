# Two parts of the CUDA toolkit that need no GPU: CUPTI, whose host interface is
# asked about the table of metrics, and nvdisasm, for the instructions of a
# cubin. Each only where the toolkit is not installed; in a virtual environment
# of their own that `make clean` keeps (about 40 MB). Without network their
# tests are skipped.
CUPTI = nvidia-cuda-cupti==13.0.85
NVDISASM = nvidia-cuda-nvdisasm==13.2.51
CUPTI_VENV = build/venv-cupti
cupti_ready = $(CUPTI_VENV)/ready-$(subst =,-,$(1))

deps-cupti:
	@if [ ! -e $(call cupti_ready,$(CUPTI)) ] && \
	    ! ldconfig -p 2>/dev/null | grep -q 'libcupti\.so\.13' && \
	    [ ! -e /usr/local/cuda/lib64/libcupti.so.13 ]; then \
	    $(MAKE) --no-print-directory $(call cupti_ready,$(CUPTI)); fi
	@if [ ! -e $(call cupti_ready,$(NVDISASM)) ] && \
	    ! command -v nvdisasm >/dev/null && \
	    [ ! -e /usr/local/cuda/bin/nvdisasm ]; then \
	    $(MAKE) --no-print-directory $(call cupti_ready,$(NVDISASM)); fi
$(call cupti_ready,$(CUPTI)): WHAT = $(CUPTI)
$(call cupti_ready,$(NVDISASM)): WHAT = $(NVDISASM)
$(call cupti_ready,$(CUPTI)) $(call cupti_ready,$(NVDISASM)):
	@echo "installing into $(CUPTI_VENV): $(WHAT)"
	@mkdir -p build && { $(PYTHON3) -m venv $(CUPTI_VENV) && \
	    $(CUPTI_VENV)/bin/python -m pip install -q --retries 0 --timeout 20 \
	    --disable-pip-version-check --no-deps $(WHAT); } \
	    >$(CUPTI_VENV).log 2>&1 || { tail -n 5 $(CUPTI_VENV).log; \
	    echo "deps-cupti: cannot install $(WHAT) (no package index within" \
	    "reach?); $(CUPTI_VENV).log has all of it"; exit 1; }
	@rm -f $(CUPTI_VENV).log && touch $@

# Their header of counters includes one of C++.
$(B)/tests/conformance/t_cuda_abi.o: CPPFLAGS += -Itests/conformance/shim \
    -idirafter /usr/local/cuda/include

.PHONY: deps-cupti
