// ConfirmedConnection: publishes on one connection, and collects the stream's answer to each
// message.
//
// One thread publishes. Answers arrive on a thread of cnats', and wait here until they are taken.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/result.h>

#include "clients/nats/connection.h"
#include "core/nats_publish_spec.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::nats {

class ConfirmedConnection {
 public:
  struct Confirm {
    std::uint64_t number = 0;
    bool nobody = false;  // no stream takes the subject
    std::string body;
  };

  // `news` is signalled when there is something to take. `known`: as for connect_error(). All
  // outlive it.
  ConfirmedConnection(const core::NatsAccess& access, system::EventFd& news, bool known);
  ~ConfirmedConnection();
  ConfirmedConnection(const ConfirmedConnection&) = delete;
  ConfirmedConnection& operator=(const ConfirmedConnection&) = delete;

  // After a failure it cannot be used any more. Waits for some seconds at most.
  Result<void> open(const core::NatsNode& node);

  // The next message to publish.
  struct Outgoing {
    const std::string& subject;
    const std::string& id;
    const Headers& headers;
    BytesView payload;
  };
  // kInvalid: the client library does not send such a message.
  enum class Sent { kYes, kTooLarge, kInvalid };
  // A failure: the connection is over, and some of it may have gone.
  Result<Sent> publish(std::uint64_t number, const Outgoing& outgoing);

  struct News {
    std::vector<Confirm> confirms;
    bool over = false;  // the connection is
  };
  News take_news();
  // The error that ended it.
  Error ended() const;
  // The right that this user lacks, as last reported by the server; empty: none.
  std::string denied() const;
  std::int64_t max_payload() const;

 private:
  class Inbox;
  struct Callbacks;

  Connection connection_;
  std::string inbox_;
  std::shared_ptr<Inbox> answers_;
  SubscriptionPtr subscription_;
};

// The meaning of cnats' status for a message; nullopt: the connection is over.
std::optional<ConfirmedConnection::Sent> sent_of(int status);

}  // namespace semel::nats
