#include "handlers/nats/confirmed_connection.h"

#include <nats/nats.h>

#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace semel::nats {

// Outlives the connection as long as a thread of cnats may call it.
class ConfirmedConnection::Inbox {
 public:
  explicit Inbox(system::EventFd& news) : wake_(&news) {}

  void add(Confirm confirm) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    if (wake_ == nullptr) return;
    news_.confirms.push_back(std::move(confirm));
    if (news_.confirms.size() == 1) wake_->signal();
  }
  void end() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    news_.over = true;
    if (wake_ != nullptr) wake_->signal();
  }
  News take() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    News taken;
    std::swap(taken, news_);
    news_.over = taken.over;
    return taken;
  }
  // After this call no answer is accepted any more.
  void leave() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    wake_ = nullptr;
  }

 private:
  system::Mutex mutex_;
  system::EventFd* wake_ SEMEL_GUARDED_BY(mutex_);
  News news_ SEMEL_GUARDED_BY(mutex_);
};

struct ConfirmedConnection::Callbacks {
  using Held = std::shared_ptr<Inbox>;

  static void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
    const MessagePtr held(message);
    const std::string_view subject = natsMsg_GetSubject(message);
    const std::string_view last = subject.substr(subject.rfind('.') + 1);
    Confirm confirm;
    std::from_chars(last.data(), last.data() + last.size(), confirm.number);
    confirm.nobody = natsMsg_IsNoResponders(message);
    const int size = natsMsg_GetDataLength(message);
    if (size > 0) confirm.body.assign(natsMsg_GetData(message), static_cast<std::size_t>(size));
    (*static_cast<Held*>(closure))->add(std::move(confirm));
  }
  // cnats calls this last.
  static void on_complete(void* closure) {
    const std::unique_ptr<Held> held(static_cast<Held*>(closure));
    (*held)->end();
  }
};

ConfirmedConnection::ConfirmedConnection(const core::NatsAccess& access, system::EventFd& news,
                                         bool known)
    : connection_(access, known), answers_(std::make_shared<Inbox>(news)) {}

ConfirmedConnection::~ConfirmedConnection() {
  answers_->leave();
  if (connection_.handle() != nullptr) natsConnection_Close(connection_.handle());
}

Result<void> ConfirmedConnection::open(const core::NatsNode& node) {
  if (auto opened = connection_.open(node); !opened) return opened;
  natsInbox* inbox = nullptr;
  natsStatus status = natsInbox_Create(&inbox);
  if (status == NATS_OK) {
    inbox_ = std::string(inbox) + ".";
    natsInbox_Destroy(inbox);
  }
  natsSubscription* made = nullptr;
  auto held = std::make_unique<Callbacks::Held>(answers_);
  if (status == NATS_OK) {
    status = natsConnection_Subscribe(&made, connection_.handle(), (inbox_ + "*").c_str(),
                                      &Callbacks::on_message, held.get());
  }
  subscription_.reset(made);
  if (status == NATS_OK) {
    // The subscription owns the object now.
    Callbacks::Held* const its = held.release();
    status = natsSubscription_SetOnCompleteCB(made, &Callbacks::on_complete, its);
  }
  if (status == NATS_OK) status = natsSubscription_SetPendingLimits(made, -1, -1);
  if (status != NATS_OK) return failure(connection_.lost(status));
  connection_.set_known();
  return {};
}

Result<ConfirmedConnection::Sent> ConfirmedConnection::publish(std::uint64_t number,
                                                               const Outgoing& outgoing) {
  if (outgoing.payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Sent::kTooLarge;
  }
  natsMsg* made = nullptr;
  natsStatus status =
      natsMsg_Create(&made, outgoing.subject.c_str(), (inbox_ + std::to_string(number)).c_str(),
                     outgoing.payload.data(), static_cast<int>(outgoing.payload.size()));
  const MessagePtr message(made);
  if (status == NATS_OK) status = natsMsgHeader_Set(made, "Nats-Msg-Id", outgoing.id.c_str());
  for (const Header& header : outgoing.headers) {
    if (status == NATS_OK) {
      status = natsMsgHeader_Add(made, header.name.c_str(), header.value.c_str());
    }
  }
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_.handle(), made);
  if (const auto sent = sent_of(status)) return *sent;
  return failure(connection_.lost(status));
}

std::optional<ConfirmedConnection::Sent> sent_of(int status) {
  switch (status) {
    case NATS_OK:
      return ConfirmedConnection::Sent::kYes;
    case NATS_MAX_PAYLOAD:
      return ConfirmedConnection::Sent::kTooLarge;
    case NATS_INVALID_SUBJECT:
    case NATS_INVALID_ARG:
      return ConfirmedConnection::Sent::kInvalid;
    default:
      return std::nullopt;
  }
}

ConfirmedConnection::News ConfirmedConnection::take_news() { return answers_->take(); }

Error ConfirmedConnection::ended() const { return connection_.lost(NATS_CONNECTION_CLOSED); }

std::string ConfirmedConnection::denied() const { return connection_.denied_words(); }

std::int64_t ConfirmedConnection::max_payload() const {
  return natsConnection_GetMaxPayload(connection_.handle());
}

}  // namespace semel::nats
