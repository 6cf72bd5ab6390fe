/* A library with the functions of NVML that are read, for machines without a GPU: what it answers is in a text file.
   The file, NVML_ANSWERS, has lines "function status value [value]". A function without a line is not supported. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int asked(const char *function, unsigned long long *one, unsigned long long *two) {
    char name[64];
    int status;
    unsigned long long a, b;
    FILE *file = fopen(getenv("NVML_ANSWERS"), "r");
    if (file == NULL) return 9; /* NVML_ERROR_DRIVER_NOT_LOADED */
    while (fscanf(file, "%63s %d %llu %llu", name, &status, &a, &b) == 4)
        if (strcmp(name, function) == 0) {
            fclose(file);
            *one = a;
            *two = b;
            return status;
        }
    fclose(file);
    return 3; /* NVML_ERROR_NOT_SUPPORTED */
}

static int number(const char *function, unsigned int *found) {
    unsigned long long one = 0, two = 0;
    int status = asked(function, &one, &two);
    if (status == 0) *found = (unsigned int)one;
    return status;
}

const char *nvmlErrorString(int status) {
    return status == 3 ? "Not Supported" : status == 15 ? "GPU is lost" : "Driver Not Loaded";
}
int nvmlInit_v2(void) { unsigned int ignored; return number("init", &ignored); }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { return number("count", count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) { *device = (void *)(size_t)(index + 1); return 0; }
int nvmlDeviceGetName(void *device, char *name, unsigned int length) {
    snprintf(name, length, "Card %zu", (size_t)device);
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, unsigned int *rates) {
    unsigned long long one = 0, two = 0;
    int status = asked("use", &one, &two);
    if (status == 0) { rates[0] = (unsigned int)one; rates[1] = (unsigned int)two; }
    return status;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    unsigned long long used = 0, total = 0;
    int status = asked("memory", &used, &total);
    if (status == 0) { memory[0] = total; memory[1] = total - used; memory[2] = used; }
    return status;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *found) {
    return sensor == 0 ? number("temperature", found) : 2;
}
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned int *found) { return kind == 1 ? number("clock", found) : 2; }
int nvmlDeviceGetPowerUsage(void *device, unsigned int *found) { return number("power", found); }
