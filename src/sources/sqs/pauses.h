// Pauses: when each kind of call may be made again after it failed. Pure; not thread-safe.
//
// Kinds fail separately. A service that returns no messages may still accept deletions, which make
// room for more; and renewals must not wait for either, or messages being handled become visible to
// others.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace semel::sqs {

enum class CallKind : std::uint8_t { kLook, kReceive, kDelete, kRenew };

class Pauses {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `visibility`: renewals pause for a small fraction of it at most.
  explicit Pauses(std::chrono::milliseconds visibility);

  bool may_call(CallKind kind, TimePoint now) const { return now >= of(kind).until; }
  TimePoint until(CallKind kind) const { return of(kind).until; }
  // Failures of this kind since its last answer.
  std::size_t failures(CallKind kind) const { return of(kind).failures; }

  // Several concurrent calls of one kind that fail count as one: false where this one did not
  // count.
  bool failed(CallKind kind, TimePoint now, std::uint64_t random);
  void answered(CallKind kind);
  // Makes no call of this kind before `until`, though none failed.
  void put_off(CallKind kind, TimePoint until);
  // Allows all calls now, as if nothing had failed.
  void forget();

 private:
  struct Kind {
    std::size_t failures = 0;
    TimePoint until{};
  };
  static constexpr std::size_t kKinds = 4;
  Kind& of(CallKind kind) { return kinds_[static_cast<std::size_t>(kind)]; }
  const Kind& of(CallKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }

  const std::chrono::milliseconds longest_renewal_pause_;
  std::array<Kind, kKinds> kinds_{};
};

}  // namespace semel::sqs
