#include "harness/process/socket_holder.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

class SocketHolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    client_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(bind(listener.get(), raw, size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), raw, &size), 0);
    ASSERT_EQ(connect(client_.get(), raw, size), 0);
    server_ = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(server_);
  }

  static std::uint64_t inode_of(const UniqueFd& fd) {
    struct stat info {};
    EXPECT_EQ(fstat(fd.get(), &info), 0);
    return info.st_ino;
  }

  UniqueFd client_;
  UniqueFd server_;
};

TEST_F(SocketHolderTest, TheOtherEndIsFound) {
  EXPECT_EQ(inode_of_peer(server_.get()), inode_of(client_));
  EXPECT_EQ(inode_of_peer(client_.get()), inode_of(server_));
}

TEST_F(SocketHolderTest, AClosedEndHasNoOwner) {
  client_.reset();
  EXPECT_EQ(inode_of_peer(server_.get()), 0u);
}

TEST_F(SocketHolderTest, OnlyAProcessOfTheTreeHoldsIt) {
  const std::uint64_t inode = inode_of(client_);
  EXPECT_TRUE(tree_holds_socket(getppid(), inode));
  EXPECT_FALSE(tree_holds_socket(getppid(), inode_of(client_) + 1'000'000'000));
  EXPECT_FALSE(tree_holds_socket(getpid(), inode)) << "a process is no descendant of its own";
}

}  // namespace
}  // namespace proctor
