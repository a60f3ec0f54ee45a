// The name of a user, from /etc/passwd: a static program must not ask the system's library, which would load others.
#pragma once

#include <sys/types.h>

#include <string>

namespace proctor {

// "alice (uid 1000)"; "uid 1000" when nobody there has that number.
std::string user_name(uid_t uid);

}  // namespace proctor
