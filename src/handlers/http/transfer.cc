#include "handlers/http/transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <semel/version.h>

#include "base/ascii.h"
#include "clients/curl/handles.h"
#include "clients/curl/sent_once.h"
#include "handlers/http/response.h"

namespace semel::handlers {

namespace {

using std::chrono::milliseconds;
using TransferState = Answer::TransferState;

constexpr milliseconds kConnectTimeout{10'000};
// An idle connection is probed, so that one whose peer vanished is not kept.
constexpr std::chrono::seconds kProbedAfter{30};
constexpr std::chrono::seconds kProbedEvery{10};
// Bytes that the peer's system does not acknowledge for a call's timeout end the connection.
constexpr milliseconds kShortestWrite = kConnectTimeout;
constexpr milliseconds kLongestWrite = std::chrono::hours(1);

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
}

void set_number(CURL* easy, CURLoption option, long value) { set(easy, option, value); }
void set_text(CURL* easy, CURLoption option, const char* value) { set(easy, option, value); }

}  // namespace

struct Transfer::Parts {
  explicit Parts(const core::HttpSpec& s) : spec(s), reader(s.response_limit) {}

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* parts) {
    const std::size_t bytes = size * count;
    return static_cast<Parts*>(parts)->reader.header({data, bytes}) ? bytes : 0;
  }
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* parts) {
    const std::size_t bytes = size * count;
    return static_cast<Parts*>(parts)->reader.body({data, bytes}) ? bytes : 0;
  }
  static int on_socket(void* parts, curl_socket_t socket, curlsocktype) noexcept {
    const milliseconds longest =
        std::clamp(static_cast<Parts*>(parts)->spec.timeout, kShortestWrite, kLongestWrite);
    const auto time = static_cast<unsigned>(longest.count());
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &time, sizeof time);
    return CURL_SOCKOPT_OK;
  }

  bool tls() const { return ascii::alike(std::string_view(spec.url).substr(0, 6), "https:"); }
  void prepare_request(const std::string& url, const Headers& headers, BytesView body);
  void prepare_connection();
  void prepare_answer();
  TransferState state_of(CURLcode code) const;
  Answer answer(TransferState state, std::string error);

  const core::HttpSpec& spec;
  ResponseReader reader;
  curl::HeaderLines headers;
  std::array<char, CURL_ERROR_SIZE> error{};
  curl::SentOnce once;
  std::shared_ptr<ConnectionPool> pool;
  curl::Easy easy;
};

