#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <semel/version.h>

#include "clients/curl/handles.h"
#include "traces/otlp_json.h"
#include "traces/span_post.h"

namespace semel::traces {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// An answer contains only the number of rejected spans, so a longer one is not needed.
constexpr std::size_t kLongestAnswer = 64 << 10;
constexpr std::size_t kShownAnswer = 200;
constexpr milliseconds kLongestPoll{1'000};
constexpr long kLongestConnect = 10'000;  // milliseconds
// The limit for a collector's Retry-After.
constexpr curl_off_t kLongestRetryAfter = 300;  // seconds

class HttpPost final : public SpanPost {
 public:
  explicit HttpPost(const core::TracesSpec& spec) : spec_(spec) {
    if (!library_.ready()) return;
    multi_.reset(curl_multi_init());
    easy_.reset(curl_easy_init());
    ready_ = multi_ && easy_ && prepare();
  }
  bool ready() const noexcept { return ready_; }

  PostAnswer post(const std::string& body) override;
  void end_by(steady_clock::time_point time) noexcept override {
    end_by_.store(time.time_since_epoch().count());
    curl_multi_wakeup(multi_.get());
  }

 private:
  template <class T>
  bool set(CURLoption option, T value) {
    return curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }
  bool prepare();
  void prepare_lines();
  static std::size_t on_answer(char* data, std::size_t size, std::size_t count, void* post) {
    std::string& answer = static_cast<HttpPost*>(post)->answer_;
    const std::size_t bytes = size * count;
    answer.append(data, std::min(bytes, kLongestAnswer - std::min(answer.size(), kLongestAnswer)));
    return bytes;
  }
  steady_clock::time_point last_moment() const noexcept {
    return steady_clock::time_point(steady_clock::duration(end_by_.load()));
  }
  CURLcode perform();
  PostAnswer answer_of(CURLcode code);

  const core::TracesSpec spec_;
  curl::LibraryUse library_;
  curl::Multi multi_;
  curl::HeaderLines lines_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::string answer_;
  curl::Easy easy_;
  std::atomic<steady_clock::rep> end_by_{
      steady_clock::time_point::max().time_since_epoch().count()};
  bool ready_ = false;
};

void HttpPost::prepare_lines() {
  lines_.add("Content-Type: application/json");
  lines_.add("Expect:");
  for (const Header& header : spec_.headers) lines_.add(header.name, header.value);
}

bool HttpPost::prepare() {
  const std::string agent = fmt::format("semel/{}", version());
  prepare_lines();
  return set(CURLOPT_URL, spec_.url.c_str()) && set(CURLOPT_POST, 1L) &&
         set(CURLOPT_HTTPHEADER, lines_.get()) &&
         set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE)) &&
         set(CURLOPT_USERAGENT, agent.c_str()) && set(CURLOPT_PROTOCOLS_STR, "http,https") &&
         set(CURLOPT_FOLLOWLOCATION, 0L) && set(CURLOPT_NOSIGNAL, 1L) &&
         set(CURLOPT_QUICK_EXIT, 1L) && set(CURLOPT_SSL_VERIFYPEER, 1L) &&
         set(CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         (spec_.ca_file.empty() || (set(CURLOPT_CAINFO, spec_.ca_file.c_str()) &&
                                    set(CURLOPT_CAPATH, static_cast<char*>(nullptr)))) &&
         set(CURLOPT_CONNECTTIMEOUT_MS, kLongestConnect) &&
         set(CURLOPT_TIMEOUT_MS, static_cast<long>(spec_.timeout.count())) &&
         set(CURLOPT_HTTP09_ALLOWED, 0L) && set(CURLOPT_WRITEFUNCTION, &HttpPost::on_answer) &&
         set(CURLOPT_WRITEDATA, static_cast<void*>(this)) &&
         set(CURLOPT_ERRORBUFFER, error_.data());
}

PostAnswer HttpPost::post(const std::string& body) {
  answer_.clear();
  error_[0] = '\0';
  if (!set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size())) ||
      !set(CURLOPT_POSTFIELDS, body.data())) {
    return {PostAnswer::Kind::kAway, 0, "libcurl has no memory", std::nullopt};
  }
  return answer_of(perform());
}

CURLcode HttpPost::perform() {
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) return CURLE_FAILED_INIT;
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  for (int active = 1; active > 0;) {
    if (steady_clock::now() >= last_moment()) break;
    if (curl_multi_perform(multi_.get(), &active) != CURLM_OK) break;
    int left = 0;
    if (const CURLMsg* told = curl_multi_info_read(multi_.get(), &left)) code = told->data.result;
    if (active == 0) break;
    const auto rest = std::chrono::ceil<milliseconds>(std::clamp<steady_clock::duration>(
        last_moment() - steady_clock::now(), milliseconds(0), kLongestPoll));
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(rest.count()), nullptr);
  }
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return code;
}

PostAnswer HttpPost::answer_of(CURLcode code) {
  using Kind = PostAnswer::Kind;
  if (code != CURLE_OK) {
    const char* const said = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    return {Kind::kAway, 0,
            code == CURLE_ABORTED_BY_CALLBACK ? "no answer before the run's end" : said,
            std::nullopt};
  }
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) {
    PartialSuccess partly = partial_success(answer_);
    return {Kind::kTaken, partly.rejected, std::move(partly.message), std::nullopt};
  }
  PostAnswer made{Kind::kRefused, 0, fmt::format("it answered {}", status), std::nullopt};
  if (!answer_.empty()) made.error += ": " + answer_.substr(0, kShownAnswer);
  // OTLP has these sent again, and no others.
  if (status == 429 || (status >= 502 && status <= 504)) {
    made.kind = Kind::kAway;
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0) {
      made.retry_after = std::chrono::seconds(std::min(seconds, kLongestRetryAfter));
    }
  }
  return made;
}

}  // namespace

Result<std::unique_ptr<SpanPost>> make_http_post(const core::TracesSpec& spec) {
  auto made = std::make_unique<HttpPost>(spec);
  if (made->ready()) return std::unique_ptr<SpanPost>(std::move(made));
  return failure({ErrorKind::kUnavailable, "R350", "libcurl cannot export spans to " + spec.url,
                  "look at traces.otlp and traces.ca_file"});
}

}  // namespace semel::traces
