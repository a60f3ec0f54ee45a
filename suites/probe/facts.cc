#include "suites/probe/facts.h"

namespace proctor::probe {

nlohmann::json facts_document(const char* source, const std::string& problem, const Reading& reading) {
  nlohmann::json document = reading.json();
  document["v"] = 1;
  document["source"] = source;
  document["problem"] = problem;
  return document;
}

}  // namespace proctor::probe
