// Client: a member of a group, as its server sees it. Two connections: on one it waits for new
// entries, all else is asked on the other.
//
// One thread at a time. All methods throw core::Failure: kUnavailable or kInDoubt where the
// connection is lost, and the client is good for nothing more; all that is asked may be asked again
// on a new one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/redis/connection.h"
#include "clients/redis/script.h"
#include "core/redis_streams_spec.h"
#include "sources/redis_streams/entry.h"
#include "sources/redis_streams/group_state.h"
#include "sources/redis_streams/place.h"

namespace semel::redis_streams {

// Asks the server. Throws core::Failure: R371 where there is no such group.
GroupState state_of_group(redis::Connection& connection, const core::RedisStreamsSpec& spec);

class Client {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `member`: its name in the group. All outlive it.
  Client(const core::RedisStreamsSpec& spec, const std::string& member, StreamPlace& place);

  // Makes the group where the spec asks for it and it is not there.
  void declare();

  // New entries. Asked for with begin_read(), and there once take_read() has them; none within
  // `block` are an empty answer.
  void begin_read(std::size_t most, std::chrono::milliseconds block, TimePoint now);
  bool reading() const noexcept { return reading_until_.has_value(); }
  std::optional<std::vector<Entry>> take_read(TimePoint now);
  int descriptor() const noexcept { return reads_->descriptor(); }

  // Entries that are pending for this member, behind that id; without data where that is gone.
  std::vector<Entry> own_behind(const EntryId& id, std::size_t most);

  // An entry that is pending for another member which has said nothing for `claim_after`.
  struct Idle {
    EntryId id;
    std::string member;
  };
  std::vector<Idle> idle_behind(const std::optional<EntryId>& id, std::size_t most);
  // Takes them over, but those that somebody else has taken meanwhile. One without data stays
  // pending where it is, and is told without.
  std::vector<Entry> take_over(const std::vector<EntryId>& ids);

  // They are worked on. Returns those that the group still has pending.
  std::vector<EntryId> renew(const std::vector<EntryId>& ids);
  // The next member that looks may take them over.
  void give_back(const std::vector<EntryId>& ids);
  void acknowledge(const std::vector<EntryId>& ids);

  // How many entries of the group are pending for others.
  std::int64_t pending_for_others();
  GroupState state();
  // Deletes members of names that were made for one run and have nothing pending: this one, or
  // those that have said nothing for `silence`. A user without the right to run scripts keeps them.
  void forget_this_member();
  void forget_members(std::chrono::milliseconds silence);

 private:
  redis::Reply ask(const std::vector<BytesView>& words);
  std::vector<redis::Reply> ask_all();
  void forget(BytesView name, std::chrono::milliseconds silence);

  const core::RedisStreamsSpec& spec_;
  const std::string& member_;
  const std::chrono::milliseconds answer_timeout_;
  std::unique_ptr<redis::Connection> commands_;
  std::unique_ptr<redis::Connection> reads_;
  std::optional<TimePoint> reading_until_;  // then the server is lost
};

// How the name of a member begins that was made for one run.
inline constexpr std::string_view kRunsOwn = "semel-";

}  // namespace semel::redis_streams
