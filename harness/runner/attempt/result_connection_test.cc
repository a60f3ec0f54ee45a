#include "harness/runner/attempt/result_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <set>

#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ResultConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = ResultConnection::open(
        io_, {.tells_of_cases = [](std::string_view line) { return line != "hello"; },
              .on_line = [this](std::string_view line) { lines_.emplace_back(line); }});
    ASSERT_TRUE(opened) << opened.error().what;
    connection_ = *std::move(opened);
    connection_->begin([this](std::uint64_t inode) { return of_case_.contains(inode); });
  }
  void TearDown() override { connection_->close(); }

  // A client that the case holds, or a stranger.
  UniqueFd connect(bool of_case = true) {
    UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string port = connection_->address().substr(std::string("127.0.0.1:").size());
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    struct stat info {};
    EXPECT_EQ(fstat(client.get(), &info), 0);
    if (of_case) of_case_.insert(info.st_ino);
    return client;
  }
  static void say(const UniqueFd& client, std::string_view text) {
    ASSERT_EQ(write(client.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // All that is ready now.
  void turn() {
    io_.restart();
    while (io_.poll() > 0) {
    }
  }

  boost::asio::io_context io_;
  std::set<std::uint64_t> of_case_;
  std::vector<std::string> lines_;
  std::shared_ptr<ResultConnection> connection_;
};

TEST_F(ResultConnectionTest, LinesComeAsTheyAreSaid) {
  const UniqueFd client = connect();
  say(client, "hello\nA\nhalf");
  turn();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "A\n"));
  say(client, " a line\n");
  turn();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "A\n", "half a line\n"));
  EXPECT_TRUE(connection_->has_speaker());
  connection_->read_rest();
  EXPECT_EQ(connection_->mistake(), "");
}

TEST_F(ResultConnectionTest, WhatIsNotReadIsReadAtTheEnd) {
  UniqueFd client = connect();
  say(client, "hello\n");
  turn();
  EXPECT_THAT(lines_, IsEmpty()) << "it has not told of a case";
  say(client, "A\nB\nwithout an end");
  client.reset();
  connection_->read_rest();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "A\n", "B\n", "without an end"));
}

TEST_F(ResultConnectionTest, WhoTellsOfNoCaseIsIgnored) {
  const UniqueFd client = connect();
  say(client, "hello\nA\n");
  turn();
  for (int child = 0; child < 200; ++child) {  // more than may be open at once
    say(connect(), "hello\n");
    turn();
  }
  say(client, "B\n");
  turn();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "A\n", "B\n"));
  EXPECT_EQ(connection_->mistake(), "");
}

TEST_F(ResultConnectionTest, ASecondOneThatTellsOfCasesIsAMistake) {
  const UniqueFd client = connect();
  say(client, "hello\nA\n");
  turn();
  const UniqueFd other = connect();
  say(other, "hello\nX\n");
  turn();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "A\n"));
  EXPECT_EQ(connection_->mistake(), "told of its cases over a second connection");
}

TEST_F(ResultConnectionTest, AStrangerIsRefused) {
  const UniqueFd stranger = connect(/*of_case=*/false);
  say(stranger, "hello\nA\n");
  const UniqueFd client = connect();
  say(client, "hello\nB\n");
  turn();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "B\n"));
  connection_->read_rest();
  EXPECT_THAT(lines_, ElementsAre("hello\n", "B\n"));
  char byte = 0;
  EXPECT_LE(recv(stranger.get(), &byte, 1, 0), 0) << "it is closed";
  EXPECT_EQ(connection_->strangers().size(), 1u);
}

TEST_F(ResultConnectionTest, AStrangerWhoIsThereAtTheEndIsNamed) {
  const UniqueFd stranger = connect(/*of_case=*/false);
  say(stranger, "hello\nA\n");
  connection_->read_rest();
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_THAT(connection_->kept(), IsEmpty());
  EXPECT_EQ(connection_->strangers().size(), 1u);
}

TEST_F(ResultConnectionTest, OneThatWasQuickToCloseIsKept) {
  {
    const UniqueFd client = connect();
    say(client, "hello\nA\n");
  }
  connection_->read_rest();
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_FALSE(connection_->has_speaker());
  EXPECT_THAT(connection_->kept(), ElementsAre("hello\n", "A\n"));
}

}  // namespace
}  // namespace proctor
