#include <boost/asio/io_context.hpp>

#include "harness/process/contained_process.h"

namespace proctor {

ProcessEnd run_contained(Containment& containment, ProcessSpec spec) {
  boost::asio::io_context io(1);
  std::optional<ProcessEnd> result;
  const auto process = ContainedProcess::start(io, containment, std::move(spec),
                                               [&](ProcessEnd end) { result = std::move(end); });
  io.run();
  return *std::move(result);
}

}  // namespace proctor
