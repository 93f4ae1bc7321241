// Schedule: what a run delivers, in which order and batches, and at which points it has which
// fault.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::testkit {

struct Fault {
  enum class Kind { kCrash, kPause };
  Kind kind = Kind::kCrash;
  std::size_t at = 0;  // the number of the point that the run passes, from 1
  bool operator==(const Fault&) const = default;
};

struct Schedule {
  // Indexes of messages in the caller's list. A batch is received together.
  std::vector<std::vector<std::size_t>> batches;
  std::vector<Fault> faults;
  bool operator==(const Schedule&) const = default;
};

std::string to_text(const Fault& fault);
// "1+2 1 crash@7 pause@9": the first two messages together, the first one again, and two faults.
std::string to_text(const Schedule& schedule);
// nullopt where `text` is no schedule of so many messages.
std::optional<Schedule> schedule_from(std::string_view text, std::size_t messages);

}  // namespace semel::testkit
