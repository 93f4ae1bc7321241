// Connection: one connection to one NATS server.
//
// It never reconnects by itself: its owner makes a new connection, so that the code which settles a
// delivery knows which connection it arrived on. Not thread-safe, except for uses of handle().
// which connection a delivery came by. One thread at a time, but for what handle() is for.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>

#include "clients/nats/handles.h"
#include "core/nats_spec.h"

namespace semel::nats {

class Connection {
 public:
  // `known`: see connect_error(). `access` must outlive the connection.
  Connection(const core::NatsAccess& access, bool known);

  // A connection whose open() failed cannot be used any more. Waits for at most a few seconds:
  // cnats limits neither a handshake nor a name lookup, so a separate thread connects, and is
  // abandoned if it takes too long.
  Result<void> open(const core::NatsNode& node);

  // Returns the body of the answer. kUnavailable: no answer within `patience`; kRejected: the
  // subject has no responder, or this user may not ask.
  Result<std::string> ask(const std::string& subject, std::string_view body,
                          std::chrono::milliseconds patience);
  // Queues a message for sending; it is lost without notice if the connection ends.
  Result<void> send(const std::string& subject, std::string_view body,
                    const std::string& reply = {});

  // An error if the server refused something that was sent for lack of a right; the server reports
  // that once, and separately from the answer. kRejected: waiting gives no right. It
  // ignores a refused question how long a stream keeps its messages: reading does not need that.
  std::optional<Error> denied() const;
  // The words in which the server has forbidden something; empty: it has not.
  std::string denied_words() const;

  // From now on the connection counts as proven: see connect_error().
  void set_known() noexcept { known_ = true; }
  bool known() const noexcept { return known_; }
  // The cause that ended the connection or a call on it.
  Error lost(int status) const;

  // Ends all waits on the connection, including open(). Thread-safe while the connection lives; may
  // itself wait for some seconds until pending data are sent.
  void cut() const;

  // For subscriptions. Threads of cnats and of Semel may use it concurrently.
  __natsConnection* handle() const noexcept { return connection_.get(); }

 private:
  // Shared by open() and the thread that connects.
  struct Opening;

  Result<OptionsPtr> options(const core::NatsNode& node) const;
  Result<void> use_tls(__natsOptions& options, const core::NatsNode& node) const;

  const core::NatsAccess& access_;
  bool known_;
  std::string place_;  // host:port
  ConnectionPtr connection_;
  std::shared_ptr<Opening> opening_;
};

}  // namespace semel::nats
