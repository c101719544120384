# A build that runs on another machine of the same kind of processor: the
# libraries of the distribution linked in, so that only libc is needed there.
# tests/gpu/ runs it on a machine with a GPU; its programs, and the device tests
# with the library that they need, come along.
GPU_C = $(wildcard tests/gpu/*.c)
GPU_TESTS = tests/conformance/t_device
portable:
	$(MAKE) --no-print-directory -j2 B=build/portable WITHOUT=src/llm/http \
	    PKG_LIBS="-l:libfyaml.a -l:libjansson.a -l:libsqlite3.a -l:libz.a" \
	    $(patsubst %,build/portable/%,wavesmith wavesmith-worker libwsrt.a \
	        $(GPU_C:.c=) $(GPU_TESTS))
	cp -L $$($(CC) -print-file-name=libcmocka.so.0) build/portable/

# libclang with what it loads, for machines that do not have it: tests/gpu/lib.sh
# unpacks it there (34 MB instead of 51).
portable-clang: build/portable/clang.tar.xz
build/portable/clang.tar.xz: tests/gpu/pack_clang
	$(call say,XZ,$@)
	@CC="$(CC)" tests/gpu/pack_clang $@

$(B)/tests/gpu/%: $(B)/tests/gpu/%.o $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# A user's program: the runtime and nothing else.
$(B)/tests/gpu/launch: $(B)/tests/gpu/launch.o $(B)/libwsrt.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ -ldl -lm -o $@
test-build: $(B)/tests/gpu/launch

.PHONY: portable portable-clang
