/* fake_nvml.c: the NVML of fake.h: one card's clocks, which never change, and
 * what FAKECUDA_REASONS says of them. */
#include "tests/fakecuda/fake.h"

#include <stdio.h>

#include "device/cuda/cuda_api.h"

#define WS_X(name, suffix, args) FAKE_EXPORT int nvml##name##suffix args;
NVML_FUNCTIONS(WS_X)
#undef WS_X

#define UNINITIALIZED 1 /* NVML_ERROR_UNINITIALIZED */
#define INVALID_ARGUMENT 2
#define NOT_FOUND 6

struct nvml_device_s {
    int index;
};
static struct nvml_device_s devices[8];

#define BEGIN()                                                                \
    do {                                                                       \
        TURN();                                                                \
        if (fake_state()->live[FAKE_NVML] <= 0)                                \
            return UNINITIALIZED;                                              \
    } while (0)

int nvmlInit_v2(void)
{
    TURN();
    fake_state()->live[FAKE_NVML]++;
    return 0;
}

int nvmlShutdown(void)
{
    if (fake_state()->live[FAKE_NVML] <= 0)
        return UNINITIALIZED;
    TURN_AFTER(fake_state()->live[FAKE_NVML]--);
}

int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
    BEGIN();
    snprintf(text, n, "580.00");
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvml_device *d)
{
    unsigned domain, at;

    BEGIN();
    if (sscanf(bus, "%x:%x", &domain, &at) != 2 || at < 0xf0 || at > 0xf7)
        return NOT_FOUND;
    *d = &devices[at - 0xf0];
    return 0;
}

int nvmlDeviceGetClockInfo(nvml_device d, cu_enum what, unsigned *mhz)
{
    BEGIN();
    *mhz = what == NVML__CLOCK_SM ? 1500 : 3000;
    return d ? 0 : INVALID_ARGUMENT;
}

int nvmlDeviceGetMaxClockInfo(nvml_device d, cu_enum what, unsigned *mhz)
{
    BEGIN();
    *mhz = what == NVML__CLOCK_SM ? 1600 : 3000;
    return d ? 0 : INVALID_ARGUMENT;
}

int nvmlDeviceGetPowerUsage(nvml_device d, unsigned *mw)
{
    BEGIN();
    *mw = 100000;
    return d ? 0 : INVALID_ARGUMENT;
}

int nvmlDeviceGetTemperature(nvml_device d, cu_enum what, unsigned *degrees)
{
    BEGIN();
    *degrees = 40;
    return d && !what ? 0 : INVALID_ARGUMENT;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d,
                                              unsigned long long *bits)
{
    BEGIN();
    *bits = fake_setting("FAKECUDA_REASONS", 0);
    return d ? 0 : INVALID_ARGUMENT;
}
