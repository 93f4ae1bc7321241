#include "clients/curl/transfers.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <new>

#include <stdexcept>
#include <thread>
#include <utility>

#include <semel/version.h>

#include "base/ascii.h"
#include "clients/curl/sent_once.h"

namespace semel::curl {

namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// The pause if libcurl cannot wait.
constexpr milliseconds kPauseOfFailure{100};
constexpr long kLongestConnect = 10'000;  // milliseconds
// No expected answer has a longer body.
constexpr std::size_t kLongestBody = std::size_t{64} << 20U;

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
}

Error unusable() {
  return {ErrorKind::kUnavailable, {}, "libcurl cannot be used", "has the process memory left?"};
}

}  // namespace

struct Transfers::Transfer {
  Transfer(Request asked, Done then) : request(std::move(asked)), done(std::move(then)) {
    easy.reset(curl_easy_init());
    if (!easy) throw std::bad_alloc();
    prepare();
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* transfer) {
    std::string& body = static_cast<Transfer*>(transfer)->response.body;
    const std::size_t bytes = size * count;
    if (body.size() + bytes > kLongestBody) return 0;
    try {
      body.append(data, bytes);
    } catch (const std::bad_alloc&) {
      return 0;
    }
    return bytes;
  }
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* transfer) {
    constexpr std::string_view kDate = "date:";
    const std::string_view line(data, size * count);
    if (line.size() > kDate.size() && ascii::alike(line.substr(0, kDate.size()), kDate)) {
      const std::time_t time =
          curl_getdate(std::string(line.substr(kDate.size())).c_str(), nullptr);
      if (time >= 0) {
        static_cast<Transfer*>(transfer)->response.date = system_clock::from_time_t(time);
      }
    }
    return size * count;
  }

  void prepare();
  void prepare_request();
  Answered ended(CURLcode code);
  const char* text_of(CURLcode code) const;

  Id id = 0;
  Request request;
  Done done;
  Response response;
  HeaderLines lines;
  std::array<char, CURL_ERROR_SIZE> said{};
  SentOnce once;
  Easy easy;
};

