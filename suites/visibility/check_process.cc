// When the mask is read, and who inherits it.
#include "suites/main/check.h"
#include "suites/visibility/mask_model.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

std::string text(const Enumeration& seen) { return to_json(seen).dump(); }

}  // namespace

// The specification lets a process initialize again with other variables; Intel's driver reads them once.
PROCTOR_CHECK(Process, MaskSetAfterInitHasNoEffect, "V20",
              "measured: the driver reads the variable at its load", kWarn,
              .faults = {"visibility.late_environment"}) {
  control_with_devices(2);
  step("given a process that enumerates, sets ZE_AFFINITY_MASK=0 and initializes again");
  const auto answer = query_child({"setenv-after-init", kMask, "0"});

  expect_same("what it sees the second time", text(record(answer, "seen")), text(record(answer, "again")));
}

PROCTOR_CHECK(Process, MaskSetBeforeInitIsEffective, "V21",
              "Level Zero specification, zeInit: environment variables", kGate,
              .faults = {"visibility.early_environment", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  step("given a process that was started with mask 0");
  const auto started_with = enumerate({{kMask, "0"}});
  step("and one that sets it itself before the first call");
  const auto answer = query_child({"enumerate-after-setenv", kMask, "0"});

  expect_same("what it sees", text(started_with), text(record(answer, "seen")));
  expect_true(started_with.devices.size() < unmasked.devices.size(), "it sees less than the whole machine");
}

PROCTOR_CHECK(Process, GrandchildInheritsTheMask, "V22",
              "Level Zero programming guide, Environment Variables", kGate,
              .faults = {"visibility.uuid_changes", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  const auto expected = enumerate({{kMask, "0"}});
  step("given a child under mask 0 that execs a child of its own");
  const auto seen = record(query_child({"grandchild"}, {{kMask, "0"}}), "seen");

  expect_same("what the grandchild sees", text(expected), text(seen));
  expect_true(seen.devices.size() < unmasked.devices.size(),
              "the grandchild sees less than the whole machine");
}

PROCTOR_CHECK(Process, DisjointMasksShareNoDevice, "V46", "Level Zero programming guide, Affinity Mask",
              kGate, .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  const auto kind = required_identity(unmasked);
  step("given two processes at the same time, under mask 0 and under mask 1");
  Child first({"hold"}, {{kMask, "0"}});
  Child second({"hold"}, {{kMask, "1"}});
  const auto first_seen = record(accept(first.finish(), {{kMask, "0"}}), "seen");
  const auto second_seen = record(accept(second.finish(), {{kMask, "1"}}), "seen");

  expect_same("the first process sees", identity(unmasked.devices[0], kind),
              joined(identities(first_seen, kind)));
  expect_same("the second process sees", identity(unmasked.devices[1], kind),
              joined(identities(second_seen, kind)));
}

}  // namespace proctor::visibility
