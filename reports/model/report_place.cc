#include "reports/model/report_place.h"

#include <time.h>

#include <algorithm>
#include <charconv>

#include "harness/core/text.h"

namespace proctor {
namespace {

int number_at(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + count, number);
  return number;
}

}  // namespace

std::string below_checkout(const RunModel& model, const std::string& file) {
  const std::string clean = clean_text(file);
  const std::string checkout = clean_text(model.plan().subject.checkout);
  const bool below = !checkout.empty() && clean.starts_with(checkout + "/");
  const std::string place = below ? clean.substr(checkout.size() + 1) : clean;
  return place.starts_with('/') || place.starts_with("..") ? "" : place;
}

// junit-10.xsd takes any string as a time stamp, Surefire only a real one.
bool is_utc_stamp(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  return std::equal(text.begin(), text.end(), kShape.begin(), kShape.end(),
                    [](char c, char shape) { return shape == '0' ? c >= '0' && c <= '9' : c == shape; });
}

std::int64_t unix_ms(const std::string& utc) {
  if (!is_utc_stamp(utc)) return 0;
  tm time{};
  time.tm_year = number_at(utc, 0, 4) - 1900;
  time.tm_mon = number_at(utc, 5, 2) - 1;
  time.tm_mday = number_at(utc, 8, 2);
  time.tm_hour = number_at(utc, 11, 2);
  time.tm_min = number_at(utc, 14, 2);
  time.tm_sec = number_at(utc, 17, 2);
  return std::int64_t{::timegm(&time)} * 1000;
}

}  // namespace proctor
