#include "reports/formats/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;

std::string written(const std::function<void(JsonWriter&)>& write) {
  return text_of([&](TextOutput& output) {
    JsonWriter writer(output);
    write(writer);
  });
}

TEST(JsonWriter, WritesCompactlyAndInOrder) {
  const std::string text = written([](JsonWriter& json) {
    json.open_object().member("b", 1).member("a", true).member("none", nullptr).member("text", "x");
    json.open_array("list").item(1).item("two").open_object().close().open_array().close().close();
    json.member("list2", std::vector<std::string>{"p", "q"})
        .member_if_any("empty", "")
        .member_if_any("some", "s");
    json.member("optional", std::optional<int>()).member("there", std::optional(std::string("y")));
    json.open_object("inner").member("k", -7).close().member("last", 1.5).close();
  });
  EXPECT_EQ(text,
            R"({"b":1,"a":true,"none":null,"text":"x","list":[1,"two",{},[]],"list2":["p","q"],"some":"s",)"
            R"("optional":null,"there":"y","inner":{"k":-7},"last":1.5})");
}

TEST(JsonWriter, AnyBytesRoundTripAsCleanText) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string(1, static_cast<char>(byte)) + awkward_text();
    const std::string made =
        written([&](JsonWriter& writer) { writer.open_object().member(text, text).close(); });
    const json back = json::parse(made);
    EXPECT_EQ(back.begin().key(), clean_text(text));
    EXPECT_EQ(back.begin().value(), clean_text(text));
  }
}

TEST(JsonWriter, WritesExactNumbersAndNanAsNull) {
  const std::vector<double> numbers = {0,      -0.1,          1e300,
                                       5e-324, 123456789.125, std::numeric_limits<double>::max()};
  const json back = json::parse(written([&](JsonWriter& writer) {
    writer.open_array();
    for (const double number : numbers) writer.item(number);
    writer.item(std::numeric_limits<double>::quiet_NaN()).item(-std::numeric_limits<double>::infinity());
    writer.item(std::numeric_limits<std::uint64_t>::max())
        .item(std::numeric_limits<std::int64_t>::min())
        .close();
  }));
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(back[i].get<double>(), numbers[i]);
  EXPECT_TRUE(back[6].is_null() && back[7].is_null());
  EXPECT_EQ(back[8], std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(back[9], std::numeric_limits<std::int64_t>::min());
}

// The memory of the writer must not grow with the document.
TEST(JsonWriter, FlushesLargeDocumentsInPieces) {
  std::size_t largest = 0;
  std::size_t all = 0;
  {
    TextOutput output([&](std::string_view piece) {
      largest = std::max(largest, piece.size());
      all += piece.size();
    });
    JsonWriter writer(output);
    writer.open_array();
    for (int i = 0; i < 100'000; ++i) writer.open_object().member("number", i).close();
    writer.close();
  }
  EXPECT_GT(all, 1'500'000u);
  EXPECT_LT(largest, 100'000u);
}

}  // namespace
}  // namespace proctor
