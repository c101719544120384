# Wavesmith. GNU make; sources by wildcard, families by folder name.
#
#   make            everything          make demo     install, build, tune GEMM
#   make test       fast tests          make check    sanitizers and all checks
#   make bench      figures             make install  PREFIX=/usr/local
#   make integrity  attacks and honest kernels before the judge
#   make bench-peers  beside peers      make soak     hours, not minutes
#   make deps       packages of the distribution (root)
#   make test SAN=address,undefined     the same with sanitizers
#   make CC=clang   another compiler; every variant has its own folder
#   make V=1        shows the commands

CC = gcc
AR = ar
PREFIX = /usr/local
DESTDIR =
SAN =
WERROR = -Werror
OPT = -O2
# Folders of members that are left out, as src/llm/http
WITHOUT =
# V=1 shows the commands
Q = $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)  $(2)')

VERSION := $(shell sed -n 's/^\#define WS_VERSION "\(.*\)"/\1/p' \
    include/wavesmith/wavesmith.h)
SOMAJOR := 0
comma := ,
VARIANT := $(notdir $(CC))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if \
    $(EXTRA),-extra)
B := build/$(VARIANT)
G := $(B)/gen

PKGS := libfyaml jansson sqlite3 zlib libcurl
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wmissing-prototypes \
    -Wstrict-prototypes -Wpointer-arith -Wwrite-strings -Wundef $(WERROR)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
    -fno-sanitize-recover=all)
CPPFLAGS := -D_GNU_SOURCE -Iinclude -Isrc -Iruntime -Iworker -I. $(PKG_CFLAGS)
CFLAGS = -std=c11 -g $(OPT) $(WARN) $(SANFLAGS) $(EXTRA)
# What does not talk to a model does not load what that takes.
LDLIBS := -Wl,--as-needed $(PKG_LIBS) -ldl -lpthread -lm
LDFLAGS := $(SANFLAGS) $(EXTRA)

notest = $(filter-out $(foreach d,$(sort $(dir $(1))),$(d)t_%.c $(d)fuzz_%.c),$(1))

# Families: <family folder>:<symbol prefix>. A member is a folder.
DEVICES := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard src/device/*/device_*.c)))))
STRATEGIES := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard src/search/*/search_*.c)))))
XFORMS := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard src/xform/*/xform_*.c)))))
LLMS := $(sort $(notdir $(patsubst %/,%,$(dir $(filter-out $(WITHOUT:=/%), \
    $(wildcard src/llm/*/llm_*.c))))))
OPS := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard ops/*/reference.c)))))

SRC_LIB := $(filter-out $(WITHOUT:=/%), \
    $(call notest,$(wildcard src/*/*.c src/*/*/*.c)))
