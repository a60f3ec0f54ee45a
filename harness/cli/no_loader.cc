// Replaces dlopen() in the runner (linked with `--wrap`), so that every call fails. The runner loads no library. SQLite
// can load extensions, which are not enabled, but its call would link the C library's loader into the static runner.
// Linkers warn about that, because libraries loaded there must match this C library exactly.
extern "C" void* __wrap_dlopen(const char*, int) { return nullptr; }  // NOLINT(bugprone-reserved-identifier)
