#include "clients/api/run_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <semel/version.h>

#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "clients/api/answer.h"
#include "clients/curl/handles.h"

namespace semel::api_client {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToConnect{5'000};
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
// A caller that exceeds the rate limit: how often it tries again, and the pause before each try.
constexpr int kTriesOfRate = 50;
constexpr milliseconds kBetweenTries{200};
constexpr int kTooManyRequests = 429;

class CurlClient final : public RunClient {
 public:
  explicit CurlClient(RunClientOptions options) : options_(std::move(options)) {}

  Result<void> prepare();
  Result<std::string> get(std::string_view path) override { return ask(path, nullptr); }
  Result<std::string> post(std::string_view path, const std::string& body) override {
    return ask(path, &body);
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
  }
  static std::size_t take(char* data, std::size_t size, std::size_t count, void* to);
  static int sends(void* client, char*, char*, int, int);
  Result<std::string> ask(std::string_view path, const std::string* body);
  Result<Answer> ask_once(const std::string& url, const std::string* body);
  Error error_of(CURLcode code, bool writes) const;

  const RunClientOptions options_;
  const curl::LibraryUse library_;
  curl::Easy easy_;
  curl::HeaderLines reading_, writing_;
  std::string body_;
  char said_[CURL_ERROR_SIZE] = {};
  bool sent_ = false;
};

Result<void> CurlClient::prepare() {
  if (library_.ready()) easy_.reset(curl_easy_init());
  if (easy_ == nullptr) {
    return failure({ErrorKind::kUnavailable, "R360", "libcurl cannot be used", {}});
  }
  const std::string agent = fmt::format("semel/{}", version());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  // A key may be "..", which must reach the server unchanged.
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options_.ca_file.empty()) {
    set(CURLOPT_CAINFO, options_.ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kToConnect.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds(kPatience).count()));
  set(CURLOPT_USERAGENT, agent.c_str());
  set(CURLOPT_ERRORBUFFER, said_);
  set(CURLOPT_WRITEFUNCTION, &CurlClient::take);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, &CurlClient::sends);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  // A proxy could read an unencrypted request and its token, and the proxy's 127.0.0.1 is another
  // machine. An encrypted request passes through a tunnel, whose setup does not contain the token.
  if (!options_.url.encrypted) set(CURLOPT_PROXY, "");
  if (!options_.url.socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, options_.url.socket.c_str());
  set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  for (curl::HeaderLines* headers : {&reading_, &writing_}) {
    headers->add("Accept: application/json");
    if (!options_.token.empty()) headers->add("Authorization: Bearer " + options_.token);
  }
  writing_.add("Content-Type: application/json");
  writing_.add("Expect:");
  return {};
}

std::size_t CurlClient::take(char* data, std::size_t size, std::size_t count, void* to) {
  auto& client = *static_cast<CurlClient*>(to);
  const std::size_t bytes = size * count;
  if (client.body_.size() + bytes > kMostBytes) return 0;
  try {
    client.body_.append(data, bytes);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return bytes;
}

int CurlClient::sends(void* client, char*, char*, int, int) {
  static_cast<CurlClient*>(client)->sent_ = true;
  return CURL_PREREQFUNC_OK;
}

Error CurlClient::error_of(CURLcode code, bool writes) const {
  const std::string url = options_.url.text();
  const char* const why = said_[0] == '\0' ? curl_easy_strerror(code) : said_;
  Error error{ErrorKind::kUnavailable, "R360", fmt::format("cannot ask {}: {}", url, why),
              options_.url.socket.empty()
                  ? "is the run up, and does its config have admin:?"
                  : "is the run up, does its config have admin.socket, and may this user "
                    "connect (ls -l)?"};
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      error.hint = "--ca-file FILE: the certificate authority that signed the run's certificate";
      return error;
    case CURLE_SSL_CACERT_BADFILE:
      return {ErrorKind::kRejected, "R361", fmt::format("--ca-file: {}", why),
              "a file of certificates in PEM, which this user may read"};
    case CURLE_SSL_CONNECT_ERROR:
      error.hint = "where the run listens without TLS: http://";
      return error;
    case CURLE_WRITE_ERROR:
      error.message = fmt::format("the answer of {} is larger than {} MiB", url, kMostBytes >> 20U);
      error.hint = "narrow what is asked for";
      return error;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
      if (!options_.url.encrypted) error.hint = "where the run listens with TLS: https://";
      break;
    default:
      break;
  }
  if (writes && sent_) {
    error.kind = ErrorKind::kInDoubt;
    error.message += ": it may be done, or be done still";
    error.hint = "check before you repeat it: GET /api/v1/audit shows how it ended";
  }
  return error;
}

Result<Answer> CurlClient::ask_once(const std::string& url, const std::string* body) {
  body_.clear();
  said_[0] = '\0';
  sent_ = false;
  set(CURLOPT_URL, url.c_str());
  if (body == nullptr) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    set(CURLOPT_POSTFIELDS, body->c_str());
  }
  // If the server has ended the kept connection, libcurl sends the request again by itself. A write
  // would then be made twice.
  set(CURLOPT_FRESH_CONNECT, body == nullptr ? 0L : 1L);
  set(CURLOPT_HTTPHEADER, body == nullptr ? reading_.get() : writing_.get());
  const CURLcode code = curl_easy_perform(easy_.get());
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK) return failure(error_of(code, body != nullptr));
  Answer answer;
  long status = 0;
  const char* type = nullptr;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &type);
  answer.status = static_cast<int>(status);
  if (type != nullptr) answer.content_type = type;
  answer.body = std::move(body_);
  return answer;
}

Result<std::string> CurlClient::ask(std::string_view path, const std::string* body) {
  const std::string url = fmt::format("{}/api/v1/{}", options_.url.base, path);
  for (int tries = 1;; ++tries) {
    auto answer = ask_once(url, body);
    if (!answer) return failure(std::move(answer.error()));
    // A rate-limited request has done nothing, so it may be sent again.
    if (answer->status != kTooManyRequests || tries == kTriesOfRate) {
      return document_of(*std::move(answer), options_.url.text());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace

Result<std::unique_ptr<RunClient>> RunClient::create(RunClientOptions options) {
  auto client = std::make_unique<CurlClient>(std::move(options));
  if (auto prepared = client->prepare(); !prepared) return failure(std::move(prepared.error()));
  return client;
}

}  // namespace semel::api_client
