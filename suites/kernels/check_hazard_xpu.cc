// A device that is lost says so.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kWarn;
using suite::step;

}  // namespace

PROCTOR_CHECK(Hazard, LostDeviceSaysSo, "K47", "Level Zero specification, zeDeviceGetStatus", kWarn,
              {"state.lost_unnoticed"}) {
  step("given a second process whose kernel writes to nobody's memory");
  Helper helper("store_out_of_bounds");
  helper.answer();
  const auto outcome = helper.try_answer();
  if (!outcome || outcome->at("status") != "ZE_RESULT_ERROR_DEVICE_LOST")
    suite::skip("needs:device_lost_code");
  expect_true(!outcome->at("device_ok").get<bool>(), "zeDeviceGetStatus says that the device is lost");
}

}  // namespace proctor::accel
