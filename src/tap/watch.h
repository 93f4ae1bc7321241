// Watch: the client of all Servers next to one database, as they come and go.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <semel/result.h>

#include "system/descriptor.h"
#include "tap/socket_directory.h"
#include "tap/wire.h"

namespace semel::tap {

// The events, in order.
struct Attached {
  std::int64_t pid;
};
struct Detached {
  std::int64_t pid;
  bool whole;  // it said goodbye: nothing is missing
};
struct Shown {
  std::int64_t pid;
  DeliveryEvent event;
};
struct Missed {
  std::int64_t pid;
  std::uint64_t count;
};
// A run that cannot be watched: reported once, and retried.
struct Unwatchable {
  Error error;
};
using Event = std::variant<Attached, Detached, Shown, Missed, Unwatchable>;

// One thread at a time.
class Watch {
 public:
  Watch(std::string database, Request request);

  // Looks for runs, waits until one sends something, a descriptor of `others` is ready (its revents
  // are set) or `patience` is over, and passes events to `see`, until that returns false. R201
  // where the store's directory cannot be used.
  Result<void> step(std::span<pollfd> others, std::chrono::milliseconds patience,
                    const std::function<bool(Event)>& see);

  // Runs that said hello and run the consumer.
  std::size_t attached() const noexcept;
  // Whether no run said hello, or may still say it.
  bool nobody() const noexcept;

 private:
  struct Run {
    std::string name;
    system::Descriptor socket;
    std::string heard{};
    std::size_t scanned = 0;
    std::optional<Hello> hello{};
    bool goodbye = false;
    bool ended = false;
  };
  using See = std::function<bool(Event)>;

  Result<void> look(const See& see);
  void watch_folder(const SocketDirectory& place);
  void reach(const SocketDirectory& place, const std::string& name, const See& see);
  bool read(Run& run, const See& see);
  bool hear(Run& run, std::string_view line, const See& see);
  bool give_up(Run& run, const See& see, std::string why);

  const std::string database_;
  const Request request_;
  system::Descriptor inotify_;
  std::chrono::steady_clock::time_point next_look_{};
  std::vector<std::unique_ptr<Run>> runs_;
  std::set<std::string> told_;  // names of those reported as not watchable
  LineParser parser_;
};

}  // namespace semel::tap
