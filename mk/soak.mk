# soak: what takes hours and is not for every change.

# Coverage-guided fuzzing with the address sanitiser: each target for
# SECONDS_EACH, JOBS at a time, from tests/fuzz/corpus and what earlier runs
# found. build/fuzz/out keeps logs, what is new, and what failed.
SECONDS_EACH = 30
JOBS = $(shell nproc)
FUZZ_MAKE = $(MAKE) --no-print-directory CC="$(FUZZ_CC)" \
    SAN=fuzzer-no-link,address -j2
FUZZ_CC = clang
FUZZ_DIR = build/fuzz
fuzz:
	@$(FUZZ_MAKE) B=$(FUZZ_DIR) fuzz-programs
	@SECONDS_EACH=$(SECONDS_EACH) JOBS=$(JOBS) tests/fuzz/run $(FUZZ_DIR)

# A folder that runs on a machine with nothing but libc and bash:
#   SECONDS_EACH=1800 build/fuzz-portable/run build/fuzz-portable "$OUT"
# Its corpus is what tests/fuzz/corpus and earlier runs here hold.
PORTABLE = build/fuzz-portable
soak-fuzz-portable:
	@$(FUZZ_MAKE) B=build/fuzz-static fuzz-programs \
	    PKG_LIBS="-l:libfyaml.a -l:libjansson.a -l:libsqlite3.a -l:libz.a" \
	    FUZZ_LINK="-static-libstdc++ -static-libgcc -Wl,--strip-debug"
	@rm -rf $(PORTABLE) && mkdir -p $(PORTABLE)
	@cd build/fuzz-static && cp -r *.libfuzzer run lsan.supp seeds \
	    ../../$(PORTABLE)/
	@for n in $(FUZZ_NAMES); do \
	    [ ! -d $(FUZZ_DIR)/out/corpus/$$n ] || \
	        cp -rn $(FUZZ_DIR)/out/corpus/$$n $(PORTABLE)/seeds/; done
	@du -sh $(PORTABLE)

FUZZ_NAMES = $(patsubst fuzz_%,%,$(notdir $(basename $(FUZZ_C))))
fuzz-programs: $(foreach n,$(FUZZ_NAMES),$(B)/$(n).libfuzzer)
	@rm -rf $(B)/seeds && mkdir -p $(B)/seeds
	@cp -r $(foreach n,$(FUZZ_NAMES),tests/fuzz/corpus/$(n)) $(B)/seeds/
	@cp tests/fuzz/run tests/lsan.supp $(B)/
FUZZ_LINK =
define fuzz_program
$(B)/$(patsubst fuzz_%,%,$(notdir $(1))).libfuzzer: $(B)/$(1).o \
    $(B)/libwavesmith.a
	$$(call say,LD,$$@)
	$$(Q)$(CC)++ -fsanitize=fuzzer,address $$^ $$(LDLIBS) $$(FUZZ_LINK) -o $$@
endef
$(foreach c,$(FUZZ_C),$(eval $(call fuzz_program,$(basename $(c)))))

# What fuzzing found, into tests/fuzz/corpus: inputs that reach code that the
# corpus does not, at most CORPUS_FILES a target and 4 KB each.
CORPUS_FILES = 60
FUZZ_FOUND = $(FUZZ_DIR)/out/corpus
fuzz-merge:
	@$(FUZZ_MAKE) B=$(FUZZ_DIR) fuzz-programs
	@for n in $(FUZZ_NAMES); do \
	    tools/merge-corpus $(FUZZ_DIR)/$$n.libfuzzer $(FUZZ_FOUND)/$$n \
	        tests/fuzz/corpus/$$n $(CORPUS_FILES) || exit 1; done

# Fuzzing of SOAK_MINUTES a target, KILLS kills, and all tests with sanitizers,
# more mutations (WS_SOAK times as many) and memory that does not come back.
SOAK_MINUTES = 30
SOAK_KILLS = 500
soak: deps
	@$(MAKE) --no-print-directory fuzz \
	    SECONDS_EACH=$$(($(SOAK_MINUTES) * 60)) JOBS=$(JOBS)
	@$(MAKE) --no-print-directory -j2 all
	@BUILD=$(B) LIMIT=36000 JOBS=1 KILLS=$(SOAK_KILLS) tests/run \
	    $(sort $(wildcard tests/slow/s_kill*.sh))
	@WS_SOAK=20 LIMIT=7200 $(MAKE) --no-print-directory \
	    SAN=address,undefined test

.PHONY: fuzz fuzz-programs fuzz-merge soak soak-fuzz-portable
