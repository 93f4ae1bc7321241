#include "clients/nats/errors.h"

#include <fmt/format.h>
#include <nats/nats.h>

#include <algorithm>
#include <iterator>

namespace semel::nats {
namespace {

enum class When { kFinal, kFinalAtFirst, kWait };

struct Row {
  std::int64_t code;
  When when;
  const char* page;
  const char* what;
  const char* hint;
};

constexpr const char* kEnable =
    "let the server have it: jetstream { store_dir: … } in its config, and for the account where "
    "it "
    "has accounts";
constexpr const char* kMakeStream =
    "make it: nats stream add; or check nats.stream, and the account that the login belongs to";
constexpr const char* kMakeConsumer =
    "make it: nats consumer add --pull --ack explicit; or let Semel make it: nats: { declare: true "
    "}; or check nats.durable";
constexpr const char* kLook = "look at the server and its log";

constexpr Row kRows[] = {
    {kStreamNotFound, When::kFinal, "R384", "the stream is not there", kMakeStream},
    {kConsumerNotFound, When::kFinal, "R384", "the consumer is not there", kMakeConsumer},
    {JSNotEnabledForAccountErr, When::kFinalAtFirst, "R383", "this account has no JetStream",
     kEnable},
    {JSNotEnabledErr, When::kFinalAtFirst, "R383", "the server has no JetStream", kEnable},
    {JSMaximumConsumersLimitErr, When::kFinalAtFirst, "R386",
     "the account may have no more consumers", "remove consumers, or raise the account's limit"},
    {JSClusterNotAvailErr, When::kWait, "R380", "JetStream is away for now", kLook},
    {JSClusterNotLeaderErr, When::kWait, "R380", "JetStream is away for now", kLook},
    {JSInsufficientResourcesErr, When::kWait, "R380", "the server has no room for it", kLook},
};

ErrorKind kind_of(bool final) { return final ? ErrorKind::kRejected : ErrorKind::kUnavailable; }

Error no_tls(std::string_view said, const char* hint, bool known) {
  return {kind_of(!known), "R382",
          fmt::format("TLS with the NATS server does not come about: {}", said), hint};
}

}  // namespace

Error connect_error(int status, std::string_view said, std::string_view place, bool known) {
  if (said.empty()) said = natsStatus_GetText(static_cast<natsStatus>(status));
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
      return {kind_of(!known), "R381", fmt::format("the NATS server refuses the login: {}", said),
              "check the user and the password in nats.url; or nats.token, or nats.credentials"};
    case NATS_SSL_ERROR:
      return no_tls(said,
                    "check that the certificate names the host of nats.url, and that the CA is "
                    "trusted: nats: { tls: { ca: /etc/ssl/nats-ca.pem } }",
                    known);
    case NATS_SECURE_CONNECTION_WANTED:
      return no_tls("the server speaks none",
                    "url: nats:// in place of tls://, or give the server a certificate", known);
    case NATS_SECURE_CONNECTION_REQUIRED:
      return no_tls("the server speaks nothing else", "url: tls:// in place of nats://", known);
    default:
      return {ErrorKind::kUnavailable, "R380",
              fmt::format("no NATS server answers at {}: {}", place, said),
              "start it, or check nats.url"};
  }
}

Error api_error(std::int64_t code, std::string_view said, bool known) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const Row& each) { return each.code == code; });
  if (row == std::end(kRows)) {
    return {kind_of(!known), "R387", fmt::format("JetStream refuses: {} ({})", said, code),
            "read the message; the server's log has more"};
  }
  const bool final = row->when == When::kFinal || (row->when == When::kFinalAtFirst && !known);
  return {kind_of(final), row->page, row->what, row->hint};
}

Error no_jetstream(bool known) {
  return {kind_of(!known), "R383", "no NATS server there has JetStream", kEnable};
}

}  // namespace semel::nats