void Transfers::Transfer::prepare_request() {
  CURL* const handle = easy.get();
  bool typed = false;
  for (const Header& header : request.headers) {
    typed = typed || ascii::alike(header.name, "content-type");
    lines.add(header.name, header.value);
  }
  if (!typed) lines.add("Content-Type:");
  lines.add("Expect:");
  set(handle, CURLOPT_URL, request.url.c_str());
  if (request.method == "GET") {
    set(handle, CURLOPT_HTTPGET, 1L);
  } else {
    set(handle, CURLOPT_POST, 1L);
    set(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(handle, CURLOPT_POSTFIELDS, request.body.data());
  }
  set(handle, CURLOPT_HTTPHEADER, lines.get());
  // The headers are for the server, not for a proxy.
  set(handle, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  if (!request.through_proxy) set(handle, CURLOPT_PROXY, "");
}

void Transfers::Transfer::prepare() {
  CURL* const handle = easy.get();
  prepare_request();
  set(handle, CURLOPT_USERAGENT, fmt::format("semel/{}", version()).c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle, CURLOPT_HTTP09_ALLOWED, 0L);
  set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!request.ca_file.empty()) {
    set(handle, CURLOPT_CAINFO, request.ca_file.c_str());
    set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(handle, CURLOPT_NOSIGNAL, 1L);
  // Otherwise abandoning a request during a name lookup waits for the lookup.
  set(handle, CURLOPT_QUICK_EXIT, 1L);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, kLongestConnect);
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  set(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(handle, CURLOPT_WRITEDATA, static_cast<void*>(this));
  once.watch(handle);
  set(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(handle, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(handle, CURLOPT_ERRORBUFFER, said.data());
}

Answered Transfers::Transfer::ended(CURLcode code) {
  if (code == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    return std::move(response);
  }
  Error error{ErrorKind::kUnavailable, {}, text_of(code), {}};
  if (once.sent()) {
    // The error may be that of a second connection, which libcurl made to repeat the request.
    error.kind = ErrorKind::kInDoubt;
    return failure(std::move(error));
  }
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      error.kind = ErrorKind::kRejected;
      break;
    default:
      break;
  }
  return failure(std::move(error));
}

const char* Transfers::Transfer::text_of(CURLcode code) const {
  if (once.repeated()) return "the connection was closed without an answer";
  return said[0] != '\0' ? said.data() : curl_easy_strerror(code);
}

Transfers::Transfers() {
  if (library_.ready()) multi_.reset(curl_multi_init());
  if (!multi_) throw SemelError(unusable());
}

Transfers::~Transfers() { give_up_all(); }

void Transfers::give_up_all() noexcept {
  while (!under_way_.empty()) give_up(under_way_.begin()->first);
}

Transfers::Id Transfers::begin(Request request, Done done) {
  auto made = std::make_unique<Transfer>(std::move(request), std::move(done));
  made->id = ++last_;
  set(made->easy.get(), CURLOPT_PRIVATE, static_cast<void*>(made.get()));
  if (curl_multi_add_handle(multi_.get(), made->easy.get()) != CURLM_OK) throw std::bad_alloc();
  under_way_.emplace(last_, std::move(made));
  return last_;
}

void Transfers::give_up(Id id) noexcept {
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return;
  curl_multi_remove_handle(multi_.get(), found->second->easy.get());
  under_way_.erase(found);
}

void Transfers::take_ended() {
  for (;;) {
    int left = 0;
    const CURLMsg* const told = curl_multi_info_read(multi_.get(), &left);
    if (told == nullptr) return;
    if (told->msg != CURLMSG_DONE) continue;
    const CURLcode code = told->data.result;
    char* mark = nullptr;
    curl_easy_getinfo(told->easy_handle, CURLINFO_PRIVATE, &mark);
    const auto* const transfer = static_cast<const Transfer*>(static_cast<const void*>(mark));
    const auto found = under_way_.find(transfer->id);
    if (found == under_way_.end()) continue;
    const auto ended = std::move(found->second);
    under_way_.erase(found);
    curl_multi_remove_handle(multi_.get(), ended->easy.get());
    ended->done(ended->ended(code));
  }
}

// Fails all requests. Otherwise the owner would poll in a busy loop for answers that never come.
void Transfers::fail_all(int code) {
  const char* const why = curl_multi_strerror(static_cast<CURLMcode>(code));
  if (under_way_.empty()) return std::this_thread::sleep_for(kPauseOfFailure);
  // Only those that exist now: ending one may begin another.
  for (const Id last = last_; !under_way_.empty() && under_way_.begin()->first <= last;) {
    const auto first = under_way_.begin();
    const std::unique_ptr<Transfer> failed = std::move(first->second);
    under_way_.erase(first);
    curl_multi_remove_handle(multi_.get(), failed->easy.get());
    failed->done(failure(
        Error{failed->once.sent() ? ErrorKind::kInDoubt : ErrorKind::kUnavailable, {}, why, {}}));
  }
}

void Transfers::run(milliseconds patience) {
  int active = 0;
  if (const CURLMcode code = curl_multi_perform(multi_.get(), &active); code != CURLM_OK) {
    return fail_all(code);
  }
  const std::size_t before = under_way_.size();
  take_ended();
  if (under_way_.size() < before) return;  // an ended transfer's owner may have more to begin
  const auto most = static_cast<int>(patience.count());
  CURLMcode code = curl_multi_poll(multi_.get(), nullptr, 0, most, nullptr);
  if (code == CURLM_OK) code = curl_multi_perform(multi_.get(), &active);
  take_ended();
  if (code != CURLM_OK) fail_all(code);
}

void Transfers::wake() noexcept { curl_multi_wakeup(multi_.get()); }

Answered fetch(const Request& request) {
  Transfers transfers;
  std::optional<Answered> answer;
  transfers.begin(request, [&](Answered told) { answer = std::move(told); });
  while (!answer) transfers.run(request.timeout);
  return *std::move(answer);
}

}  // namespace semel::curl
