// CredentialChain: finds the credentials that requests are signed with, in the places where
// Amazon's own tools look: the config, the environment, a web identity, the shared files, the
// container, the machine.
//
// Not thread-safe. A service takes seconds at most to answer; credentials are fetched again some
// minutes before they expire. While that fails, the current ones stay in use and the service is
// asked again only now and then, so that not every call waits for it.
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
  // Returns a variable of the environment; none if it is missing or empty.
  using Variables = std::function<std::optional<std::string>(const char* name)>;

  explicit CredentialChain(const core::SqsAccess& access);
  CredentialChain(const core::SqsAccess& access, Variables variables);

  // R391 if there are none. kUnavailable if there were some before, or if the service that provides
  // them does not answer.
  Result<core::SqsKeys> keys(WallTime now);
  // The service has refused these: the next call looks for others, unless others are known.
  void forget(const std::string& access_key_id);
  // From now on no service is asked, because an end has a deadline.
  void look_no_more() noexcept { looks_ = false; }
  // Whether another search may find other credentials.
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
  std::optional<WallTime> looked_at_;
  std::optional<Error> failed_;  // the last search
};

// Parses 2026-03-01T12:00:00Z, the form of times in these services; none if the text has another
// form.
std::optional<CredentialChain::WallTime> read_utc(const std::string& text);

}  // namespace semel::sqs
