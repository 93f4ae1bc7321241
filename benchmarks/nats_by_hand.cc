#include "benchmarks/nats_by_hand.h"

#include <fmt/format.h>
#include <nats/nats.h>

#include <memory>

#include "benchmarks/measure.h"

namespace semel::bench {
namespace {

constexpr std::int64_t kPatienceMs = 20'000;

void check_nats(natsStatus status) {
  if (status != NATS_OK) give_up(natsStatus_GetText(status));
}

struct MessageFreed {
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
using HandMessage = std::unique_ptr<natsMsg, MessageFreed>;

// Pulls from a durable on a connection of its own, by raw requests: cnats' own way to pull overruns
// its array in the version that Debian has.
class HandPuller {
 public:
  explicit HandPuller(const Stream& stream)
      : next_(fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", stream.name, stream.durable)) {
    const std::string url = fmt::format("nats://owner:right@127.0.0.1:{}", stream.port);
    check_nats(natsConnection_ConnectTo(&connection_, url.c_str()));
    natsInbox* inbox = nullptr;
    check_nats(natsInbox_Create(&inbox));
    inbox_ = inbox;
    natsInbox_Destroy(inbox);
    check_nats(natsConnection_SubscribeSync(&subscription_, connection_, inbox_.c_str()));
  }
  ~HandPuller() {
    natsSubscription_Destroy(subscription_);
    natsConnection_Destroy(connection_);
  }
  HandPuller(const HandPuller&) = delete;
  HandPuller& operator=(const HandPuller&) = delete;

  void ask(int messages) {
    const std::string body = fmt::format(R"({{"batch":{},"expires":20000000000}})", messages);
    check_nats(natsConnection_PublishRequestString(connection_, next_.c_str(), inbox_.c_str(),
                                                   body.c_str()));
  }
  HandMessage next() {
    natsMsg* message = nullptr;
    check_nats(natsSubscription_NextMsg(&message, subscription_, kPatienceMs));
    return HandMessage(message);
  }
  void ack(const HandMessage& message) {
    check_nats(natsConnection_PublishString(connection_, natsMsg_GetReply(message.get()), "+ACK"));
  }
  void ack_and_wait(const HandMessage& message) {
    natsMsg* answer = nullptr;
    check_nats(natsConnection_RequestString(&answer, connection_, natsMsg_GetReply(message.get()),
                                            "+ACK", kPatienceMs));
    natsMsg_Destroy(answer);
  }

 private:
  const std::string next_;
  std::string inbox_;
  natsConnection* connection_ = nullptr;
  natsSubscription* subscription_ = nullptr;
};

}  // namespace

double pull_by_hand(const Stream& stream) {
  HandPuller puller(stream);
  puller.ask(kAskedFor);
  std::size_t bytes = 0;
  HandMessage message = puller.next();
  const Stopwatch watch;
  for (std::size_t i = 1;; ++i) {
    bytes += static_cast<std::size_t>(natsMsg_GetDataLength(message.get()));
    if (i == stream.messages) break;
    puller.ack(message);
    if (i % (kAskedFor / 2) == 0) puller.ask(kAskedFor / 2);
    message = puller.next();
  }
  puller.ack_and_wait(message);
  const double seconds = watch.seconds();
  if (bytes == 0) give_up("the messages are empty");
  return static_cast<double>(stream.messages) / seconds;
}

double pull_naively(const Stream& stream, const std::function<void(const std::string&)>& handle) {
  HandPuller puller(stream);
  const Stopwatch watch;
  for (std::size_t i = 0; i < stream.messages; ++i) {
    puller.ask(1);
    const HandMessage message = puller.next();
    handle(std::string(natsMsg_GetData(message.get()),
                       static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))));
    puller.ack_and_wait(message);
  }
  return static_cast<double>(stream.messages) / watch.seconds();
}

}  // namespace semel::bench
