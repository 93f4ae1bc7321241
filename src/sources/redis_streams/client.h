// Client: a member of a group, as its server sees it. Two connections: on one it waits for new
// entries, the other serves all other commands.
//
// One thread at a time. All methods throw core::Failure: kUnavailable or kInDoubt where the
// connection is lost, and then the client cannot be used any more; all commands may be repeated on
// a new one.
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

  // Creates the group if the spec asks for it and it is missing.
  void declare();

  // Reads new entries. begin_read() requests them, and take_read() returns them; if none arrive
  // within `block`, the answer is empty.
  void begin_read(std::size_t most, std::chrono::milliseconds block, TimePoint now);
  bool reading() const noexcept { return reading_until_.has_value(); }
  std::optional<std::vector<Entry>> take_read(TimePoint now);
  int descriptor() const noexcept { return reads_->descriptor(); }

  // Entries pending for this member, after that id; without data where the entry was deleted.
  std::vector<Entry> own_behind(const EntryId& id, std::size_t most);

  // An entry pending for another member that was silent for `claim_after`.
  struct Idle {
    EntryId id;
    std::string member;
  };
  std::vector<Idle> idle_behind(const std::optional<EntryId>& id, std::size_t most);
  // Takes them over, except those that another member has taken meanwhile. An entry without data
  // stays pending where it is, and is returned without data.
  std::vector<Entry> take_over(const std::vector<EntryId>& ids);

  // Marks entries as being handled. Returns those that are still pending in the group.
  std::vector<EntryId> renew(const std::vector<EntryId>& ids);
  // Lets the next member that looks take them over.
  void give_back(const std::vector<EntryId>& ids);
  void acknowledge(const std::vector<EntryId>& ids);

  // Which run of which server it is.
  const std::string& server() const noexcept { return commands_->run_id(); }
  // How many entries of the group are pending for other members.
  std::int64_t pending_for_others();
  GroupState state();
  // Deletes members with names made for one run that have nothing pending: this one, or those that
  // were silent for `silence`. Without the right to run scripts they are kept.
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
  std::optional<TimePoint> reading_until_;  // after that the server counts as lost
};

// The prefix of a member's name that was made for one run.
inline constexpr std::string_view kRunsOwn = "semel-";

}  // namespace semel::redis_streams
