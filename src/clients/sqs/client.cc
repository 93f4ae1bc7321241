#include "clients/sqs/client.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/json_scan.h"
#include "clients/sqs/signature.h"
#include "system/utc_clock.h"

namespace semel::sqs {

namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// The service accepts signatures that are a little older than this.
constexpr std::chrono::minutes kLargestSkew{4};
constexpr int kGood = 200;
constexpr const char* kSnsVersion = "2010-03-31";
constexpr int kServerFailed = 500;  // and above

}  // namespace

Client::Client(const core::SqsAccess& access, ServiceNames names, Protocol protocol)
    : access_(access), names_(std::move(names)), protocol_(protocol), credentials_(access) {}

void Client::call(const std::string& action, std::string body, std::chrono::milliseconds patience,
                  Done done) {
  call(action, std::move(body), patience,
       DoneWithAnswer([done = std::move(done)](Answer answer) { done(std::move(answer.body)); }));
}

void Client::call(const std::string& action, std::string body, std::chrono::milliseconds patience,
                  DoneWithAnswer done) {
  make({action, std::move(body), patience, std::move(done)});
}

void Client::make(Call call) {
  const auto keys = credentials_.keys(system_clock::now() + skew_);
  if (!keys) return call.done({failure(keys.error())});
  call.skew = skew_;
  call.access_key_id = keys->access_key_id;
  curl::Request request = signed_request(call, *keys);
  transfers_.begin(std::move(request),
                   [this, kept = std::move(call)](curl::Answered answered) mutable {
                     take(std::move(kept), std::move(answered));
                   });
}

curl::Request Client::signed_request(const Call& call, const core::SqsKeys& keys) const {
  const bool json = protocol_ == Protocol::kJson;
  curl::Request request;
  request.url = access_.queue.endpoint;
  request.timeout = call.patience;
  request.ca_file = access_.ca_file;
  request.body = json ? call.body
                      : fmt::format("Action={}&Version={}&{}", call.action, kSnsVersion, call.body);
  const std::string date = amz_date(system::utc_now() + call.skew);
  Signable to_sign{.method = "POST", .headers = {}, .body = request.body};
  to_sign.headers = {
      {"Host", access_.queue.host},
      {"Content-Type", json ? "application/x-amz-json-1.0" : "application/x-www-form-urlencoded"},
      {"X-Amz-Date", date}};
  if (json) to_sign.headers.push_back({"X-Amz-Target", "AmazonSQS." + call.action});
  if (!keys.session_token.empty()) {
    to_sign.headers.push_back({"X-Amz-Security-Token", keys.session_token});
  }
  request.headers = to_sign.headers;
  const SigningScope scope{access_.region, json ? "sqs" : "sns"};
  request.headers.push_back({"Authorization", authorization(keys, scope, date, to_sign)});
  return request;
}

bool Client::is_good(const Call& call, const curl::Response& response) const {
  if (response.status != kGood) return false;
  if (protocol_ == Protocol::kJson) return json::validate(response.body).has_value();
  return response.body.find(fmt::format("</{}Response>", call.action)) != std::string::npos;
}

void Client::take(Call call, curl::Answered answered) {
  if (!answered) {
    const bool unknown = answered.error().kind == ErrorKind::kInDoubt;
    return call.done({failure(unanswered(answered.error(), access_, names_)), {}, unknown});
  }
  if (is_good(call, *answered)) {
    worked_.insert(call.action);
    return call.done({std::move(answered->body)});
  }
  Refusal refusal = protocol_ == Protocol::kJson
                        ? refusal_in(answered->status, answered->body)
                        : query_refusal_in(answered->status, answered->body);
  const bool unknown = refusal.status == kGood || refusal.status >= kServerFailed;
  if (!unknown && !call.again && mended(call, refusal, *answered)) {
    call.again = true;
    return make(std::move(call));
  }
  const bool receipts = call.action.ends_with("Batch");
  Error error =
      refused(refusal, access_, {known(), worked_.contains(call.action)}, receipts, names_);
  call.done({failure(std::move(error)), std::move(refusal), unknown});
}

bool Client::mended(const Call& call, const Refusal& refusal, const curl::Response& response) {
  if (is_of_time(refusal.type)) {
    if (response.date) {
      const auto off = std::chrono::round<seconds>(*response.date - (system_clock::now() + skew_));
      if (off > kLargestSkew || off < -kLargestSkew) {
        skew_ += off;
        return true;
      }
    }
    // The refusal of another call revealed it, when this one was under way.
    if (call.skew != skew_) return true;
  }
  if (!is_of_credentials(refusal.type) || !credentials_.may_change()) return false;
  credentials_.forget(call.access_key_id);
  return true;
}

Result<std::string> ask(Client& client, const std::string& action, std::string body,
                        std::chrono::milliseconds patience) {
  std::optional<Result<std::string>> answer;
  client.call(action, std::move(body), patience,
              [&](Result<std::string> told) { answer = std::move(told); });
  while (!answer) client.run(patience);
  return *std::move(answer);
}

}  // namespace semel::sqs