SRC_RT := $(call notest,$(wildcard runtime/*.c))
SRC_OPS := $(wildcard ops/*/reference.c)
SRC_WORKER := $(call notest,$(wildcard worker/*.c))
SRC_CLI := $(call notest,$(wildcard cli/*.c))
GEN_C := $(G)/table_device.c $(G)/table_search.c $(G)/table_reference.c \
    $(G)/table_xform.c $(G)/table_llm.c

obj = $(patsubst %.c,$(B)/%.o,$(1))
OBJ_RT := $(call obj,$(SRC_RT))
OBJ_LIB := $(call obj,$(SRC_LIB)) $(OBJ_RT) $(GEN_C:.c=.o)
OBJ_OPS := $(call obj,$(SRC_OPS))
OBJ_WORKER := $(call obj,$(SRC_WORKER))
OBJ_CLI := $(call obj,$(SRC_CLI))

TESTS_C := $(wildcard src/*/t_*.c src/*/*/t_*.c runtime/t_*.c cli/t_*.c \
    worker/t_*.c ops/*/t_*.c tests/*/t_*.c)
TESTS := $(patsubst %.c,$(B)/%,$(TESTS_C))
TESTS_SH := $(wildcard tests/*/t_*.sh)
FUZZ_C := $(wildcard src/*/fuzz_*.c runtime/fuzz_*.c)
FUZZ := $(patsubst %.c,$(B)/%,$(FUZZ_C))

all: $(B)/wavesmith $(B)/wavesmith-worker $(B)/libwavesmith.so \
    $(B)/libwsrt.a $(B)/libwsrt.so

# --- generated tables ------------------------------------------------------
# $(1) type, $(2) symbol prefix, $(3) members, $(4) table name
define table
	@mkdir -p $(G)
	@{ echo '/* generated from the folder names of the family */'; \
	echo '#include "$(5)"'; \
	$(foreach m,$(3),echo 'extern const $(1) $(2)$(m);';) \
	echo 'const $(1) *const $(4)[] = {'; \
	$(foreach m,$(3),echo '    &$(2)$(m),';) \
	echo '    NULL};'; } > $@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@
endef

FORCE:
$(G)/table_device.c: FORCE
	$(call table,struct ws__device_ops,ws__device_,$(DEVICES),ws__device_table,device/device.h)
$(G)/table_search.c: FORCE
	$(call table,struct ws__strategy_ops,ws__search_,$(STRATEGIES),ws__strategy_table,search/search.h)
$(G)/table_xform.c: FORCE
	$(call table,struct ws__xform_ops,ws__xform_,$(XFORMS),ws__xform_table,xform/xform.h)
$(G)/table_llm.c: FORCE
	$(call table,struct ws__llm_ops,ws__llm_,$(LLMS),ws__llm_table,llm/llm.h)
$(G)/table_reference.c: FORCE
	$(call table,struct ws__native_reference,ws__reference_,$(OPS),ws__native_table,reference/reference.h)

# --- compile and link ------------------------------------------------------
$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@
$(G)/%.o: $(G)/%.c
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@
# Arithmetic over whole tensors: let the compiler use vectors, but keep every
# rounding (the bytes of inputs must not depend on flags).
$(OBJ_OPS) $(B)/src/reference/%.o $(B)/src/core/dtype.o: \
    OPT = -O3 -ffp-contract=off -fno-math-errno

$(B)/libwavesmith.a: $(OBJ_LIB) $(OBJ_OPS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^
$(B)/libwavesmith.so: $(OBJ_LIB) $(OBJ_OPS)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libwavesmith.so.$(SOMAJOR) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(B)/libwsrt.a: $(OBJ_RT)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^
$(B)/libwsrt.so: $(OBJ_RT)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libwsrt.so.$(SOMAJOR) $(LDFLAGS) $^ -lm -o $@
$(B)/wavesmith: $(OBJ_CLI) $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(B)/wavesmith-worker: $(OBJ_WORKER) $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# --- tests -----------------------------------------------------------------
$(TESTS): $(B)/%: $(B)/%.o $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -lcmocka -o $@
# Without a fuzzing engine the corpus runs as a plain test.
$(FUZZ): $(B)/%: $(B)/%.o $(B)/tests/fuzz/main.o $(B)/libwavesmith.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# One test alone: make T=src/expr/t_expr t
t: $(B)/$(T)
	$(B)/$(T)

# What judges kernels or plays searches on recordings, and runs no code of ours
# that other tests do not: once is enough, not under each sanitizer too.
ONCE = t_kernels t_cuda_kernels t_tune_recordings t_strategy t_plan_forms \
    t_integrity.sh t_impossible.sh t_op_audit.sh t_practice.sh t_xform.sh \
    t_init_practice.sh t_interchange.sh t_flashinfer.sh
WATCHED = $(if $(SAN),$(filter-out $(ONCE:%=\%/%),$(1)),$(1))

# Two steps, since the flags of a build depend on what deps installs.
test:
	@$(MAKE) --no-print-directory deps
	-@$(MAKE) --no-print-directory deps-cupti
	-@$(MAKE) --no-print-directory deps-flashinfer
	@$(MAKE) --no-print-directory -j2 test-build
	@BUILD=$(B) SAN=$(SAN) tests/run $(call WATCHED,$(TESTS) $(FUZZ) $(TESTS_SH))
test-build: all $(TESTS) $(FUZZ)

# What a helper touches alone: make objects of one folder, e.g. make o D=src/expr
o: $(call obj,$(call notest,$(wildcard $(D)/*.c $(D)/*/*.c)))

include $(wildcard mk/*.mk)

clean:
	rm -rf $(filter-out build/venv build/venv-triton build/venv-cupti \
	    build/venv-flashinfer,$(wildcard build/*))

.PHONY: all test test-build t o clean FORCE
-include $(shell find $(B) -name '*.d' 2>/dev/null)
