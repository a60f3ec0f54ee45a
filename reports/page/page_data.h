// The data of a page: columns with tables of their texts, deflated, which the page's script reads (page.js).
//
// `list` is what the list of cases shows and searches. What is said of one case alone, its attempts and the ends of its
// logs, lies in blocks of their own, which are inflated when somebody looks at such a case. `index` says which of them has
// what.
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

struct PageBlock {
  std::string name{};  // "list", "past", "details3", "logs0", "index"
  std::string base64{};
};

struct PageData {
  std::vector<PageBlock> blocks{};
  // What did not fit.
  std::size_t cases_left_out = 0;
  std::size_t details_left_out = 0;
  std::size_t logs_left_out = 0;

  std::size_t bytes() const;
};

// `cases`: page_cases(). At most `budget` bytes.
PageData page_data(const PageRequest& request, const std::vector<PageCase>& cases, std::size_t budget);

PageBlock block_of(std::string name, const std::function<void(JsonWriter&)>& write);

// `list`, and `past` where a case has one. `details`: of each case its number, from 1, among those with details; 0: it has
// none; kNotListed: it is left out.
inline constexpr std::int64_t kNotListed = -1;
std::vector<PageBlock> list_blocks(const PageRequest& request, const std::vector<PageCase>& cases,
                                   const std::vector<std::int64_t>& details);

// An array of what `write(json, item)` writes of each item, or of the items.
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

// A run directory is whoever wrote there: a file that is a link, that lies behind one, or that is another user's, is not read.
class RunFiles {
 public:
  // A directory that is not there, or "", has no files.
  explicit RunFiles(const std::filesystem::path& run_dir);

  struct Tail {
    std::string text{};
    bool is_all = true;
  };
  // Of the log of an attempt, what the program wrote: whole lines, at most `bytes`. Nothing where it cannot be read.
  std::optional<Tail> tail(const std::string& log, std::size_t bytes) const;

 private:
  UniqueFd open(const std::string& file) const;

  UniqueFd directory_;
};

// A text that somebody else wrote, as far as a page has it.
inline constexpr std::size_t kDataTextBytes = 4000;
inline constexpr std::size_t kIdBytes = 1000;
std::string data_text(std::string_view bytes, std::size_t limit = kDataTextBytes);

}  // namespace proctor
