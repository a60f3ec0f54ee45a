// What NVML fills in for several files of checks (NVML API Reference Guide: versioned functions keep their ABI).
#pragma once

namespace proctor::accel {

struct ManagedPci {  // nvmlPciInfo_t
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct ManagedMemory {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct ManagedProcess {  // nvmlProcessInfo_t
  unsigned pid;
  unsigned long long used;
  unsigned instance, compute_instance;
};

struct ManagedField {  // nvmlFieldValue_t
  unsigned id, scope;
  long long at, latency;
  unsigned type;
  int result;
  union {
    double number;
    unsigned small;
    unsigned long long large;
  } value;
};

}  // namespace proctor::accel
