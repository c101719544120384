# check: everything that is slower or stricter than `make test`. Tests beside
# peers skip where those cannot be installed.

CHECK = $(MAKE) --no-print-directory
check: deps
	tools/check-layers
	tools/check-headers
	tools/check-style
	$(CHECK) -j2 all && tools/check-symbols $(B)
	tools/check-docs
	$(CHECK) integrity
	$(CHECK) CC=clang -j2 all
	$(CHECK) SAN=address,undefined test
	$(CHECK) SAN=thread -j2 test-threads
	-$(CHECK) deps-peers
	-$(CHECK) deps-triton
	$(CHECK) test-slow

# Under the thread sanitiser: what runs threads of ours. Not what runs PoCL: its
# threads and its compiler are not instrumented.
THREADED = $(filter $(foreach t,t_fs t_wire t_turn t_devwire t_isolate \
    t_measure t_measure_ahead t_measure_throughput t_measure_launch \
    t_measure_trusted t_fleet t_compare t_generate \
    t_gemm_reference t_wsrt_pick t_wsrt_pack t_wsrt_model t_wsrt_launch,%/$(t)) \
    %/src/reference/t_reference, $(TESTS))
test-threads: all $(THREADED)
	@BUILD=$(B) SAN=$(SAN) tests/run $(THREADED)

# Valgrind on the short group, every driver call that fails, installation; then
# the kill tests, alone.
KILLS = $(wildcard tests/slow/s_kill*.sh)
test-slow: all $(TESTS) $(B)/tests/perf/peers/peer_space
	@BUILD=$(B) LIMIT=900 tests/run $(filter-out $(KILLS),$(sort $(wildcard tests/slow/s_*.sh)))
	@BUILD=$(B) LIMIT=900 JOBS=1 tests/run $(KILLS)

# Every attack and every honest kernel of tests/integrity on the default device;
# the last line has both rates. INTEGRITY: arguments of the script.
integrity: all
	@BUILD=$(B) tests/integrity/run -o $(B)/tests/integrity $(INTEGRITY)

bench: all $(patsubst %.c,$(B)/%,$(wildcard tests/perf/perf_*.c))
	@for p in $(patsubst %.c,$(B)/%,$(wildcard tests/perf/perf_*.c)); do \
	    WS_ROOT=$$PWD WAVESMITH_WORKER=$$PWD/$(B)/wavesmith-worker $$p || exit 1; done

$(B)/tests/perf/%: $(B)/tests/perf/%.o $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: check test-threads test-slow bench integrity
