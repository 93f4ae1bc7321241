#include "clients/sqs/credentials.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/json_scan.h"
#include "base/listen_address.h"
#include "base/time_text.h"
#include "base/url_text.h"
#include "clients/curl/transfers.h"
#include "clients/curl/url_parts.h"
#include "clients/sqs/json_walk.h"
#include "clients/sqs/query_protocol.h"
#include "clients/sqs/shared_files.h"

namespace semel::sqs {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kBeforeExpiry{5};
// Pauses after a look-up that failed, or found keys that expire soon: with and without keys that
// are still valid.
constexpr std::chrono::seconds kNextLook{30};
constexpr std::chrono::seconds kNextLookWithoutKeys{2};
constexpr milliseconds kNearbyPatience{1'000};
constexpr milliseconds kStsPatience{5'000};
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kMachineHost = "http://169.254.169.254";

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string first_line(std::string_view text) {
  std::string line(url_text::cut_before(text, '\n'));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

Error no_credentials(ErrorKind kind, std::string what, std::string hint) {
  return {kind, "R391", std::move(what), std::move(hint)};
}

Error not_given(const std::string& whose, const std::string& why, ErrorKind kind) {
  return no_credentials(kind, fmt::format("{} gives no credentials: {}", whose, why),
                        "semel explain R391");
}

// Returns the body of an answer of a credentials service.
Result<std::string> body_from(const curl::Request& request, const std::string& whose) {
  auto answer = curl::fetch(request);
  if (!answer) return failure(not_given(whose, answer.error().message, ErrorKind::kUnavailable));
  if (answer->status == 200) return std::move(answer->body);
  const bool may_pass = answer->status >= 500 || answer->status == 429;
  return failure(not_given(whose, fmt::format("it answers {}", answer->status),
                           may_pass ? ErrorKind::kUnavailable : ErrorKind::kRejected));
}

// Parses the answer of the container's or machine's service: one JSON object.
Result<std::optional<SessionKeys>> keys_in(const std::string& body, const std::string& whose) {
  SessionKeys made;
  if (json::validate(body)) {
    made.keys = {text_of(member_of(body, "AccessKeyId")),
                 text_of(member_of(body, "SecretAccessKey")), text_of(member_of(body, "Token"))};
    made.expires = read_utc(text_of(member_of(body, "Expiration")));
  }
  if (made.keys.access_key_id.empty() || made.keys.secret_access_key.empty()) {
    return failure(not_given(whose, "there are none in its answer", ErrorKind::kUnavailable));
  }
  return std::optional(std::move(made));
}

// The message names the host at most: the rest of the URL may be a secret.
Error unusable_uri(const char* variable, const std::string& why, const char* hint) {
  return no_credentials(ErrorKind::kRejected, fmt::format("{} {}", variable, why), hint);
}

// A token is sent only to this machine, to the container's own service, or over TLS.
Result<std::string> full_uri(std::string url) {
  constexpr const char* kVariable = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  constexpr const char* kHint = "https://, or an address of this machine";
  const auto parts = curl::parts_of(url);
  if (!parts) return failure(unusable_uri(kVariable, "is no URL that can be called", kHint));
  const std::string& host = parts->host;
  if (parts->has_user) {
    return failure(unusable_uri(kVariable, "has a user before its host", kHint));
  }
  const bool near = ListenAddress{host, 0}.is_loopback() || host == "169.254.170.2" ||
                    host == "169.254.170.23" || host == "fd00:ec2::23";
  if (parts->scheme == "https" || (parts->scheme == "http" && near)) return url;
  return failure(unusable_uri(
      kVariable,
      fmt::format("names the host {}, which is neither this machine nor reached by TLS", host),
      kHint));
}

Result<std::string> relative_uri(const std::string& path) {
  if (path.starts_with('/')) return kContainerHost + path;
  return failure(unusable_uri("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "does not begin with /",
                              "a path, such as /v2/credentials/ID"));
}

}  // namespace

// The services write whole seconds.
std::optional<CredentialChain::WallTime> read_utc(const std::string& text) {
  constexpr std::size_t kToTheSecond = 19;
  return parse_iso_time(text.substr(0, kToTheSecond) + ".000Z");
}

CredentialChain::CredentialChain(const core::SqsAccess& access)
    : CredentialChain(access, variable) {}

CredentialChain::CredentialChain(const core::SqsAccess& access, Variables variables)
    : access_(access), variables_(std::move(variables)) {}

Result<core::SqsKeys> CredentialChain::keys(WallTime now) {
  if (!may_change()) return access_.keys;
  if (kept_ && (!kept_->expires || now + kBeforeExpiry < *kept_->expires)) return kept_->keys;
  if (looks_now(now)) {
    looked_at_ = now;
    auto found = look();
    if (found && *found) {
      kept_ = **std::move(found);
      found_before_ = true;
      failed_.reset();
      return kept_->keys;
    }
    failed_ = none_found(std::move(found));
  }
  // Kept keys are valid until they expire.
  if (kept_ && now < *kept_->expires) return kept_->keys;
  kept_.reset();
  if (failed_) return failure(*failed_);
  return failure(
      no_credentials(ErrorKind::kUnavailable, "the credentials for SQS have expired", {}));
}

bool CredentialChain::looks_now(WallTime now) const {
  if (!looks_) return false;
  if (!looked_at_ || now < *looked_at_) return true;
  const bool good = kept_ && now < *kept_->expires;
  return now - *looked_at_ >= (good ? kNextLook : kNextLookWithoutKeys);
}

void CredentialChain::forget(const std::string& access_key_id) {
  if (!kept_ || kept_->keys.access_key_id != access_key_id) return;
  kept_.reset();
  if (!failed_) looked_at_.reset();
}

Error CredentialChain::none_found(Found found) const {
  Error error = found ? no_credentials(ErrorKind::kRejected,
                                       "there are no credentials for SQS: not in the config, the "
                                       "environment or the shared files, and neither a container "
                                       "nor this machine has any",
                                       "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or "
                                       "credentials: { access_key_id: …, secret_access_key: … }")
                      : std::move(found.error());
  if (found_before_) error.kind = ErrorKind::kUnavailable;
  return error;
}

CredentialChain::Found CredentialChain::look() const {
  if (access_.profile.empty()) {
    auto found = from_variables();
    if (!found || *found) return found;
  }
  auto in_files = from_files();
  if (!in_files || *in_files || !access_.profile.empty()) return in_files;
  auto in_container = from_container();
  if (!in_container || *in_container) return in_container;
  return from_machine();
}

CredentialChain::Found CredentialChain::from_variables() const {
  const auto id = variables_("AWS_ACCESS_KEY_ID");
  const auto secret = variables_("AWS_SECRET_ACCESS_KEY");
  if (id && secret) {
    return std::optional(
        SessionKeys{{*id, *secret, variables_("AWS_SESSION_TOKEN").value_or(std::string())}, {}});
  }
  const auto file = variables_("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = variables_("AWS_ROLE_ARN");
  if (!file || !role) return std::nullopt;
  return from_web_identity(*file, *role, variables_("AWS_ROLE_SESSION_NAME").value_or("semel"));
}

std::string CredentialChain::profile_name() const {
  if (!access_.profile.empty()) return access_.profile;
  return variables_("AWS_PROFILE").value_or("default");
}

CredentialChain::Found CredentialChain::from_files() const {
  const std::string name = profile_name();
  const auto home = variables_("HOME");
  const auto path_of = [&](const char* named, const char* usual) {
    return variables_(named).value_or(home ? *home + usual : std::string());
  };
  Profile profile;
  if (const auto text = read_file(path_of("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"))) {
    read_profile(*text, name, false, profile);
  }
  if (const auto text = read_file(path_of("AWS_CONFIG_FILE", "/.aws/config"))) {
    read_profile(*text, name, true, profile);
  }
  const auto id = profile.find("aws_access_key_id");
  const auto secret = profile.find("aws_secret_access_key");
  if (id != profile.end() && secret != profile.end()) {
    return std::optional(
        SessionKeys{{id->second, secret->second, profile["aws_session_token"]}, {}});
  }
  if (profile.contains("web_identity_token_file") && profile.contains("role_arn")) {
    const std::string session = profile["role_session_name"];
    return from_web_identity(profile["web_identity_token_file"], profile["role_arn"],
                             session.empty() ? "semel" : session);
  }
  for (const char* kind :
       {"credential_process", "sso_session", "sso_start_url", "source_profile"}) {
    if (!profile.contains(kind)) continue;
    return failure(no_credentials(
        ErrorKind::kRejected,
        fmt::format("the profile {} has its credentials by {}, which Semel does not use", name,
                    kind),
        "eval \"$(aws configure export-credentials --format env)\" before the run"));
  }
  if (access_.profile.empty()) return std::nullopt;
  return failure(no_credentials(ErrorKind::kRejected,
                                fmt::format("the shared files have no credentials for the profile "
                                            "{}",
                                            name),
                                "aws configure --profile " + name));
}

CredentialChain::Found CredentialChain::from_web_identity(const std::string& file,
                                                          const std::string& role,
                                                          const std::string& session) const {
  const auto token = read_file(file);
  if (!token) {
    return failure(no_credentials(ErrorKind::kRejected,
                                  fmt::format("the web identity token {} cannot be read", file),
                                  "AWS_WEB_IDENTITY_TOKEN_FILE names a file that is there"));
  }
  const bool china = access_.region.starts_with("cn-");
  curl::Request request;
  request.url = variables_("AWS_ENDPOINT_URL_STS")
                    .value_or(fmt::format("https://sts.{}.amazonaws.com{}/", access_.region,
                                          china ? ".cn" : ""));
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}"
      "&WebIdentityToken={}",
      form_encoded(role), form_encoded(session), form_encoded(first_line(*token)));
  request.timeout = kStsPatience;
  auto body = body_from(request, "STS");
  if (!body) return failure(std::move(body.error()));
  SessionKeys made;
  made.keys = {xml_text(between_tags(*body, "AccessKeyId")),
               xml_text(between_tags(*body, "SecretAccessKey")),
               xml_text(between_tags(*body, "SessionToken"))};
  made.expires = read_utc(xml_text(between_tags(*body, "Expiration")));
  if (made.keys.access_key_id.empty() || made.keys.secret_access_key.empty()) {
    return failure(not_given("STS", "there are none in its answer", ErrorKind::kUnavailable));
  }
  return std::optional(std::move(made));
}

CredentialChain::Found CredentialChain::from_container() const {
  const auto relative = variables_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = variables_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative && !full) return std::nullopt;
  auto url = relative ? relative_uri(*relative) : full_uri(*full);
  if (!url) return failure(std::move(url.error()));
  curl::Request request;
  request.method = "GET";
  request.url = *std::move(url);
  request.timeout = kNearbyPatience;
  request.through_proxy = false;
  auto token = variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    token = read_file(*file);
  }
  if (token) request.headers = {{"Authorization", first_line(*token)}};
  auto body = body_from(request, "the container's service");
  if (!body) return failure(std::move(body.error()));
  return keys_in(*body, "the container's service");
}

CredentialChain::Found CredentialChain::from_machine() const {
  if (variables_("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  std::string base = variables_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(kMachineHost);
  while (base.ends_with('/')) base.pop_back();
  curl::Request request;
  request.method = "PUT";
  request.timeout = kNearbyPatience;
  request.through_proxy = false;
  request.url = base + "/latest/api/token";
  request.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  const auto token = curl::fetch(request);
  // On machines outside Amazon the service does not exist.
  if (!token || token->status != 200) return std::nullopt;
  const std::string whose = "the instance metadata service";
  request.method = "GET";
  request.headers = {{"X-aws-ec2-metadata-token", first_line(token->body)}};
  request.url = base + "/latest/meta-data/iam/security-credentials/";
  const auto roles = curl::fetch(request);
  if (roles && roles->status == 404) return std::nullopt;  // no role is attached
  if (!roles || roles->status != 200) {
    return failure(not_given(whose, "it does not say which role", ErrorKind::kUnavailable));
  }
  request.url += first_line(roles->body);
  auto body = body_from(request, whose);
  if (!body) return failure(std::move(body.error()));
  return keys_in(*body, whose);
}

}  // namespace semel::sqs
