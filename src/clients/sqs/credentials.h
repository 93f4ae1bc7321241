// CredentialChain: whom requests are signed as, looked for where Amazon's own tools look: the
// config, the environment, a web identity, the shared files, the container, the machine.
//
// One thread at a time. To ask a service for credentials takes seconds at most; they are asked for
// again some minutes before they expire. While that fails those that are there go on being used,
// and it is asked now and then: a call waits for no service each time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <semel/result.h>

#include "core/sqs_spec.h"

namespace semel::sqs {

struct SessionKeys {
  core::SqsKeys keys;
  std::optional<std::chrono::system_clock::time_point> expires;
};

class CredentialChain {
 public:
  using WallTime = std::chrono::system_clock::time_point;
  // A variable of the environment; none where it is not there, or empty.
  using Variables = std::function<std::optional<std::string>(const char* name)>;

  explicit CredentialChain(const core::SqsAccess& access);
  CredentialChain(const core::SqsAccess& access, Variables variables);

  // R391 where there are none. kUnavailable where they were there before, or a service that is to
  // give them does not answer.
  Result<core::SqsKeys> keys(WallTime now);
  // The service refuses those that it was shown: the next call looks anew.
  void forget() { kept_.reset(); }
  // From now on nothing is asked for any more, for an end that has a deadline.
  void look_no_more() noexcept { looks_ = false; }
  // Looking anew may find others.
  bool may_change() const noexcept { return access_.keys.access_key_id.empty(); }

 private:
  using Found = Result<std::optional<SessionKeys>>;
  bool looks_now(WallTime now) const;
  Error none_found(Found found) const;
  Found look() const;
  Found from_variables() const;
  Found from_files() const;
  Found from_web_identity(const std::string& file, const std::string& role,
                          const std::string& session) const;
  Found from_container() const;
  Found from_machine() const;
  std::string profile_name() const;

  const core::SqsAccess& access_;
  const Variables variables_;
  std::optional<SessionKeys> kept_;
  bool found_before_ = false;
  bool looks_ = true;
  struct Failed {
    WallTime at;
    Error error;
  };
  std::optional<Failed> failed_;  // the last look
};

// 2026-03-01T12:00:00Z, as these services write times; none where it is none.
std::optional<CredentialChain::WallTime> read_utc(const std::string& text);

}  // namespace semel::sqs
