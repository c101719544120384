# A CUDA driver, compiler, NVML and CUPTI without a GPU, for tests that put this
# folder on the library path (tests/fakecuda/fake.h). Without sanitizers: they
# run kernels on stacks of their own and catch what those do.
FAKE := $(B)/tests/fakecuda
FAKE_LIBS := $(FAKE)/libcuda.so.1 $(FAKE)/libnvrtc.so.13 $(FAKE)/libnvidia-ml.so.1 \
    $(FAKE)/libcupti.so.13
FAKE_COMMON := $(FAKE)/fake_state.o $(FAKE)/fake_exec.o $(FAKE)/fake_text.o \
    $(FAKE)/fake_build.o
$(FAKE)/%.o: SANFLAGS =
$(FAKE)/fake_build.o: CPPFLAGS += -DFAKE_SHIM='"$(CURDIR)/tests/fakecuda/fake_shim.h"'

$(FAKE)/libcuda.so.1: $(FAKE)/fake_cuda.o $(FAKE)/fake_memory.o \
    $(FAKE)/fake_stream.o $(FAKE)/fake_module.o $(FAKE_COMMON)
$(FAKE)/libnvrtc.so.13: $(FAKE)/fake_nvrtc.o $(FAKE_COMMON)
$(FAKE)/libnvidia-ml.so.1: $(FAKE)/fake_nvml.o $(FAKE)/fake_state.o
$(FAKE)/libcupti.so.13: $(FAKE)/fake_cupti.o $(FAKE)/fake_state.o
$(FAKE_LIBS):
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,-z,defs $^ -ldl -o $@

# What runs on them, also when it is built alone.
$(filter %/t_device %/t_kernels %/t_cuda_faults,$(TESTS)): | $(FAKE_LIBS)
test-build: $(FAKE_LIBS)
fakecuda: $(FAKE_LIBS)

.PHONY: fakecuda
