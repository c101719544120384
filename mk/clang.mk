# Debian keeps the header of libclang in a folder of its version.
$(B)/tests/conformance/t_clang_abi.o: CPPFLAGS += \
    $(addprefix -idirafter ,$(wildcard /usr/lib/llvm-19/include))
