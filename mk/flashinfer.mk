# The data models of flashinfer-bench, which check what we write for it: in a
# virtual environment of their own that `make clean` keeps (about 40 MB). The
# package alone, without what it needs to run kernels (torch is gigabytes): the
# models need pydantic only. Without network their tests are skipped.
FLASHINFER = flashinfer-bench==0.1.2
PYDANTIC = pydantic==2.12.4
FLASHINFER_VENV = build/venv-flashinfer
FLASHINFER_READY = $(FLASHINFER_VENV)/ready-$(subst =,-,$(FLASHINFER)-$(PYDANTIC))

deps-flashinfer: $(FLASHINFER_READY)
$(FLASHINFER_READY): PIP = $(FLASHINFER_VENV)/bin/python -m pip install -q \
    --retries 0 --timeout 20 --disable-pip-version-check
$(FLASHINFER_READY):
	@echo "installing into $(FLASHINFER_VENV): $(FLASHINFER) $(PYDANTIC)"
	@mkdir -p build && { $(PYTHON3) -m venv $(FLASHINFER_VENV) && \
	    $(PIP) $(PYDANTIC) && $(PIP) --no-deps $(FLASHINFER); } \
	    >$(FLASHINFER_VENV).log 2>&1 || { tail -n 5 $(FLASHINFER_VENV).log; \
	    echo "deps-flashinfer: cannot install $(FLASHINFER) (no package index" \
	    "within reach?); $(FLASHINFER_VENV).log has all of it"; exit 1; }
	@rm -f $(FLASHINFER_VENV)/ready-* $(FLASHINFER_VENV).log && touch $@

.PHONY: deps-flashinfer
