// The data of a page: columns with tables of their texts, deflated, which the page's script (page.js) reads.
//
// The block `list` has the columns that the list of cases shows and searches. Facts about one case, its attempts and
// the ends of its logs are in other blocks, which are inflated when a user opens such a case.
// `index` maps records to blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/unique_fd.h"
#include "reports/formats/json_writer.h"
#include "reports/page/page_cases.h"
#include "reports/page/page_request.h"

namespace proctor {

// One block of data, deflated and encoded in Base64.
struct PageBlock {
  std::string name{};  // "list", "past", "details3", "logs0", "index"
  std::string base64{};
};

// All blocks, and the numbers of omitted records.
struct PageData {
  std::vector<PageBlock> blocks{};
  // Records that did not fit into the budget.
  std::size_t cases_left_out = 0;
  std::size_t details_left_out = 0;
  std::size_t logs_left_out = 0;

  std::size_t bytes() const;
};

// Returns the data of a page in at most `budget` bytes. `cases` is the result of page_cases().
PageData page_data(const PageRequest& request, const std::vector<PageCase>& cases, std::size_t budget);

PageBlock block_of(std::string name, const std::function<void(JsonWriter&)>& write);

// Returns the block `list`, and the block `past` if a case has a past. `details` has for each case its number, from 1,
// among the cases with details. 0: the case has no details; kNotListed: the case is omitted.
inline constexpr std::int64_t kNotListed = -1;
std::vector<PageBlock> list_blocks(const PageRequest& request, const std::vector<PageCase>& cases,
                                   const std::vector<std::int64_t>& details);

// Writes an array of the items, or of the output of `write(json, item)` for each item.
template <typename Items, typename Write>
void write_items(JsonWriter& json, std::string_view name, const Items& items, const Write& write) {
  json.open_array(name);
  for (const auto& item : items) write(json, item);
  json.close();
}
template <typename Items>
void write_items(JsonWriter& json, std::string_view name, const Items& items) {
  write_items(json, name, items, [](JsonWriter& out, const auto& item) { out.item(item); });
}

// Reads files of a run directory, which is not trusted. A file that is a link, is behind a link or belongs to another
// user is not read.
class RunFiles {
 public:
  // A directory that does not exist, or "", has no files.
  explicit RunFiles(const std::filesystem::path& run_dir);

  struct Tail {
    std::string text{};
    bool is_all = true;
  };
  // Returns the end of an attempt's log: whole lines, at most `bytes`. Returns nothing if the log cannot be read.
  std::optional<Tail> tail(const std::string& log, std::size_t bytes) const;

 private:
  UniqueFd open(const std::string& file) const;

  UniqueFd directory_;
};

// Cleans and cuts a text of the run for the data of a page.
inline constexpr std::size_t kDataTextBytes = 4000;
inline constexpr std::size_t kIdBytes = 1000;
std::string data_text(std::string_view bytes, std::size_t limit = kDataTextBytes);

}  // namespace proctor
