// The packages that a Debian system says are installed, read from its database as a file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace proctor {

// Name and version of every package whose status is "install ok installed" (dpkg's status file, deb822).
std::map<std::string, std::string> installed_packages(std::string_view status);

}  // namespace proctor
