// ClusterFinish: the end of a batch on a Cluster, where a record, the rows that wait for it and its
// letter are on different nodes.
//
// One script on a single server becomes several steps here. Each is sent to all nodes concerned
// before an answer is read:
//
//   1. mark    a finish whose lease is lost is refused and changes nothing; the record of a message
//              to be held notes that a row may exist
//   2. keep    rows, dead letters and outgoing messages are written
//   3. record  by compare-and-set on the nonce
//   4. settle  rows are removed or parked; a row written for a lease that was lost after all
//              becomes visible immediately, or is removed
//
// A stop in between leaves one row or letter too many, and never one too few:
//
//   - Before 3 the record is still in progress, and is taken over when its lease is over. A row
//     that was kept meets it then, like a second delivery.
//   - Before 4 a row that was to be removed comes back, and meets a record that has its outcome.
//   - A row that is to be parked becomes visible by itself until step 4. If it meets its record
//     parked, or not due yet because the clocks of two nodes differ, it is not removed as any other
//     row would be, but parked, or hidden until then.
//   - A record may be unlocked while its row is being parked. Parking a row looks at the record
//     again, and unlocking a record looks at the row again: the later of the two shows it.
//   - A record may be forgotten or unlocked before 4, and have another row. A row that did not
//     come with the message goes only if the record is still over after the row was found.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// Thread-safe.
class ClusterFinish {
 public:
  // In ms; empty: none.
  using Ttl = std::function<std::string(const Finish&)>;

  explicit ClusterFinish(StoreContext& context) : context_(context) {}

  // Throws core::Failure; in doubt once a record may have been written.
  std::vector<Applied> end(std::span<const Finish> batch, const Ttl& ttl);

 private:
  struct Ending;

  void end_some(std::vector<Ending>& endings, const Ttl& ttl);
  void mark(std::vector<Ending>& endings);
  void hold(std::vector<Ending>& endings);
  void find_bodies(std::vector<Ending>& endings);
  void write_dead_letter(std::vector<Ending>& endings);
  void send(std::vector<Ending>& endings);
  void write(std::vector<Ending>& endings, const Ttl& ttl);
  void settle(std::vector<Ending>& endings);
  void drop_left(const std::vector<Reply>& settled);
  void take_back(const std::vector<Ending>& endings);
  // Removes rows without a record.
  void acknowledge(std::vector<Ending>& endings);
  void settle_met(std::vector<Ending>& met);
  std::vector<Bytes> states_of(std::span<const Ending> endings);
  // Shows the rows of entries whose records no longer wait for a person.
  void unpark(std::span<const Ending> parked);

  StoreContext& context_;
};

}  // namespace semel::redis
