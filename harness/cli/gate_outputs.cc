#include "harness/cli/gate_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/base/replace_file.h"
#include "harness/runner/record/run_directory.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

fs::path real(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path).lexically_normal() : found;
}

bool is_or_lies_in(const fs::path& file, const fs::path& input) {
  const auto end_of_input = std::ranges::mismatch(input, file).in1;
  return end_of_input == input.end() || (std::next(end_of_input) == input.end() && end_of_input->empty());
}

Error refused(const GateOutput& output, const std::string& why) {
  return Error::refused(fmt::format("{} {} cannot be written: {}", output.option, *output.file, why));
}

}  // namespace

Result<void> check_outputs(const std::vector<GateOutput>& outputs, const std::vector<std::string>& inputs) {
  std::map<fs::path, std::string> options;
  for (const GateOutput& output : outputs) {
    if (!output.file) continue;
    if (output.file->empty())
      return Error::refused(fmt::format("{} needs a value: FILE", output.option),
                            "Give a file, or leave the option out.");
    if (auto usable = check_output_file(output.option, *output.file); !usable) return usable;
    const fs::path file = real(*output.file);
    const auto [other, is_new] = options.emplace(file, output.option);
    if (!is_new && !is_of_the_kernel(*output.file))
      return refused(output, fmt::format("{} has the same file", other->second));
    for (const std::string& input : inputs) {
      if (is_or_lies_in(file, real(input)))
        return refused(output, fmt::format("the gate reads {} and cannot write to it", input));
    }
  }
  return {};
}

Result<void> write_outputs(const std::vector<GateOutput>& outputs, const std::vector<std::string>& texts) {
  std::vector<FileReplacement> drafts;
  drafts.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].file) continue;
    auto draft = FileReplacement::open(*outputs[i].file);
    if (!draft) return draft.error();
    draft->add(texts[i]);
    if (auto whole = draft->added(); !whole) return whole;
    drafts.push_back(*std::move(draft));
  }
  for (FileReplacement& draft : drafts) {
    if (auto written = draft.put(); !written) return written;
  }
  return {};
}

}  // namespace proctor::cli
