#include "clients/nats/connection.h"

#include <fmt/format.h>
#include <nats/nats.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include "clients/nats/errors.h"
#include "system/descriptor_limit.h"
#include "system/mutex.h"

namespace semel::nats {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kConnectPatience{2'000};
// The time for everything: the address, TCP, TLS and the login.
constexpr milliseconds kOpenPatience{6'000};
constexpr milliseconds kWritePatience{5'000};
// A server that does not answer this many pings counts as gone.
constexpr milliseconds kPingInterval{10'000};
constexpr int kPingsUnanswered = 2;

Error bad_file(std::string what) {
  return {ErrorKind::kRejected, "R382", std::move(what),
          "nats: { tls: { ca: ca.pem, cert: client.pem, key: client.key } }, files in PEM format"};
}

// Returns cnats' last error without the source position at its start.
std::string last_words() {
  const char* const said = nats_GetLastError(nullptr);
  if (said == nullptr) return {};
  const std::string words(said);
  const auto place_end = words.find("): ");
  return words.starts_with('(') && place_end != std::string::npos ? words.substr(place_end + 3)
                                                                  : words;
}

// cnats truncates the server's text, so only this much of a subject is compared.
constexpr std::size_t kSubjectInWords = 100;

Error missing_right(const std::string& words, ErrorKind kind) {
  return {kind, "R385", fmt::format("this user may not do it: {}", words),
          "allow it: publish on $JS.API.> and $JS.ACK.>, subscribe on _INBOX.>"};
}

}  // namespace

struct Connection::Opening {
  system::Mutex mutex;
  system::CondVar changed;
  bool given_up SEMEL_GUARDED_BY(mutex) = false;
  bool done SEMEL_GUARDED_BY(mutex) = false;
  natsStatus status SEMEL_GUARDED_BY(mutex) = NATS_OK;
  std::string said SEMEL_GUARDED_BY(mutex);
  ConnectionPtr made SEMEL_GUARDED_BY(mutex);
  // The connection that open() has taken over; its owner closes it.
  natsConnection* taken SEMEL_GUARDED_BY(mutex) = nullptr;

  void connect(natsOptions& options) {
    natsConnection* begun = nullptr;
    const natsStatus how = natsConnection_Connect(&begun, &options);
    ConnectionPtr held(begun);  // closes it here if open() no longer waits for it
    const std::string words = last_words();
    const system::MutexLock lock(mutex);
    status = how;
    said = words;
    if (!given_up) made = std::move(held);
    done = true;
    changed.notify_all();
  }
};

Connection::Connection(const core::NatsAccess& access, bool known)
    : access_(access), known_(known), opening_(std::make_shared<Opening>()) {}

Result<void> Connection::use_tls(natsOptions& options, const core::NatsNode& node) const {
  if (natsOptions_SetSecure(&options, true) != NATS_OK ||
      natsOptions_SetExpectedHostname(&options, node.host.c_str()) != NATS_OK) {
    return failure(bad_file("OpenSSL cannot begin"));
  }
  if (!access_.tls_ca.empty() &&
      natsOptions_LoadCATrustedCertificates(&options, access_.tls_ca.c_str()) != NATS_OK) {
    return failure(bad_file(fmt::format("{} is not a file of certificates", access_.tls_ca)));
  }
  if (!access_.tls_cert.empty() &&
      natsOptions_LoadCertificatesChain(&options, access_.tls_cert.c_str(),
                                        access_.tls_key.c_str()) != NATS_OK) {
    return failure(bad_file(fmt::format("{} and {} are not a certificate and its key",
                                        access_.tls_cert, access_.tls_key)));
  }
  return {};
}

Result<OptionsPtr> Connection::options(const core::NatsNode& node) const {
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  OptionsPtr options(made);
  const bool sixteen_bytes = node.host.find(':') != std::string::npos;
  const std::string url = sixteen_bytes ? fmt::format("nats://[{}]:{}", node.host, node.port)
                                        : fmt::format("nats://{}:{}", node.host, node.port);
  const auto then = [&](natsStatus next) {
    if (status == NATS_OK) status = next;
  };
  then(natsOptions_SetURL(made, url.c_str()));
  then(natsOptions_SetName(made, "semel"));
  then(natsOptions_SetAllowReconnect(made, false));
  then(natsOptions_SetTimeout(made, kConnectPatience.count()));
  then(natsOptions_SetWriteDeadline(made, kWritePatience.count()));
  then(natsOptions_SetPingInterval(made, kPingInterval.count()));
  then(natsOptions_SetMaxPingsOut(made, kPingsUnanswered));
  const core::NatsAddress& address = access_.address;
  if (!access_.token.empty()) then(natsOptions_SetToken(made, access_.token.c_str()));
  if (!address.user.empty()) {
    then(natsOptions_SetUserInfo(made, address.user.c_str(), address.password.c_str()));
  }
  if (!access_.credentials.empty()) {
    if (!std::ifstream(access_.credentials)) {
      return failure({ErrorKind::kRejected, "R381",
                      fmt::format("the file {} cannot be read", access_.credentials),
                      "nats: { credentials: user.creds }, as nsc writes it"});
    }
    then(natsOptions_SetUserCredentialsFromFiles(made, access_.credentials.c_str(), nullptr));
  }
  if (status != NATS_OK) return failure(lost(status));
  if (!address.tls) return options;
  if (auto ready = use_tls(*made, node); !ready) return failure(std::move(ready.error()));
  return options;
}

Result<void> Connection::open(const core::NatsNode& node) {
  place_ = fmt::format("{}:{}", node.host, node.port);
  auto ready = options(node);
  if (!ready) return failure(std::move(ready.error()));
  std::thread([opening = opening_, options = *std::move(ready)] {
    opening->connect(*options);
  }).detach();
  Opening& opening = *opening_;
  const system::MutexLock lock(opening.mutex);
  (void)opening.changed.wait_for(opening.mutex, kOpenPatience, [&]() SEMEL_REQUIRES(opening.mutex) {
    return opening.done || opening.given_up;
  });
  if (!opening.done || opening.given_up) {
    opening.given_up = true;
    return failure(connect_error(NATS_TIMEOUT, {}, place_, known_));
  }
  connection_ = std::move(opening.made);
  opening.taken = connection_.get();
  if (opening.status == NATS_OK) return {};
  if (auto none = system::descriptor_limit_now(place_)) return failure(*std::move(none));
  return failure(connect_error(opening.status, opening.said, place_, known_));
}

void Connection::cut() const {
  natsConnection* taken = nullptr;
  {
    const system::MutexLock lock(opening_->mutex);
    opening_->given_up = true;
    opening_->changed.notify_all();
    taken = opening_->taken;
  }
  natsConnection_Close(taken);
}

Result<std::string> Connection::ask(const std::string& subject, std::string_view body,
                                    milliseconds patience) {
  natsMsg* answer = nullptr;
  const natsStatus status =
      natsConnection_Request(&answer, handle(), subject.c_str(), body.data(),
                             static_cast<int>(body.size()), std::max<int64_t>(patience.count(), 1));
  const MessagePtr held(answer);
  if (status == NATS_OK) {
    return std::string(natsMsg_GetData(answer),
                       static_cast<std::size_t>(natsMsg_GetDataLength(answer)));
  }
  if (status == NATS_NO_RESPONDERS) return failure(no_jetstream(known_));
  if (status != NATS_TIMEOUT) return failure(lost(status));
  // The server does not answer a forbidden request; it reports the refusal separately. The reply
  // may be forbidden as well. A report about another subject is an old one.
  const std::string words = denied_words();
  if (words.find(subject.substr(0, kSubjectInWords)) != std::string::npos ||
      words.find("ubscription") != std::string::npos) {
    return failure(missing_right(words, known_ ? ErrorKind::kUnavailable : ErrorKind::kRejected));
  }
  return failure({ErrorKind::kUnavailable, "R380",
                  fmt::format("JetStream does not answer at {}", place_),
                  "look at the server and its log"});
}

std::string Connection::denied_words() const {
  const char* said = nullptr;
  const bool denied =
      connection_ != nullptr && natsConnection_GetLastError(handle(), &said) == NATS_NOT_PERMITTED;
  return denied && said != nullptr ? said : "";
}

std::optional<Error> Connection::denied() const {
  const std::string words = denied_words();
  if (words.empty() || words.find("$JS.API.STREAM.INFO.") != std::string::npos) {
    return std::nullopt;
  }
  return missing_right(words, ErrorKind::kRejected);
}

Result<void> Connection::send(const std::string& subject, std::string_view body,
                              const std::string& reply) {
  const natsStatus status =
      reply.empty() ? natsConnection_Publish(handle(), subject.c_str(), body.data(),
                                             static_cast<int>(body.size()))
                    : natsConnection_PublishRequest(handle(), subject.c_str(), reply.c_str(),
                                                    body.data(), static_cast<int>(body.size()));
  if (status != NATS_OK) return failure(lost(status));
  return {};
}

Error Connection::lost(int status) const {
  const char* said = nullptr;
  if (connection_ != nullptr) (void)natsConnection_GetLastError(handle(), &said);
  if (said == nullptr || *said == '\0') said = natsStatus_GetText(static_cast<natsStatus>(status));
  return {ErrorKind::kUnavailable, "R380",
          fmt::format("the connection to the NATS server at {} was lost: {}", place_, said),
          "look at the server and its log"};
}

}  // namespace semel::nats
