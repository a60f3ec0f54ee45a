// The packages that a Debian system says are installed, and those that a repository offers, read from files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace proctor {

// Name and version of every package whose status is "install ok installed" (dpkg's status file, deb822).
std::map<std::string, std::string> installed_packages(std::string_view status);

// Name and versions of every package that a repository's index offers (Packages file, deb822).
std::map<std::string, std::set<std::string>> offered_packages(std::string_view index);

}  // namespace proctor