void Transfer::Parts::prepare_request(const std::string& url, const Headers& lines,
                                      BytesView body) {
  bool typed = false;
  for (const Header& line : lines) {
    typed = typed || ascii::alike(line.name, "content-type");
    headers.add(line.name, line.value);
  }
  if (!typed) headers.add("Content-Type:");
  headers.add("Expect:");
  set_text(easy.get(), CURLOPT_URL, url.c_str());
  set_number(easy.get(), CURLOPT_POST, 1);
  set_text(easy.get(), CURLOPT_CUSTOMREQUEST, spec.method.c_str());
  set(easy.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(easy.get(), CURLOPT_POSTFIELDS, body.empty() ? "" : body.data());
  set(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  // These headers are for the endpoint, not for a proxy.
  set_number(easy.get(), CURLOPT_HEADEROPT, CURLHEADER_SEPARATE);
  set_text(easy.get(), CURLOPT_USERAGENT, fmt::format("semel/{}", version()).c_str());
  once.watch(easy.get());
}

void Transfer::Parts::prepare_connection() {
  set_text(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  set_number(easy.get(), CURLOPT_FOLLOWLOCATION, 0);
  set_number(easy.get(), CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  // Prefer one connection with many streams to many connections; plain HTTP has no streams to wait
  // for.
  set_number(easy.get(), CURLOPT_PIPEWAIT, tls() ? 1 : 0);
  set_number(easy.get(), CURLOPT_SSL_VERIFYPEER, 1);
  set_number(easy.get(), CURLOPT_SSL_VERIFYHOST, 2);
  set_number(easy.get(), CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  if (!spec.ca_file.empty()) {
    set_text(easy.get(), CURLOPT_CAINFO, spec.ca_file.c_str());
    set_text(easy.get(), CURLOPT_CAPATH, nullptr);
  }
  set_number(easy.get(), CURLOPT_NOSIGNAL, 1);
  // Otherwise aborting a call during a name lookup waits for the lookup's end.
  set_number(easy.get(), CURLOPT_QUICK_EXIT, 1);
  set_number(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeout.count());
  set_number(easy.get(), CURLOPT_TIMEOUT_MS, spec.timeout.count());
  set_number(easy.get(), CURLOPT_SUPPRESS_CONNECT_HEADERS, 1);
  set_number(easy.get(), CURLOPT_TCP_KEEPALIVE, 1);
  set_number(easy.get(), CURLOPT_TCP_KEEPIDLE, kProbedAfter.count());
  set_number(easy.get(), CURLOPT_TCP_KEEPINTVL, kProbedEvery.count());
  set(easy.get(), CURLOPT_SOCKOPTFUNCTION, &Parts::on_socket);
  set(easy.get(), CURLOPT_SOCKOPTDATA, static_cast<void*>(this));
}

void Transfer::Parts::prepare_answer() {
  set_number(easy.get(), CURLOPT_HTTP09_ALLOWED, 0);
  set(easy.get(), CURLOPT_HEADERFUNCTION, &Parts::on_header);
  set(easy.get(), CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(easy.get(), CURLOPT_WRITEFUNCTION, &Parts::on_body);
  set(easy.get(), CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(easy.get(), CURLOPT_ERRORBUFFER, error.data());
}

TransferState Transfer::Parts::state_of(CURLcode code) const {
  if (!once.sent()) {
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
      case CURLE_SSL_ISSUER_ERROR:
      case CURLE_SSL_CERTPROBLEM:
        return TransferState::kNotTrusted;
      default:
        return TransferState::kNotSent;
    }
  }
  switch (code) {
    case CURLE_OK:
      return reader.status() == 0 ? TransferState::kBroken : TransferState::kWhole;
    case CURLE_OPERATION_TIMEDOUT:
      return TransferState::kTimedOut;
    case CURLE_WRITE_ERROR:
      return reader.too_large() ? TransferState::kTooLarge : TransferState::kInvalid;
    // A header line is longer than libcurl's own limit.
    case CURLE_OUT_OF_MEMORY:
      return TransferState::kTooLarge;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return TransferState::kInvalid;
    case CURLE_RECV_ERROR:
      return std::string_view(error.data()).find("chunked-encoding") != std::string_view::npos
                 ? TransferState::kInvalid
                 : TransferState::kBroken;
    default:
      return TransferState::kBroken;
  }
}

Answer Transfer::Parts::answer(TransferState state, std::string text) {
  Answer made;
  made.state = state;
  made.sent = once.sent();
  made.status = reader.status();
  made.content_type = reader.content_type();
  made.retry_after = reader.retry_after();
  made.location = reader.location();
  made.body = reader.take_body();
  made.error = std::move(text);
  return made;
}

Transfer::Transfer(const core::HttpSpec& spec, const std::string& url, const Headers& headers,
                   BytesView body)
    : parts_(std::make_unique<Parts>(spec)) {
  parts_->easy.reset(curl_easy_init());
  if (!parts_->easy) throw std::bad_alloc();
  parts_->prepare_request(url, headers, body);
  parts_->prepare_connection();
  parts_->prepare_answer();
}

Transfer::~Transfer() = default;

void* Transfer::easy() noexcept { return parts_->easy.get(); }

void Transfer::mark(void* owner) noexcept {
  curl_easy_setopt(parts_->easy.get(), CURLOPT_PRIVATE, owner);
}

void* Transfer::owner_of(void* easy) noexcept {
  char* owner = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
  return owner;
}

void Transfer::connect_through(std::shared_ptr<ConnectionPool> pool) noexcept {
  // Plain HTTP has no streams, and a call that times out closes its connection.
  if (parts_->tls()) parts_->once.watch_streams(parts_->easy.get(), pool->last_streams());
  curl_easy_setopt(parts_->easy.get(), CURLOPT_SHARE, pool->share());
  parts_->pool = std::move(pool);
}

const std::shared_ptr<ConnectionPool>& Transfer::pool() const noexcept { return parts_->pool; }
const std::string& Transfer::connection() const noexcept { return parts_->once.connection(); }
bool Transfer::answered() const noexcept { return parts_->once.answered(); }

Answer Transfer::ended(int curl_code) {
  const auto code = static_cast<CURLcode>(curl_code);
  const TransferState state = parts_->state_of(code);
  std::string text;
  switch (state) {
    case TransferState::kWhole:
      break;
    case TransferState::kTimedOut:
      text = fmt::format("no whole answer within {} ms", parts_->spec.timeout.count());
      break;
    case TransferState::kTooLarge:
      text = "the answer's headers are too large";
      break;
    default:
      text = code == CURLE_ABORTED_BY_CALLBACK ? "the connection was closed without an answer"
             : parts_->error[0] != '\0'        ? parts_->error.data()
             : parts_->once.refused()          ? "the server refused the request unseen"
             : code == CURLE_OK ? "the connection was closed in the midst of the headers"
                                : curl_easy_strerror(code);
      break;
  }
  return parts_->answer(state, std::move(text));
}

Answer Transfer::stopped(std::string why) {
  return parts_->answer(TransferState::kStopped, std::move(why));
}

Result<void> parse_url(const std::string& url) {
  const curl::Url parsed(curl_url());
  if (!parsed) throw std::bad_alloc();
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  if (code == CURLUE_OK) return {};
  return failure({ErrorKind::kRejected, "R255",
                  fmt::format("the URL cannot be called: {}", curl_url_strerror(code)),
                  "write http://host/path or https://host/path"});
}

}  // namespace semel::handlers
