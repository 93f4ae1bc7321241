// Connection: one connection to one server of NATS.
//
// It never connects again by itself: its owner does, by another one, so that whoever settles knows
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
  // `known`: as connect_error() takes it. `access` outlives it.
  Connection(const core::NatsAccess& access, bool known);

  // After a failure it is good for nothing more. Waits for no more than some seconds: cnats bounds
  // neither a handshake nor the search for an address, so a thread of its own makes the connection,
  // and is left behind where it takes too long.
  Result<void> open(const core::NatsNode& node);

  // The body of the answer. kUnavailable: none came within `patience`; kRejected: there is nobody
  // who would answer, or this user may not ask.
  Result<std::string> ask(const std::string& subject, std::string_view body,
                          std::chrono::milliseconds patience);
  // On its way soon; lost without notice where the connection ends.
  Result<void> send(const std::string& subject, std::string_view body,
                    const std::string& reply = {});

  // The server refused something that was sent, for want of a right; it says so once, and beside
  // what was asked. kRejected: waiting gives no right. None where it is one to ask how long a
  // stream keeps its messages, which nobody needs who reads it.
  std::optional<Error> denied() const;

  // From here on it does what it is for: see connect_error().
  void set_known() noexcept { known_ = true; }
  bool known() const noexcept { return known_; }
  // The cause that ended it, or a call on it.
  Error lost(int status) const;

  // Ends what waits on it, open() too. From any thread, while it lives; it may wait for some
  // seconds until what was to be sent is sent.
  void cut() const;

  // For subscriptions. cnats' own threads and ours may use it side by side.
  __natsConnection* handle() const noexcept { return connection_.get(); }

 private:
  // Shared by open() and the thread that connects.
  struct Opening;

  Result<OptionsPtr> options(const core::NatsNode& node) const;
  Result<void> use_tls(__natsOptions& options, const core::NatsNode& node) const;

  // The server's last words, where a right is missing; else empty.
  std::string denied_words() const;

  const core::NatsAccess& access_;
  bool known_;
  std::string place_;  // host:port
  ConnectionPtr connection_;
  std::shared_ptr<Opening> opening_;
};

}  // namespace semel::nats
