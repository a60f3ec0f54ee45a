// Removes what a test left behind. It follows no link and enters no mount: what a test mounted below its directory
// belongs to somebody else, who keeps it. Directories of our own that cannot be read are made readable first.
//
// All the rest is removed even if something stays, and the error names the first thing that stays. No depth of a tree
// costs more than 64 open directories.
#pragma once

#include <string>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// The directory or file itself may be a link, which is removed, but no mount. One that does not exist is removed.
Result<void> remove_tree(const std::string& path);

// The same for `name` in a directory that the caller holds open, so that nobody can have led the name elsewhere.
// `shown` is how messages call it.
Result<void> remove_tree_at(int directory, const std::string& name, const std::string& shown);
// Removes everything below the directory `name`; that directory itself stays.
Result<void> empty_directory_at(int directory, const std::string& name, const std::string& shown);

// A directory in another one, if it is neither a link nor a mount. ENOTDIR or ELOOP: it is no directory; EXDEV: it is a
// mount.
Result<UniqueFd> open_directory_here(int directory, const std::string& name, const std::string& shown);

}  // namespace proctor
