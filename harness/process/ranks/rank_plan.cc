#include "harness/process/ranks/rank_plan.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "harness/base/argv.h"
#include "harness/base/json.h"
#include "harness/base/regular_file.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

using nlohmann::json;

// An environment can contain any bytes, and JSON contains text. Each byte becomes the character with its
// number.
std::string text_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) text += c;
    if (byte >= 0x80) text += {static_cast<char>(0xC0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))};
  }
  return text;
}

std::string bytes_of(const json& value) {
  const std::string text = value;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool one = byte < 0x80 || i + 1 == text.size();
    bytes += one ? text[i] : static_cast<char>(byte << 6 | (text[++i] & 0x3F));
  }
  return bytes;
}

json texts_of(const std::vector<std::string>& list) {
  json texts = json::array();
  for (const std::string& bytes : list) texts.push_back(text_of(bytes));
  return texts;
}

std::vector<std::string> list_of(const json& texts) {
  std::vector<std::string> list;
  for (const json& text : texts) list.push_back(bytes_of(text));
  return list;
}

}  // namespace

std::string to_text(const RankPlan& plan) {
  json document = {{"argv", texts_of(plan.argv)},    {"rendezvous", text_of(plan.rendezvous)},
                   {"events", plan.events},          {"skip_code", plan.skip_code},
                   {"grace_ms", plan.grace.count()}, {"ranks", json::array()}};
  for (const RankSpec& rank : plan.ranks)
    document["ranks"].push_back({{"env", texts_of(rank.env)}, {"log", text_of(rank.log)}});
  return document.dump();
}

Result<void> write_rank_plan(const RankPlan& plan, const std::string& path) {
  return write_new_file(path, to_text(plan));
}

std::vector<std::string> supervisor_command(const std::string& program, const std::string& path) {
  return {program, "launch-ranks", path};
}

Result<RankPlan> parse_rank_plan(std::string_view text) {
  const json document = parse_json(text);
  try {
    RankPlan plan;
    plan.argv = list_of(document.at("argv"));
    plan.rendezvous = bytes_of(document.at("rendezvous"));
    plan.events = document.at("events");
    plan.skip_code = document.at("skip_code");
    plan.grace = Milliseconds(document.at("grace_ms").get<std::int64_t>());
    for (const json& rank : document.at("ranks"))
      plan.ranks.push_back({.env = list_of(rank.at("env")), .log = bytes_of(rank.at("log"))});
    if (!plan.argv.empty() && !plan.ranks.empty()) return plan;
  } catch (const json::exception&) {
    // The error below reports it.
  }
  return Error::usage("read the plan of the ranks: it is not valid");
}

std::vector<std::string> rank_environment(std::vector<std::string> env, int rank, int world, int port,
                                          const std::string& rendezvous) {
  const std::pair<const char*, std::string> variables[] = {
      {child::kRankVariable, std::to_string(rank)},
      {child::kWorldSizeVariable, std::to_string(world)},
      {child::kLocalRankVariable, std::to_string(rank)},
      {child::kLocalWorldSizeVariable, std::to_string(world)},
      {child::kMasterAddressVariable, "127.0.0.1"},
      {child::kMasterPortVariable, std::to_string(port)},
      {child::kRendezvousVariable, rendezvous},
  };
  for (const auto& [name, value] : variables) set_variable(env, name, value);
  return env;
}

namespace {

UniqueFd tcp_socket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<int> reserve_port() {
  const auto failed = [] { return Error::system("reserve a port on 127.0.0.1", errno); };
  const UniqueFd listener = tcp_socket();
  UniqueFd client = tcp_socket();
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (!listener || !client) return failed();
  if (setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0) return failed();
  if (bind(listener.get(), raw, size) != 0 || getsockname(listener.get(), raw, &size) != 0) return failed();
  if (listen(listener.get(), 1) != 0 || connect(client.get(), raw, size) != 0) return failed();
  UniqueFd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) return failed();
  accepted.reset();  // the end that closes first, which is the listening side, keeps the port in TIME_WAIT
  client.reset();
  return ntohs(address.sin_port);
}

}  // namespace proctor
