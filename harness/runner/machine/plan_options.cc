#include "harness/runner/machine/plan_options.h"

#include "harness/request/suite_arguments.h"

namespace proctor {

Result<PlanOptions> plan_options(const RunRequest& request) {
  PlanOptions options{.config = request.config, .selection = request.selection, .limits = request.limits};
  if (auto read = read_suite_arguments(request.suite_arguments, suite_argument_names(), options.extent,
                                       options.provider);
      !read)
    return read.error();
  options.lease_wait = request.devices.lease_wait.value_or(options.lease_wait);
  return options;
}

}  // namespace proctor
