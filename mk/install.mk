# deps and install.

# What `make demo` and `make` need; then what tests and checks need as well.
DEPS_BUILD = gcc make pkg-config libc6-dev libfyaml-dev libjansson-dev \
    libsqlite3-dev zlib1g-dev libxxhash-dev libcurl4-openssl-dev
DEPS_RUN = ocl-icd-libopencl1 pocl-opencl-icd
DEPS_TEST = libcmocka-dev clang clang-format libclang-rt-14-dev valgrind \
    g++ opencl-headers python3 python3-venv python3-numpy python3-torch \
    python3-yaml sqlite3 procps file openssl libclang1-19

APT = DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
    install -y --no-install-recommends
# Installs what of $(1) is missing; asks the archive only if anything is.
apt = @missing=""; for p in $(1); do \
	dpkg-query -W -f '$${db:Status-Status}\n' $$p 2>/dev/null | \
	    grep -qx installed || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then echo "installing:$$missing"; \
	    apt-get -qq update && $(APT) $$missing >build-deps.log 2>&1 || \
	    { cat build-deps.log; exit 1; }; rm -f build-deps.log; fi

deps-run:
	$(call apt,$(DEPS_BUILD) $(DEPS_RUN))
deps:
	$(call apt,$(DEPS_BUILD) $(DEPS_RUN) $(DEPS_TEST))

libdir = $(PREFIX)/lib
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(libdir)/pkgconfig \
	    $(DESTDIR)$(PREFIX)/include/wavesmith \
	    $(DESTDIR)$(PREFIX)/libexec/wavesmith \
	    $(DESTDIR)$(PREFIX)/share/wavesmith
	install -m 755 $(B)/wavesmith $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(B)/wavesmith-worker \
	    $(DESTDIR)$(PREFIX)/libexec/wavesmith/
	install -m 644 include/wavesmith/wavesmith.h \
	    $(DESTDIR)$(PREFIX)/include/wavesmith/
	install -m 644 runtime/wsrt.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(B)/libwavesmith.a $(B)/libwsrt.a $(DESTDIR)$(libdir)/
	for l in wavesmith wsrt; do \
	    install -m 755 $(B)/lib$$l.so \
	        $(DESTDIR)$(libdir)/lib$$l.so.$(VERSION) && \
	    ln -sf lib$$l.so.$(VERSION) \
	        $(DESTDIR)$(libdir)/lib$$l.so.$(SOMAJOR) && \
	    ln -sf lib$$l.so.$(SOMAJOR) $(DESTDIR)$(libdir)/lib$$l.so; done
	cd ops && find . -name .wavesmith -prune -o -type f ! -name '*.o' \
	    ! -name 't_*' ! -name 'reference.c' -exec install -D -m 644 {} \
	    $(abspath $(DESTDIR)$(PREFIX))/share/wavesmith/ops/{} \;
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' \
	    mk/wavesmith.pc.in > $(DESTDIR)$(libdir)/pkgconfig/wavesmith.pc
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' \
	    mk/wsrt.pc.in > $(DESTDIR)$(libdir)/pkgconfig/wsrt.pc

uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/libexec/wavesmith \
	    $(DESTDIR)$(PREFIX)/share/wavesmith \
	    $(DESTDIR)$(PREFIX)/include/wavesmith
	rm -f $(DESTDIR)$(PREFIX)/bin/wavesmith \
	    $(DESTDIR)$(PREFIX)/include/wsrt.h \
	    $(DESTDIR)$(libdir)/libwavesmith.* $(DESTDIR)$(libdir)/libwsrt.* \
	    $(DESTDIR)$(libdir)/pkgconfig/wavesmith.pc \
	    $(DESTDIR)$(libdir)/pkgconfig/wsrt.pc

# The runtime as two files to take along in source: build/amalgam.
amalgam:
	tools/amalgamate

.PHONY: deps deps-run install uninstall amalgam
