#include "suites/collectives/place.h"

namespace proctor::collectives {

struct Place::Impl {};

Place::Place() = default;
Place::~Place() = default;

Bytes Place::pass(const Bytes& bytes) { return bytes; }

int devices_of_a_rank() { return 0; }
std::vector<std::string> needs_of_the_suite() { return {}; }

}  // namespace proctor::collectives
