#include "tests/support/redis_stream.h"

#include <algorithm>
#include <sstream>

namespace semel::test {
namespace {

constexpr std::size_t kAddedAtOnce = 500;

// The line after the one that equals the name.
std::string value_in(const std::string& told, const std::string& name) {
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    if (line == name && std::getline(lines, line)) return line;
  }
  return {};
}

}  // namespace

void RedisStream::add(const std::vector<std::string>& payloads) const {
  for (std::size_t done = 0; done < payloads.size(); done += kAddedAtOnce) {
    std::vector<std::string> words{
        "EVAL", "for _, p in ipairs(ARGV) do redis.call('XADD', KEYS[1], '*', 'payload', p) end",
        "1", name_};
    const std::size_t end = std::min(payloads.size(), done + kAddedAtOnce);
    for (std::size_t i = done; i < end; ++i) words.push_back(payloads[i]);
    run_(words);
  }
}

std::string RedisStream::add_fields(const std::vector<std::string>& fields) const {
  std::vector<std::string> words{"XADD", name_, "*"};
  words.insert(words.end(), fields.begin(), fields.end());
  return run_(words);
}

std::int64_t RedisStream::pending() const { return std::stoll(value_in(group_info(), "pending")); }

std::int64_t RedisStream::unread() const {
  const std::string lag = value_in(group_info(), "lag");
  return lag.empty() ? 0 : std::stoll(lag);
}

std::string RedisStream::members() const {
  std::istringstream lines(run_({"XINFO", "CONSUMERS", name_, group()}));
  std::string names;
  for (std::string line; std::getline(lines, line);) {
    if (line == "name" && std::getline(lines, line)) names += line + "\n";
  }
  return names;
}

}  // namespace semel::test
