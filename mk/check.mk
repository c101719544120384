# check: everything that is slower or stricter than `make test`.

CHECK = $(MAKE) --no-print-directory
check: deps
	tools/check-layers
	tools/check-headers
	tools/check-style
	$(CHECK) -j2 all && tools/check-symbols $(B)
	tools/check-docs
	tools/check-cuda-build
	$(CHECK) CC=clang -j2 all
	$(CHECK) SAN=address,undefined test
	$(CHECK) SAN=thread -j2 test-threads
	$(CHECK) test-slow

# Under the thread sanitiser: what runs threads of ours. Not what runs PoCL: its
# threads and its compiler are not instrumented.
THREADED = $(filter %/t_measure %/t_fleet %/reference/t_reference %/t_generate \
    %/t_wsrt_pick %/t_wire, $(TESTS))
test-threads: all $(THREADED)
	@BUILD=$(B) SAN=$(SAN) tests/run $(THREADED)

# Kill tests, valgrind on the short group, installation.
test-slow: all $(TESTS)
	@BUILD=$(B) LIMIT=900 JOBS=1 tests/run $(sort $(wildcard tests/slow/s_*.sh))

bench: all $(patsubst %.c,$(B)/%,$(wildcard tests/perf/perf_*.c))
	@for p in $(patsubst %.c,$(B)/%,$(wildcard tests/perf/perf_*.c)); do \
	    WS_ROOT=$$PWD WAVESMITH_WORKER=$$PWD/$(B)/wavesmith-worker $$p || exit 1; done

$(B)/tests/perf/%: $(B)/tests/perf/%.o $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: check test-threads test-slow bench
