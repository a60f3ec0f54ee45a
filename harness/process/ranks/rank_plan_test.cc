#include "harness/process/ranks/rank_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace proctor {
namespace {

bool has(const std::vector<std::string>& env, const std::string& entry) {
  return std::count(env.begin(), env.end(), entry) == 1;
}

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

TEST(RankPlan, RoundTripsText) {
  const RankPlan plan{.argv = {"program", "a b", "\xff\xfe", "\xc3\xa9\xc0", every_byte()},
                      .rendezvous = "/x/1",
                      .events = true,
                      .grace = Milliseconds(1234),
                      .ranks = {{.env = {"A=1"}, .log = "/l/0"}, {.env = {"A=2", "B=\x80"}, .log = "/l/1"}}};
  const auto read = parse_rank_plan(to_text(plan));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->argv, plan.argv);
  EXPECT_EQ(read->rendezvous, plan.rendezvous);
  EXPECT_TRUE(read->events);
  EXPECT_EQ(read->grace, plan.grace);
  ASSERT_EQ(read->ranks.size(), 2u);
  EXPECT_EQ(read->ranks[1].env, plan.ranks[1].env);
  EXPECT_EQ(read->ranks[1].log, "/l/1");
}

TEST(RankPlan, RejectsInvalidPlan) {
  const std::string deep(200'000, '[');
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("nonsense"), deep, "{\"argv\":" + deep,
        std::string(200'000, '\x7f'), std::string(R"({"argv":{"a":"b"}})")})
    EXPECT_FALSE(parse_rank_plan(text)) << text.substr(0, 20);
  EXPECT_FALSE(parse_rank_plan(to_text({.argv = {"x"}, .rendezvous = "", .ranks = {}})));
}

TEST(RankEnvironment, ReplacesRankVariablesOfCaller) {
  const auto env =
      rank_environment({"RANK=3", "WORLD_SIZE=8", "MASTER_PORT=29500", "RANKED=1"}, 1, 2, 4711, "/x");
  EXPECT_TRUE(has(env, "RANK=1"));
  EXPECT_TRUE(has(env, "WORLD_SIZE=2"));
  EXPECT_TRUE(has(env, "LOCAL_RANK=1"));
  EXPECT_TRUE(has(env, "LOCAL_WORLD_SIZE=2"));
  EXPECT_TRUE(has(env, "MASTER_ADDR=127.0.0.1"));
  EXPECT_TRUE(has(env, "MASTER_PORT=4711"));
  EXPECT_TRUE(has(env, "PROCTOR_RENDEZVOUS=/x"));
  EXPECT_TRUE(has(env, "RANKED=1"));
  EXPECT_EQ(env.size(), 8u);
}

TEST(ReservePort, ReturnsDistinctPorts) {
  const auto one = reserve_port();
  const auto two = reserve_port();
  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
}

}  // namespace
}  // namespace proctor
