// Client: calls of the service of one queue or topic over HTTPS, signed; of SQS in the JSON
// protocol, of SNS in the query protocol.
//
// Not thread-safe, except for wake(). Before a call fails, expired credentials are fetched again
// and a wrong clock is corrected for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include <semel/result.h>

#include "clients/curl/transfers.h"
#include "clients/sqs/credentials.h"
#include "clients/sqs/errors.h"
#include "core/sqs_spec.h"

namespace semel::sqs {

class Client {
 public:
  enum class Protocol : std::uint8_t { kJson, kQuery };

  // A whole answer: JSON that was found good, or the answer to the action in XML.
  using Done = std::function<void(Result<std::string>)>;
  // The same, for calls that must not be taken to have done nothing.
  struct Answer {
    Result<std::string> body;
    Refusal refusal{};     // the service's words; no status where it said none
    bool unknown = false;  // it failed, and the service may have done what was asked
  };
  using DoneWithAnswer = std::function<void(Answer)>;

  // `access` outlives it.
  explicit Client(const core::SqsAccess& access, ServiceNames names = {},
                  Protocol protocol = Protocol::kJson);

  // `action`: "ReceiveMessage". `body`: a JSON object, or the parameters of a form without action
  // and version. `done` is called once, from within call() or run(), and may make
  // calls; not after give_up_all().
  void call(const std::string& action, std::string body, std::chrono::milliseconds patience,
            Done done);
  void call(const std::string& action, std::string body, std::chrono::milliseconds patience,
            DoneWithAnswer done);
  // The end is near: credentials are not asked for any more, for their services may hang.
  void look_no_more() noexcept { credentials_.look_no_more(); }
  void give_up_all() noexcept { transfers_.give_up_all(); }
  void run(std::chrono::milliseconds patience) { transfers_.run(patience); }
  void wake() noexcept { transfers_.wake(); }

  // Whether the service has answered successfully at least once.
  bool known() const noexcept { return !worked_.empty(); }
  // How far the service's clock is ahead of this machine's, if a refusal revealed it; otherwise
  // zero.
  std::chrono::seconds skew() const noexcept { return skew_; }

 private:
  struct Call {
    std::string action;
    std::string body;
    std::chrono::milliseconds patience;
    DoneWithAnswer done;
    bool again = false;  // it was mended and made again before
    // That it was signed with.
    std::chrono::seconds skew{0};
    std::string access_key_id{};
  };
  void make(Call call);
  curl::Request signed_request(const Call& call, const core::SqsKeys& keys) const;
  bool is_good(const Call& call, const curl::Response& response) const;
  void take(Call call, curl::Answered answered);
  bool mended(const Call& call, const Refusal& refusal, const curl::Response& response);

  const core::SqsAccess& access_;
  const ServiceNames names_;
  const Protocol protocol_;
  CredentialChain credentials_;
  std::chrono::seconds skew_{0};
  std::set<std::string> worked_;  // actions that have succeeded
  curl::Transfers transfers_;
};

// Makes one call and waits for it.
Result<std::string> ask(Client& client, const std::string& action, std::string body,
                        std::chrono::milliseconds patience);

}  // namespace semel::sqs
