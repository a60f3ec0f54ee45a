// Tests a recipe as a whole with a real child that leaves a daemon behind. A feature that exists can still be
// refused (seccomp, sysctl, delegation). Both functions store in the recipe what works, and return the reason
// of a failure.
#pragma once

#include <string>

namespace proctor {

struct Recipe;

// Tries the signal scopes from the best that the kernel knows to none.
std::string try_signal_scopes(Recipe& recipe);

// Tries without a user namespace (root), then with one; with a new /proc, then without (a container that
// masks parts of /proc refuses the mount).
std::string try_pid_namespaces(Recipe& recipe);

}  // namespace proctor
