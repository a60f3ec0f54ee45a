#include "suites/probe/nvml_facts.h"

#include <nlohmann/json.hpp>

#include "suites/probe/facts.h"

namespace proctor::probe {
namespace {

constexpr unsigned kRecoveryAction = 230;  // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION

// The card that a question is about, and the answers so far.
class Questions {
 public:
  Questions(const Nvml& nvml, nvml::Device card, Reading& reading)
      : nvml_(nvml), card_(card), reading_(reading) {}

  template <typename Value, typename... Selectors>
  void ask(const char* key, const char* function, Selectors... selectors) {
    Value value{};
    const std::string why = nvml_.call(function, card_, selectors..., &value);
    if (why.empty()) return reading_.set(key, value);
    reading_.miss(key, why);
  }

  void ask_power_limit() {
    unsigned milliwatts = 0;
    const std::string why = nvml_.call("nvmlDeviceGetEnforcedPowerLimit", card_, &milliwatts);
    if (why.empty()) return reading_.set("power_limit_w", milliwatts / 1000.0);
    reading_.miss("power_limit_w", why);
  }

  void ask_firmware() {
    char text[64] = {};
    const std::string why = nvml_.call("nvmlDeviceGetVbiosVersion", card_, &text[0], 64U);
    if (why.empty()) return reading_.set("firmware", std::string(text));
    reading_.miss("firmware", why);
  }

  void ask_modes() {
    int now = 0, later = 0;
    const std::string no_ecc = nvml_.call("nvmlDeviceGetEccMode", card_, &now, &later);
    if (no_ecc.empty()) {
      reading_.set("ecc", now == 1);
    } else {
      reading_.miss("ecc", no_ecc);
    }
    const std::string no_mode = nvml_.call("nvmlDeviceGetPersistenceMode", card_, &now);
    if (no_mode.empty()) return reading_.set("persistence", now == 1);
    reading_.miss("persistence", no_mode);
  }

  void ask_remaps() {
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    const std::string why =
        nvml_.call("nvmlDeviceGetRemappedRows", card_, &corrected, &uncorrected, &pending, &failed);
    if (!why.empty()) {
      for (const char* key : {"rows_remapped", "remap_pending", "remap_failed"}) reading_.miss(key, why);
      return;
    }
    reading_.set("rows_remapped", corrected + uncorrected);
    reading_.set("remap_pending", pending != 0);
    reading_.set("remap_failed", failed != 0);
  }

  // A card knows the number of its links by refusing the one behind the last.
  void ask_links() {
    constexpr unsigned kMost = 64;
    unsigned links = 0, up = 0;
    std::string why;
    for (; links < kMost; ++links) {
      int active = 0;
      why = nvml_.call("nvmlDeviceGetNvLinkState", card_, links, &active);
      if (!why.empty()) break;
      up += active == 1 ? 1 : 0;
    }
    const bool told = links > 0;
    for (const char* key : {"links", "links_up"}) {
      if (!told) reading_.miss(key, why);
    }
    if (!told) return;
    reading_.set("links", links);
    reading_.set("links_up", up);
  }

  void ask_recovery() {
    nvml::FieldValue value{};
    value.field = kRecoveryAction;
    std::string why = nvml_.call("nvmlDeviceGetFieldValues", card_, 1, &value);
    if (why.empty() && value.result != nvml::kSuccess)
      why = "recovery action: " + nvml::name_of(value.result);
    if (!why.empty()) return reading_.miss("reset_reason", why);
    static constexpr const char* kActions[] = {"", "reset the GPU", "reboot the node", "drain peers",
                                               "drain and reset"};
    const unsigned action = value.value.small;
    reading_.set("reset_reason",
                 action < std::size(kActions) ? kActions[action] : "action " + std::to_string(action));
  }

 private:
  const Nvml& nvml_;
  nvml::Device card_;
  Reading& reading_;
};

}  // namespace

nlohmann::json nvml_facts(const Nvml& nvml, std::size_t device) {
  Reading reading;
  if (device >= nvml.devices().size()) {
    const std::string why = nvml.problem().empty() ? "NVML does not list the device" : nvml.problem();
    return facts_document("nvml", why, reading);
  }
  Questions card(nvml, nvml.devices()[device].gpu, reading);
  card.ask<unsigned>("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth");
  card.ask<unsigned>("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth");
  card.ask<unsigned>("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration");
  card.ask<unsigned>("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration");
  card.ask<unsigned>("replays", "nvmlDeviceGetPcieReplayCounter");
  card.ask<unsigned>("clock_max_mhz", "nvmlDeviceGetMaxClockInfo", nvml::kClockSm);
  card.ask<unsigned long long>("errors_corrected", "nvmlDeviceGetTotalEccErrors", 0, nvml::kSinceDriverLoad);
  card.ask<unsigned long long>("errors_uncorrected", "nvmlDeviceGetTotalEccErrors", nvml::kUncorrectedErrors,
                               nvml::kSinceDriverLoad);
  card.ask<unsigned long long>("errors_uncorrected_lifetime", "nvmlDeviceGetTotalEccErrors",
                               nvml::kUncorrectedErrors, 1);
  card.ask_power_limit();
  card.ask_firmware();
  card.ask_modes();
  card.ask_remaps();
  card.ask_links();
  card.ask_recovery();
  return facts_document("nvml", "", reading);
}

}  // namespace proctor::probe
