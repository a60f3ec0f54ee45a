#define TOML_IMPLEMENTATION

#include "harness/core/toml.h"
