// Parses numbers that another program wrote in its own locale. With std::locale("de_DE"), 1204 is "1.204" and 17.6 is
// "17,6". A number that cannot be parsed completely has no value: its beginning alone is a different number.
//
//   NumberForm form;
//   for (const auto& text : {"17,6", "1.234"}) form.see(text);
//   form.figure("1.234");  // 1234, as a comma is the decimal point of this report
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace proctor {

// Parses an integer with or without thousands separators: "1204", "1.204", "1,204", "1'204", "1 204".
std::optional<std::int64_t> written_count(std::string_view text);

// Detects which character is the decimal point of a report. A single number can be ambiguous: "1.234" has a fraction in
// one locale and is 1234 in another. So all numbers of the report are collected before one of them is parsed.
class NumberForm {
 public:
  void see(std::string_view number);
  // Returns nothing if the text is not a finite number, or is ambiguous in this report.
  std::optional<double> figure(std::string_view number) const;

 private:
  bool has_point_ = false;
  bool has_comma_ = false;
};

}  // namespace proctor
