// ConfirmChannel: publishes on one connection, and the broker confirms each message.
//
// One thread at a time. A call may wait for room in the socket: shut the socket down to end that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>

#include "clients/rabbitmq/connection.h"
#include "handlers/rabbitmq/outgoing.h"

namespace semel::rabbitmq {

class ConfirmChannel {
 public:
  // A message that no queue takes, as it was returned. Its confirm follows.
  struct Returned {
    core::RabbitmqPublishSpec::Route route;
    std::string message_id;
    std::string why;
    Bytes payload;
  };

  // Called from within read().
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // Numbers count the channel's messages from 1. `multiple`: covers all up to it.
    virtual void on_confirm(std::uint64_t number, bool multiple, bool taken) = 0;
    virtual void on_return(Returned returned) = 0;
    // The broker reads nothing for now; nullopt: it reads again.
    virtual void on_blocked(std::optional<std::string> why) = 0;
  };

  // `known`: as for refusal_of(). Both outlive it.
  ConfirmChannel(const core::RabbitmqAccess& access, Watcher& watcher, bool known);

  // Call these one after the other. After a failure the channel cannot be used any more.
  Result<void> open(const core::RabbitmqNode& node) { return connection_.open(node); }
  Result<void> begin();

  int descriptor() const noexcept { return connection_.descriptor(); }
  std::chrono::milliseconds patience() const noexcept { return connection_.patience(); }
  bool has_more() const noexcept { return connection_.has_more(); }
  // The most bytes of a frame.
  std::size_t frame_limit() const noexcept;

  // Whether an exchange of this name exists. Waits for the answer.
  Result<bool> has_exchange(std::string_view name);
  // Returns the message's number.
  Result<std::uint64_t> publish(const Outgoing& outgoing, BytesView payload);
  Result<void> read(std::size_t frames);
  Result<void> close(Connection::Deadline deadline) { return connection_.close(deadline); }

  // Why the broker closed the channel: a reply code and its words.
  struct Closed {
    int code = 0;
    std::string said;
  };
  const std::optional<Closed>& closed() const noexcept { return closed_; }

 private:
  struct Coming {
    Returned returned;
    std::uint64_t size;
    bool began;
  };
  Result<void> take(const amqp_frame_t_& frame);
  Result<void> take_method(const amqp_method_t_& method);

  Watcher& watcher_;
  Connection connection_;
  std::uint64_t published_ = 0;
  bool asks_ = false;  // the channel for checks is open
  std::optional<Coming> coming_;
  std::optional<Closed> closed_;
};

}  // namespace semel::rabbitmq
