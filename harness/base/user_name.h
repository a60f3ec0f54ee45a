// Users, without the system's library, which would load others into a static program: names are those of /etc/passwd.
#pragma once

#include <sys/types.h>

#include <string>

namespace proctor {

// "alice (uid 1000)"; "uid 1000" when nobody there has that number.
std::string user_name(uid_t uid);

// Whether what belongs to `uid` is root's. In a user namespace (`unshare -r`, a rootless container) that is also what
// belongs to nobody there: the machine's own root and everybody else have the same number, and no root inside has any
// power over their files.
bool is_roots(uid_t uid);

}  // namespace proctor
