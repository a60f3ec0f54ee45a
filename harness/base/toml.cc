// With NDEBUG its assertions are promises to the compiler, which a mistake in the file would break.
#undef NDEBUG

#define TOML_IMPLEMENTATION

#include "harness/base/toml_reader.h"
