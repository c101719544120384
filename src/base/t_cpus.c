/* t_cpus.c: a process that may run on one processor has one. */
#include "base/t_base.h"

#include <sched.h>

#include "base/cpus.h"

static void test_affinity(void **state)
{
    cpu_set_t all, one;
    int first = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(ws__processors(), CPU_COUNT(&all));
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(ws__processors(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_affinity)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
