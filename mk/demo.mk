# The demonstration: from a bare machine to a pack that answers. Two steps,
# since the flags of a build depend on what the first installs.

demo:
	@$(MAKE) --no-print-directory deps-run
	@$(MAKE) --no-print-directory -j2 demo-build
	@tools/demo $(B)

demo-build: $(B)/wavesmith $(B)/wavesmith-worker

.PHONY: demo demo-build
