// The runner loads no library. SQLite can, for extensions that nobody enables, and so it would bring the C library's
// loader into the static runner, which linkers warn of with reason: what it loaded would have to be of just this C
// library. What calls dlopen() in the runner is linked with this (`--wrap`), and hears that there is no such library.
extern "C" void* __wrap_dlopen(const char*, int) { return nullptr; }  // NOLINT(bugprone-reserved-identifier)
