/*
 * Shifts the wall clock of the process that it is preloaded into by CHAOS_SKEW seconds. The
 * monotonic clocks are left as they are. The system is asked directly, because the library's own
 * functions are the ones that are replaced here.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t skew(void) {
    static time_t seconds;
    static int known;
    if (!known) {
        const char *text = getenv("CHAOS_SKEW");
        seconds = text ? atol(text) : 0;
        known = 1;
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    long result = syscall(SYS_clock_gettime, clock, at);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += skew();
    return (int)result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    long result = syscall(SYS_gettimeofday, at, zone);
    if (result == 0 && at != NULL)
        at->tv_sec += skew();
    return (int)result;
}

time_t time(time_t *out) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out != NULL)
        *out = at.tv_sec;
    return at.tv_sec;
}
