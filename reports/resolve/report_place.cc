#include "reports/resolve/report_place.h"

#include "harness/base/day.h"
#include "harness/base/text.h"

namespace proctor {

std::string below_checkout(const RunPlanned& plan, const std::string& file) {
  const std::string clean = clean_text(file);
  const std::string checkout = clean_text(plan.subject.checkout);
  const bool below = !checkout.empty() && clean.starts_with(checkout + "/");
  const std::string place = below ? clean.substr(checkout.size() + 1) : clean;
  return place.starts_with('/') || place.starts_with("..") ? "" : place;
}

// junit-10.xsd takes any string as a time stamp, Surefire only a real one.
bool is_utc_stamp(std::string_view text) {
  constexpr std::size_t kLength = 20;  // a day alone is a moment too, and no stamp
  return text.size() == kLength && parse_utc(text);
}

bool is_shard_number(const PlannedShard& shard) {
  return shard.index >= 1 && shard.index <= shard.count && shard.count <= kMostShardsOfAPlan;
}

std::int64_t unix_ms(const std::string& utc) {
  if (!is_utc_stamp(utc)) return 0;
  return parse_utc(utc)->time_since_epoch().count() * std::int64_t{1000};
}

}  // namespace proctor
