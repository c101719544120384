# Comparisons with peers, which are Python programs: in a virtual environment
# that `make clean` keeps, for it is large and does not depend on a build.

PYTHON3 = /usr/bin/python3
VENV = build/venv
PEERS = tests/perf/peers
PEERS_READY = $(VENV)/ready-$(shell cksum < $(PEERS)/requirements.txt | \
    cut -d' ' -f1)

deps-peers: $(PEERS_READY)
$(PEERS_READY):
	@echo "installing into $(VENV): $$(grep -v '^#' \
	    $(PEERS)/requirements.txt | tr '\n' ' ')"
	@mkdir -p build && { $(PYTHON3) -m venv $(VENV) && \
	    $(VENV)/bin/python -m pip install -q --disable-pip-version-check \
	    -r $(PEERS)/requirements.txt; } >$(VENV).log 2>&1 || \
	    { tail -n 5 $(VENV).log; echo "deps-peers: cannot install the" \
	    "peers (no package index within reach?); $(VENV).log has all of it"; \
	    exit 1; }
	@rm -f $(VENV)/ready-* $(VENV).log && touch $@

# Times, memory and search quality beside those of peers. REPEATS of each, one
# in turn; the result is a page in Markdown. ONLY=space|search|reach: a part.
REPEATS = 7
SEEDS = 30
ONLY =
PEER_JOBS = 1
bench-peers: all $(B)/$(PEERS)/peer_space
	@$(MAKE) --no-print-directory deps-peers
	@$(PYTHON3) $(PEERS)/bench_peers.py --build $(B) --venv $(VENV) \
	    --repeats $(REPEATS) --seeds $(SEEDS) \
	    --jobs $(PEER_JOBS) $(if $(ONLY),--only $(ONLY))

# Named, so that make keeps it.
$(B)/$(PEERS)/peer_space: $(B)/$(PEERS)/peer_space.o

.PHONY: deps-peers bench-peers
