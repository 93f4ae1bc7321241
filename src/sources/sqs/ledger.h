// Ledger: the messages received from one queue, those still to be deleted there, and until when
// they are hidden from others. Pure; not thread-safe.
//
// A message that is given back waits here again. The service would count its next receive, and a
// redrive policy moves messages received too often.
//
// Receipts fence nothing: a message whose hiding ended too early may be received by another
// process, and its deletion here may or may not succeed. Only the record decides.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "core/delivery_ledger.h"
#include "core/sqs_spec.h"

namespace semel::sqs {

class Ledger {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `visibility`: how long a receive, and a renewal, hides a message.
  explicit Ledger(std::chrono::milliseconds visibility) : visibility_(visibility) {}

  void arrived(std::unique_ptr<Arrival> arrival, std::string receipt, TimePoint now);

  // Takes the first message that waits; it is out from then on, and kept until it is settled. Null:
  // none waits. A message that is no longer hidden is forgotten: it is received again, by some
  // process. All messages of its group that wait behind it are forgotten too: they would overtake
  // it.
  struct Taken {
    std::uint64_t tag = 0;
    const Arrival* arrival = nullptr;  // valid until the next call
  };
  Taken take(TimePoint now);
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }
  // Up to a batch of receipts of forgotten messages of groups, to be made visible to others now: a
  // group continues when none of its messages is hidden.
  std::vector<std::string> take_forgotten();
  // Forgets all messages that wait. The others are renewed no more, and so visible to others soon.
  void let_go();
  bool has_forgotten() const noexcept { return !forgotten_.empty(); }

  // False where `tag` is not out: settled before, or never received.
  bool settle(std::uint64_t tag, Settlement::Kind kind);
  // When the oldest of those that are not settled was sent, by its broker; none: nothing is open.
  std::optional<std::chrono::system_clock::time_point> oldest_sent() const;
  std::size_t open() const noexcept { return deliveries_.open(); }

  // Up to a batch of receipts to delete now; the caller must delete them.
  std::vector<std::string> take_deletes();
  // They were not deleted, and must be tried again.
  void put_back(std::vector<std::string> receipts);
  // Likewise, each in a batch of its own: one of them may be why all were refused.
  void put_back_alone(std::vector<std::string> receipts);
  std::size_t deletes() const noexcept { return deletes_.size() + alone_.size(); }

  struct Renewal {
    std::uint64_t tag = 0;
    std::string receipt;
    std::chrono::milliseconds by{0};
  };
  // Up to a batch of messages to renew from now on; they are in progress then.
  std::vector<Renewal> take_renewals(TimePoint now);
  // When the next renewal is due; nullopt: nothing is open, or all are in progress.
  std::optional<TimePoint> renewal_due() const;
  // The result of a renewal. `gone`: the receipt is no longer valid; there is no next attempt.
  // False where the message was settled meanwhile: then the result means nothing. `alone`: its
  // whole batch was refused, perhaps because of another; next time it is sent alone.
  enum class Renewed { kYes, kNotNow, kAlone, kGone };
  bool renewed(const Renewal& renewal, Renewed how, TimePoint begun, TimePoint now);

  // Up to a batch of all open messages, to be made visible to others now. They are forgotten.
  std::vector<std::string> take_open();

 private:
  struct Hidden {
    std::string receipt;  // empty: to be forgotten when its turn comes
    std::string group;    // of a FIFO queue
    TimePoint received;
    TimePoint until;
    TimePoint due;  // when to renew
    bool under_way = false;
    bool lost = false;
    bool out = false;
    bool alone = false;
  };
  using AllHidden = std::map<std::uint64_t, Hidden>;
  void forget(AllHidden::iterator hidden, TimePoint now);
  void plan(Hidden& hidden, TimePoint from) const;

  const std::chrono::milliseconds visibility_;
  core::DeliveryLedger<std::unique_ptr<Arrival>> deliveries_;
  AllHidden hidden_;  // of the open messages
  std::deque<std::string> forgotten_;
  std::deque<std::string> deletes_;
  std::deque<std::string> alone_;
  std::uint64_t last_ = 0;
};

}  // namespace semel::sqs
