// RedisStream: a stream of a Redis server that tests fill, and its group as the server sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace semel::test {

// A failure throws std::runtime_error. Methods that are const may be called from any thread.
class RedisStream {
 public:
  // Runs one command and returns its answer.
  using Run = std::function<std::string(const std::vector<std::string>& words)>;

  RedisStream(Run run, std::string name) : run_(std::move(run)), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  static std::string group() { return "readers"; }
  // Makes the group, from the first entry on.
  void make_group() const { run_({"XGROUP", "CREATE", name_, group(), "0", "MKSTREAM"}); }
  // An entry for each, with the field `payload`.
  void add(const std::vector<std::string>& payloads) const;
  // Adds one entry with these fields and values.
  std::string add_fields(const std::vector<std::string>& fields) const;
  std::string run(std::vector<std::string> words) const { return run_(words); }

  // The number of messages that were delivered and not acknowledged.
  std::int64_t pending() const;
  // Not delivered yet, while nothing was trimmed.
  std::int64_t unread() const;
  bool all_done() const { return pending() == 0 && unread() == 0; }
  // The names of the members, one a line.
  std::string members() const;

 private:
  std::string group_info() const { return run_({"XINFO", "GROUPS", name_}); }

  const Run run_;
  const std::string name_;
};

}  // namespace semel::test
