// toml++ is compiled without NDEBUG. If NDEBUG is defined, its assertions become assumptions of the compiler.
// A mistake in a TOML file would violate them.
#undef NDEBUG

#define TOML_IMPLEMENTATION

#include "harness/base/toml_reader.h"
