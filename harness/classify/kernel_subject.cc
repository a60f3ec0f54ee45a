#include "harness/classify/kernel_subject.h"

#include <algorithm>
#include <charconv>

#include "harness/base/words.h"

namespace proctor {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::size_t hex_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_hex) - text.begin());
}

// The text of ":BB:DD" at the beginning, or 0 characters.
bool has_bus_and_device(std::string_view text) {
  return text.size() >= 6 && text[0] == ':' && hex_digits(text.substr(1)) == 2 && text[3] == ':' &&
         hex_digits(text.substr(4)) == 2;
}

std::optional<int> number_in(std::string_view text) {
  if (text.starts_with('\'')) text.remove_prefix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0) return std::nullopt;
  return number;
}

std::optional<KernelProcess> nvidia_process(std::string_view text) {
  const auto at = text.find("pid=");
  if (at == text.npos) return std::nullopt;
  const auto pid = number_in(text.substr(at + 4));
  if (!pid) return std::nullopt;
  KernelProcess process{.pid = *pid, .name = {}};
  if (const auto name = text.find("name=", at); name != text.npos) {
    const std::string_view rest = text.substr(name + 5);
    process.name = rest.substr(0, rest.find_first_of(", "));
  }
  return process;
}

std::optional<KernelProcess> intel_process(std::string_view text) {
  const auto in = text.rfind(" in ");
  const auto bracket = in == text.npos ? text.npos : text.find(" [", in);
  if (bracket == text.npos) return std::nullopt;
  const auto pid = number_in(text.substr(bracket + 2));
  if (!pid) return std::nullopt;
  return KernelProcess{.pid = *pid, .name = std::string(text.substr(in + 4, bracket - in - 4))};
}

}  // namespace

std::string pci_slot(std::string_view text) {
  const std::size_t domain = hex_digits(text);
  if (domain < 4 || domain > 8 || !has_bus_and_device(text.substr(domain))) return "";
  if (domain > 4 && text.substr(0, domain - 4).find_first_not_of('0') != text.npos) return "";
  return lower_case(text.substr(domain - 4, 10));
}

std::vector<std::string> pci_slots(const KernelLine& line) {
  std::vector<std::string> slots;
  const auto add = [&slots](std::string slot) {
    if (!slot.empty() && std::find(slots.begin(), slots.end(), slot) == slots.end())
      slots.push_back(std::move(slot));
  };
  add(pci_slot(line.device));
  const std::string_view text = line.text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = is_hex(text[at]) && (at == 0 || !is_hex(text[at - 1]));
    if (begins) add(pci_slot(text.substr(at, 16)));
  }
  return slots;
}

std::optional<KernelProcess> process_of(std::string_view text) {
  if (auto process = nvidia_process(text)) return process;
  return intel_process(text);
}

}  // namespace proctor
