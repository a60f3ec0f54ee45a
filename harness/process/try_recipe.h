// Tries a recipe as a whole with a real child, which leaves a daemon behind, because a feature that exists may still be
// refused (seccomp, sysctl, delegation). What works is then in the recipe; otherwise the answer says why not.
#pragma once

#include <string>

namespace proctor {

struct Recipe;

// From the best signal scope that the kernel knows to none; whether it may be used is seen by using it.
std::string try_signal_scopes(Recipe& recipe);

// From the fullest recipe to the barest: without a user namespace (root), then with; with a /proc of its own, then
// without (a container that masks parts of /proc refuses the mount).
std::string try_pid_namespaces(Recipe& recipe);

}  // namespace proctor
