// The JSON schema of proctor.toml, draft 7, which editors read. It is made of what the reader of the file asks for
// (config_tables.cc) and of the comments of defaults.toml. What depends on several keys or files only the reader knows.
#pragma once

#include <string>

namespace proctor {

std::string config_schema();

}  // namespace proctor
