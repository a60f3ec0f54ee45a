// Whether a CI service runs this process.
#pragma once

namespace proctor {

// GITHUB_ACTIONS=true, which GitHub sets for every step.
bool in_github_actions();

// CI is set, as by GitHub, GitLab and most others, and is neither "false" nor "0".
bool in_ci();

}  // namespace proctor
