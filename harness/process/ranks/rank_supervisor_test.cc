#include "harness/process/ranks/rank_supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

using nlohmann::json;

// Runs shell scripts as ranks, and records their events.
class SupervisedRanks : public testing::Test {
 protected:
  void supervise(const std::string& script, int ranks, Milliseconds grace = Milliseconds(10'000)) {
    RankPlan plan{.argv = {"sh", "-c", script},
                  .rendezvous = directory_ / "store",
                  .events = true,
                  .grace = grace,
                  .ranks = {}};
    const std::string path = "PATH=" + std::string(getenv("PATH"));
    for (int i = 0; i < ranks; ++i)
      plan.ranks.push_back({.env = {path, "RANK=77"}, .log = directory_ / std::to_string(i)});
    int both[2];
    ASSERT_EQ(pipe2(both, O_CLOEXEC), 0);
    const UniqueFd reader(both[0]);
    UniqueFd writer(both[1]);
    const auto supervised = supervise_ranks(plan, writer.get());
    ASSERT_TRUE(supervised) << supervised.error().what;
    writer.reset();
    read_events(reader.get());
  }

  std::string log(int rank) { return read_file_or_empty(directory_ / std::to_string(rank)); }

  const TempDir directory_;
  std::vector<json> said_;     // in order
  std::map<int, json> ended_;  // by rank

 private:
  void read_events(int fd) {
    std::string all;
    char bytes[4096];
    for (ssize_t got = read(fd, bytes, sizeof(bytes)); got > 0; got = read(fd, bytes, sizeof(bytes)))
      all.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1) {
      const std::string line = all.substr(at, all.find('\n', at) - at);
      const std::size_t begin = line.find('{');
      json event = json::parse(line.substr(begin));
      if (event["event"] == "rank_end") ended_[event["rank"]] = event;
      if (begin > 0) event["rank"] = std::stoi(line);
      said_.push_back(event);
    }
  }
};

TEST_F(SupervisedRanks, ReceiveRankAndSharedRendezvous) {
  supervise(R"sh(echo "$RANK of $WORLD_SIZE"; : > "$PROCTOR_RENDEZVOUS/$RANK"
            while [ "$(ls "$PROCTOR_RENDEZVOUS" | wc -l)" -lt 3 ]; do :; done
            echo '{"event":"step","v":1,"name":"met"}' >&$PROCTOR_EVENTS_FD)sh",
            3);
  ASSERT_EQ(ended_.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ended_[rank]["exit"], 0);
    EXPECT_EQ(ended_[rank]["stopped_by_proctor"], false);
    EXPECT_NE(log(rank).find("| " + std::to_string(rank) + " of 3\n"), std::string::npos) << log(rank);
  }
  std::vector<int> reported;
  for (const json& event : said_)
    if (event["event"] == "step") reported.push_back(event["rank"]);
  std::sort(reported.begin(), reported.end());
  EXPECT_EQ(reported, (std::vector<int>{0, 1, 2}));
}

TEST_F(SupervisedRanks, EventsPrecedeEndOfRank) {
  supervise("echo '{\"v\":1,\"event\":\"step\",\"name\":\"last words\"}' >&$PROCTOR_EVENTS_FD; kill -9 $$",
            1);
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0]["event"], "step");
  EXPECT_EQ(said_[1]["signal"], 9);
}

TEST_F(SupervisedRanks, FailedRankEndsOthersAfterGrace) {
  supervise("[ $RANK = 1 ] && exit 3; sleep 100", 3, Milliseconds(100));
  EXPECT_EQ(ended_[1]["exit"], 3);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(ended_[rank]["signal"], 9);
    EXPECT_EQ(ended_[rank]["stopped_by_proctor"], true);
  }
}

TEST_F(SupervisedRanks, RankThatLeftDoesNotAffectOthers) {
  supervise(
      R"sh(if [ $RANK = 0 ]; then echo '{"v":1,"event":"leave","how":"ended"}' >&$PROCTOR_EVENTS_FD; : > "$PROCTOR_RENDEZVOUS/left"
              kill -STOP $$; fi
            while [ ! -e "$PROCTOR_RENDEZVOUS/left" ]; do :; done; exit 0)sh",
      2, Milliseconds(1));
  EXPECT_EQ(ended_[1]["exit"], 0);
  EXPECT_EQ(ended_[1]["stopped_by_proctor"], false);
  EXPECT_EQ(ended_[0]["signal"], 9);
  EXPECT_EQ(ended_[0]["stopped_by_proctor"], true);
}

TEST_F(SupervisedRanks, SupervisorWaitsForAnnouncedDeath) {
  supervise(R"sh(if [ $RANK = 0 ]; then echo '{"v":1,"event":"leave","how":"signal:9"}' >&$PROCTOR_EVENTS_FD
                : > "$PROCTOR_RENDEZVOUS/left"; sleep 0.2; kill -9 $$; fi
              while [ ! -e "$PROCTOR_RENDEZVOUS/left" ]; do :; done; exit 0)sh",
            2);
  EXPECT_EQ(ended_[0]["signal"], 9);
  EXPECT_EQ(ended_[0]["stopped_by_proctor"], false);
}

TEST_F(SupervisedRanks, AnnouncedDeathStartsNoGracePeriod) {
  supervise(
      R"sh(if [ $RANK = 0 ]; then echo '{"v":1,"event":"leave","how":"signal:9"}' >&$PROCTOR_EVENTS_FD; kill -9 $$; fi
            sleep 0.2; exit 0)sh",
      2, Milliseconds(1));
  EXPECT_EQ(ended_[0]["signal"], 9);
  EXPECT_EQ(ended_[0]["stopped_by_proctor"], false);
  EXPECT_EQ(ended_[1]["exit"], 0);
}

}  // namespace
}  // namespace proctor
