// Connection: a connection to a Redis server. Commands are sent without waiting; one run reads all
// their replies. A refused command does not prevent the others.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clients/redis/reply.h"
#include "clients/redis/transport.h"
#include "clients/redis/url.h"
#include "core/failure.h"
#include "system/short_wait.h"

namespace semel::redis {

// How a lost connection is classified for the commands just sent.
enum class Loss {
  kNothingDone,  // they only read, or may be repeated
  kInDoubt,      // they may have been done
};

// Not thread-safe.
class Connection {
 public:
  // Connects, logs in and selects the database, all within the target's connect_timeout. Throws
  // core::Failure.
  explicit Connection(const Target& target);

  void send(const std::vector<BytesView>& arguments);
  // Sends as much as fits without waiting, so that several servers work before the first reply is
  // read.
  void begin() noexcept { flush(); }
  // Returns the replies in the order of the commands, error replies included. Throws core::Failure
  // only if the connection is lost or silent for too long, which also ends it; the error's kind
  // follows `loss`, unless not a byte had been sent.
  std::vector<Reply> run(Loss loss);
  // For a caller that itself waits with poll(2) on several descriptors. The descriptor is readable
  // when data have arrived.
  int descriptor() const noexcept { return socket_.descriptor(); }
  // Returns all replies to what was sent once they have arrived; nullopt before. Never waits: the
  // caller must detect a silent server. Throws like run().
  std::optional<std::vector<Reply>> take_replies(Loss loss);
  // For a caller that continues to send while it waits. Returns the replies that have arrived, in
  // the order of the commands; later calls return the others. Throws like run(), but only once
  // there is none left to return.
  std::vector<Reply> take_some(Loss loss);
  // Some data wait for room in the socket: the caller must also poll for that.
  bool has_unsent() const noexcept { return written_ < out_.size() || socket_.has_unsent(); }
  // Sends one command and throws core::Failure also if the server refuses it. `until` limits the
  // wait in addition to the answer timeout.
  Reply ask(const std::vector<BytesView>& arguments, Loss loss,
            Socket::Clock::time_point until = Socket::Clock::time_point::max());

  // Whether every reply has been read and nothing has failed. Does not check the socket, so the
  // server may have ended the connection since.
  bool sound() const noexcept { return !broken_ && expected_ == 0; }
  // Whether the connection is sound, open and has nothing left to read. Does not wait.
  bool whole() const noexcept { return sound() && socket_.quiet(); }
  // The run id of the server, from INFO: it changes with a restart or a failover.
  const std::string& run_id() const noexcept { return run_id_; }

 private:
  void log_in(const Target& target);
  void take(const std::string& info);
  bool flush() noexcept;
  std::ptrdiff_t receive(char* into, std::size_t size, Loss loss);
  void read_some(std::vector<Reply>& replies, Loss loss);
  void parse(std::string_view bytes, std::vector<Reply>& replies, Loss loss);
  std::vector<Reply> all_read(std::vector<Reply> replies);
  [[noreturn]] void lost(Loss loss, const std::string& why);

  const std::string endpoint_;
  std::chrono::milliseconds answer_timeout_;
  Socket::Clock::time_point deadline_;
  Transport socket_;
  system::ShortWait short_wait_;
  Reader reader_;
  std::string out_;
  std::size_t written_ = 0;  // of out_
  std::size_t expected_ = 0;
  std::vector<Reply> taken_;  // by take_replies(), while some are still missing
  bool broken_ = false;
  std::string last_words_;  // an error reply after which the server ends the connection
  std::string run_id_;
};

// The value of a field in the reply to INFO; empty if there is no such field.
std::string info_field(std::string_view info, std::string_view name);

// The failure to throw for an error reply.
core::Failure failure_of(const Reply& refused);

// The same failure, when the command may have been carried out.
core::Failure in_doubt(const core::Failure& failed);
// Whether at least one command was carried out.
bool any_done(std::span<const Reply> replies);

}  // namespace semel::redis
