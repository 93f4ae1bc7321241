// Ledger: what was received of one queue, what of it is still to be deleted there, and until when
// it is hidden from others. Pure; not thread-safe.
//
// A message that is given back waits here again. The service would count its next receive, and a
// redrive policy takes away what was received too often.
//
// No receipt fences anything: a message that was hidden for too short a time may be received by
// somebody else, and its deletion here may or may not succeed. The record alone decides.
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

  // `visibility`: for how long a receive, and a renewal, hides a message.
  explicit Ledger(std::chrono::milliseconds visibility) : visibility_(visibility) {}

  void arrived(std::unique_ptr<Arrival> arrival, std::string receipt, TimePoint now);

  // The first one that waits, which is out from here on and kept until it is settled; null: none
  // waits. One whose time to be hidden is over is forgotten: it is received again, by somebody.
  // All that waits behind it of its message group is forgotten too: it would overtake it.
  struct Taken {
    std::uint64_t tag = 0;
    const Arrival* arrival = nullptr;  // good until something else is called
  };
  Taken take(TimePoint now);
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }
  // Up to a batch of receipts of such groups that were forgotten, for the service to give to others
  // at once: a group moves on when nothing of it is hidden.
  std::vector<std::string> take_forgotten();
  bool has_forgotten() const noexcept { return !forgotten_.empty(); }

  // False where `tag` is not out: settled before, or never received.
  bool settle(std::uint64_t tag, Settlement::Kind kind);
  // When the oldest of those that are not settled was sent, by its broker; none: nothing is open.
  std::optional<std::chrono::system_clock::time_point> oldest_sent() const;
  std::size_t open() const noexcept { return deliveries_.open(); }

  // Up to a batch of receipts to delete now; they are taken to be deleted.
  std::vector<std::string> take_deletes();
  // They were not, and are to be tried again.
  void put_back(std::vector<std::string> receipts);
  // Likewise, each in a batch of its own: one of them may be why all were refused.
  void put_back_alone(std::vector<std::string> receipts);
  std::size_t deletes() const noexcept { return deletes_.size() + alone_.size(); }

  struct Renewal {
    std::uint64_t tag = 0;
    std::string receipt;
    std::chrono::milliseconds by{0};
  };
  // Up to a batch of those that are to be hidden for longer, from now on; they are under way then.
  std::vector<Renewal> take_renewals(TimePoint now);
  // When the next of them is due; none: nothing is open, or all are under way.
  std::optional<TimePoint> renewal_due() const;
  // How it went. `gone`: the receipt means nothing any more; the next try is left out. False where
  // the message was settled meanwhile: how it went says nothing then.
  // `alone`: its batch was refused whole, perhaps for another's sake; the next has it alone.
  enum class Renewed { kYes, kNotNow, kAlone, kGone };
  bool renewed(const Renewal& renewal, Renewed how, TimePoint begun, TimePoint now);

  // Up to a batch of all that is open, for the service to give to others at once. They are
  // forgotten.
  std::vector<std::string> take_open();

 private:
  struct Hidden {
    std::string receipt;  // empty: it is to be forgotten when its turn comes
    std::string group;    // of a FIFO queue
    TimePoint received;
    TimePoint until;
    TimePoint due;  // to be renewed
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
  AllHidden hidden_;  // what is open
  std::deque<std::string> forgotten_;
  std::deque<std::string> deletes_;
  std::deque<std::string> alone_;
  std::uint64_t last_ = 0;
};

}  // namespace semel::sqs
