// Wire: a connection to a server. Commands are sent without waiting; one run reads all their
// answers. A refused command keeps none of the others from running.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/failure.h"
#include "stores/redis/reply.h"
#include "stores/redis/transport.h"
#include "stores/redis/url.h"
#include "system/short_wait.h"

namespace semel::redis {

// What a lost connection means for what was just sent.
enum class Loss {
  kNothingDone,  // it only looked, or may be said again
  kInDoubt,      // it may have been done
};

// Not for several threads.
class Wire {
 public:
  // Connects, logs in and takes the database. Throws core::Failure.
  explicit Wire(const Target& target);

  void send(const std::vector<BytesView>& arguments);
  // Sends what can be sent without waiting: for who asks several servers before it reads.
  void begin() noexcept { flush(); }
  // Answers in the order of what was sent; errors are among them. Throws only where the connection
  // is lost or silent for too long, and says then what `loss` says, unless not a byte had left. It
  // is over with it then.
  std::vector<Reply> run(Loss loss);
  // One command; throws what the server refuses too.
  Reply ask(const std::vector<BytesView>& arguments, Loss loss);

  // Open, and nothing came that nobody asked for. Does not wait.
  bool whole() const noexcept { return !broken_ && expected_ == 0 && socket_.quiet(); }
  // The name of this life of the server, as INFO tells it: after a restart, and on a server that
  // took over, it is another.
  const std::string& run_id() const noexcept { return run_id_; }

 private:
  void log_in(const Target& target);
  void take(const std::string& info);
  bool flush() noexcept;
  void read_some(std::vector<Reply>& replies, Loss loss);
  [[noreturn]] void lost(Loss loss, const std::string& why);

  const std::string place_;
  std::chrono::milliseconds answer_timeout_;
  Transport socket_;
  system::ShortWait short_wait_;
  Reader reader_;
  std::string out_;
  std::size_t written_ = 0;  // of out_
  std::size_t expected_ = 0;
  bool broken_ = false;
  std::string last_words_;  // an error after which the server ends the connection
  std::string run_id_;
};

// The value behind "name:" in what INFO tells; empty where it does not stand there.
std::string info_field(std::string_view info, std::string_view name);

// What is thrown for an error reply.
core::Failure failure_of(const Reply& refused);

}  // namespace semel::redis
