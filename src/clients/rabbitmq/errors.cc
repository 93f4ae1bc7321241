#include "clients/rabbitmq/errors.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace semel::rabbitmq {
namespace {

enum class When { kFinal, kFinalAtFirst, kWait };

struct Row {
  int code;
  std::optional<Step> step;  // none: in any step
  const char* words;         // of the broker's text; null: any
  When when;
  const char* page;
  const char* what;
  const char* hint;
};

constexpr const char* kMakeIt =
    "make it, or let Semel make it: rabbitmq: { declare: true }; or check rabbitmq.queue and the "
    "vhost of rabbitmq.url";
constexpr const char* kGrant =
    "allow it: rabbitmqctl set_permissions -p VHOST USER CONFIGURE WRITE READ; reading is enough, "
    "and with declare: true configuring as well";
constexpr const char* kVhost =
    "check the vhost, the last part of rabbitmq.url, where / is written as %2F; make it: "
    "rabbitmqctl add_vhost; and let the user in: rabbitmqctl set_permissions -p VHOST USER '' '' "
    "'.*'";

// The first row that matches applies.
constexpr Row kRefusals[] = {
    {AMQP_ACCESS_REFUSED, Step::kConnect, nullptr, When::kFinalAtFirst, "R311",
     "the RabbitMQ broker refuses the login", "check the user and the password in rabbitmq.url"},
    {AMQP_NOT_ALLOWED, Step::kConnect, "limit", When::kWait, "R310",
     "the broker takes no more connections", "raise the limit, or end other connections"},
    {AMQP_NOT_ALLOWED, Step::kConnect, "vhost", When::kFinalAtFirst, "R313",
     "this user may not enter the vhost", kVhost},
    {AMQP_INVALID_PATH, Step::kConnect, nullptr, When::kFinalAtFirst, "R313",
     "there is no such vhost", kVhost},
    {AMQP_NOT_FOUND, Step::kPublish, nullptr, When::kWait, "R314", "the exchange is not there",
     "make it, or check rabbitmq.exchange and the vhost of rabbitmq.url"},
    {AMQP_ACCESS_REFUSED, Step::kPublish, nullptr, When::kWait, "R315",
     "this user may not publish there",
     "allow it: rabbitmqctl set_permissions -p VHOST USER '' EXCHANGE ''"},
    {AMQP_PRECONDITION_FAILED, Step::kPublish, nullptr, When::kWait, "R318",
     "the broker does not take a message", "read the broker's answer"},
    // A node of the cluster is unavailable.
    {AMQP_NOT_FOUND, std::nullopt, "down or inaccessible", When::kWait, "R314",
     "the queue's node is away", "start the node"},
    {AMQP_NOT_FOUND, std::nullopt, nullptr, When::kFinal, "R314", "the queue is not there",
     kMakeIt},
    {AMQP_ACCESS_REFUSED, Step::kConsume, "exclusive use", When::kWait, "R316",
     "another consumer has the queue for itself",
     "end that consumer, or let it consume without exclusive"},
    {AMQP_ACCESS_REFUSED, std::nullopt, nullptr, When::kFinal, "R315", "this user may not do it",
     kGrant},
    {AMQP_RESOURCE_LOCKED, std::nullopt, nullptr, When::kWait, "R316",
     "the queue is exclusive to another connection", "make a queue that is not exclusive"},
    {AMQP_PRECONDITION_FAILED, std::nullopt, "acknowledgement", When::kWait, "R317",
     "a message was not settled within the broker's consumer_timeout",
     "raise consumer_timeout in the broker's rabbitmq.conf, or lower rabbitmq.prefetch"},
    {AMQP_PRECONDITION_FAILED, Step::kQueue, nullptr, When::kFinal, "R316",
     "the queue exists and has another type",
     "say queue_type as it is, or leave declare out: then it is taken as it is"},
    {AMQP_CONNECTION_FORCED, std::nullopt, nullptr, When::kWait, "R310",
     "the broker has closed the connection", "look at the broker and its log"},
    {AMQP_RESOURCE_ERROR, std::nullopt, nullptr, When::kWait, "R310",
     "the broker has no room for it", "look at the broker and its log"},
    {AMQP_INTERNAL_ERROR, std::nullopt, nullptr, When::kWait, "R310",
     "the broker has an internal error", "look at the broker and its log"},
};

bool holds(std::string_view text, const char* words) {
  return words == nullptr || text.find(words) != std::string_view::npos;
}

Error error_from(const Row& row, std::string_view said, bool known) {
  const bool final = row.when == When::kFinal || (row.when == When::kFinalAtFirst && !known);
  return {final ? ErrorKind::kRejected : ErrorKind::kUnavailable, row.page,
          said.empty() ? std::string(row.what) : fmt::format("{}: {}", row.what, said), row.hint};
}

Error no_tls(std::string_view said, const char* hint, bool known) {
  return {known ? ErrorKind::kUnavailable : ErrorKind::kRejected, "R312",
          fmt::format("TLS with the RabbitMQ broker does not come about: {}", said), hint};
}

}  // namespace

Error refusal_of(int code, std::string_view said, Step step, bool known) {
  const auto* const row =
      std::find_if(std::begin(kRefusals), std::end(kRefusals), [&](const Row& each) {
        return each.code == code && (!each.step || *each.step == step) && holds(said, each.words);
      });
  if (row != std::end(kRefusals)) return error_from(*row, said, known);
  return {known ? ErrorKind::kUnavailable : ErrorKind::kRejected, "R318",
          fmt::format("the RabbitMQ broker cannot go on with this client: {} ({})", said, code),
          "read the message; the broker's log has more"};
}

Error status_error(int status, std::string_view place, bool tls, bool known) {
  const char* const said = amqp_error_string2(status);
  switch (status) {
    case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED:
      return no_tls("its certificate is not for this name",
                    "name the host in rabbitmq.url as the certificate does", known);
    case AMQP_STATUS_SSL_PEER_VERIFY_FAILED:
      return no_tls("no trusted CA has signed its certificate",
                    "name the CA's file: rabbitmq: { tls: { ca: /etc/ssl/rabbitmq-ca.pem } }",
                    known);
    case AMQP_STATUS_SSL_ERROR:
    case AMQP_STATUS_SSL_CONNECTION_FAILED:
      return no_tls(said,
                    "check that the port of rabbitmq.url speaks TLS, and rabbitmq.tls.cert where "
                    "the broker asks for one",
                    known);
    case AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD:
      return {known ? ErrorKind::kUnavailable : ErrorKind::kRejected, "R311",
              "the RabbitMQ broker takes no login by password",
              "allow PLAIN in the broker's auth_mechanisms"};
    case AMQP_STATUS_INCOMPATIBLE_AMQP_VERSION:
      return {known ? ErrorKind::kUnavailable : ErrorKind::kRejected, "R318",
              fmt::format("what answers at {} does not speak AMQP 0-9-1", place),
              "check host and port of rabbitmq.url"};
    default:
      return {ErrorKind::kUnavailable, "R310",
              fmt::format("no RabbitMQ broker answers at {}: {}", place, said),
              tls ? "start it, or check rabbitmq.url"
                  : "start it, or check rabbitmq.url; at a port with TLS it begins with amqps://"};
  }
}

}  // namespace semel::rabbitmq
