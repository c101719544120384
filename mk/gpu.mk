# A build that runs on another machine of the same kind of processor: the
# libraries of the distribution linked in, so that only libc is needed there.
# tests/gpu/ runs it on a machine with a GPU.
portable:
	$(MAKE) --no-print-directory -j2 B=build/portable \
	    PKG_LIBS="-l:libfyaml.a -l:libjansson.a -l:libsqlite3.a -l:libz.a" \
	    build/portable/wavesmith build/portable/wavesmith-worker

.PHONY: portable
