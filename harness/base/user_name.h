// Names of users, read from /etc/passwd. The functions do not use getpwuid(), which would load other
// libraries into a static program.
#pragma once

#include <sys/types.h>

#include <string>

namespace proctor {

// Returns "alice (uid 1000)", or "uid 1000" if /etc/passwd does not contain the uid.
std::string user_name(uid_t uid);

// Returns whether files of `uid` belong to root. In a user namespace (`unshare -r`, a rootless container),
// the overflow uid counts as root as well. The root of the machine and all unmapped users have that uid. The
// root of the namespace has no power over their files.
bool is_roots(uid_t uid);

}  // namespace proctor
