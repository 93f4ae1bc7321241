#include "clients/sqs/client.h"

#include <optional>
#include <utility>

#include "base/json_scan.h"
#include "clients/sqs/signature.h"
#include "system/utc_clock.h"

namespace semel::sqs {

namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// The service takes signatures that are a little older than this.
constexpr std::chrono::minutes kLargestSkew{4};
constexpr int kGood = 200;

}  // namespace

Client::Client(const core::SqsAccess& access) : access_(access), credentials_(access) {}

void Client::call(const std::string& action, const std::string& body,
                  std::chrono::milliseconds patience, Done done) {
  make({action, body, patience, std::move(done)});
}

void Client::make(Call call) {
  const auto keys = credentials_.keys(system_clock::now());
  if (!keys) return call.done(failure(keys.error()));
  curl::Request request;
  request.url = access_.queue.endpoint;
  request.timeout = call.patience;
  request.ca_file = access_.ca_file;
  request.body = call.body;
  const std::string date = amz_date(system::utc_now() + skew_);
  Signable to_sign{.method = "POST", .headers = {}, .body = request.body};
  to_sign.headers = {{"Host", access_.queue.host},
                     {"Content-Type", "application/x-amz-json-1.0"},
                     {"X-Amz-Date", date},
                     {"X-Amz-Target", "AmazonSQS." + call.action}};
  if (!keys->session_token.empty()) {
    to_sign.headers.push_back({"X-Amz-Security-Token", keys->session_token});
  }
  request.headers = to_sign.headers;
  request.headers.push_back(
      {"Authorization", authorization(*keys, {access_.region, "sqs"}, date, to_sign)});
  transfers_.begin(std::move(request),
                   [this, kept = std::move(call)](curl::Answered answered) mutable {
                     take(std::move(kept), std::move(answered));
                   });
}

void Client::take(Call call, curl::Answered answered) {
  if (!answered) return call.done(failure(unanswered(answered.error(), access_)));
  if (answered->status == kGood && json::validate(answered->body)) {
    worked_.insert(call.action);
    return call.done(std::move(answered->body));
  }
  const Refusal refusal = refusal_in(answered->status, answered->body);
  if (!call.again && mended(refusal, *answered)) {
    call.again = true;
    return make(std::move(call));
  }
  const bool receipts = call.action.ends_with("Batch");
  call.done(failure(refused(refusal, access_, {known(), worked_.contains(call.action)}, receipts)));
}

bool Client::mended(const Refusal& refusal, const curl::Response& response) {
  if (is_of_time(refusal.type) && response.date) {
    const auto off = std::chrono::round<seconds>(*response.date - (system_clock::now() + skew_));
    if (off > kLargestSkew || off < -kLargestSkew) {
      skew_ += off;
      return true;
    }
  }
  if (!is_of_credentials(refusal.type) || !credentials_.may_change()) return false;
  credentials_.forget();
  return true;
}

Result<std::string> ask(Client& client, const std::string& action, const std::string& body,
                        std::chrono::milliseconds patience) {
  std::optional<Result<std::string>> answer;
  client.call(action, body, patience, [&](Result<std::string> told) { answer = std::move(told); });
  while (!answer) client.run(patience);
  return *std::move(answer);
}

}  // namespace semel::sqs
