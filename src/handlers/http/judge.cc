#include "handlers/http/judge.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <semel/reason.h>

#include "base/ascii.h"
#include "base/json.h"
#include "core/verdict_details.h"

namespace semel::handlers {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using TransferState = Answer::TransferState;
using Endpoint = Judged::Endpoint;

constexpr hours kLongestWait{24};
// If a receiver is still busy with the key, it is asked again after this fraction of the time for
// which it has had the key, within the bounds below.
constexpr int kBusyPart = 8;
constexpr seconds kSoon{1};
constexpr seconds kLatestSoon{60};
constexpr std::size_t kShownText = 200;

// The text as one line of printable characters.
std::string shown(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kShownText)) line += ascii::is_control(c) ? ' ' : c;
  const auto last = line.find_last_not_of(' ');
  line.resize(last == std::string::npos ? 0 : last + 1);
  return text.size() > kShownText ? line + "…" : line;
}

std::string said(const Answer& answer) {
  const std::string body = shown(answer.body);
  return fmt::format("the endpoint answered {}{}{}", answer.status, body.empty() ? "" : ": ", body);
}

Judged again(const Answer& answer, std::string why, Endpoint endpoint,
             system_clock::time_point now) {
  Judged made;
  Verdict::Retry verdict;
  verdict.reason = why;
  verdict.after = retry_after(answer.retry_after, now);
  verdict.asked = verdict.after.has_value();
  verdict.code = reason::http_reason(std::to_string(answer.status));
  made.verdict = std::move(verdict);
  made.endpoint = endpoint;
  made.why = std::move(why);
  return made;
}

Judged not_counted(Judged made) {
  core::set_counted(made.verdict, false);
  return made;
}

Judged given_up(const std::string& code, std::string why) {
  Judged made;
  made.verdict = dead(std::move(why));
  core::set_code(made.verdict, code);
  return made;
}

bool is_json(std::string_view content_type) {
  const std::string type = ascii::lower(content_type.substr(0, content_type.find_first_of("; \t")));
  return type == "application/json" || type.ends_with("+json");
}

// The member `status` of a JSON answer; empty if there is none.
std::string status_word(const Answer& answer) {
  if (answer.body.empty() || !is_json(answer.content_type)) return {};
  static const auto kPointer = json::Pointer::parse("/status").value();
  thread_local json::Document document;
  if (!document.parse(answer.body)) return {};
  auto found = document.at(kPointer);
  if (!found) return {};
  auto* word = std::get_if<std::string>(&*found);
  return word == nullptr ? std::string() : std::move(*word);
}

Judged judge_success(Answer answer, system_clock::time_point now) {
  const std::string word = status_word(answer);
  const auto why = [&] {
    return fmt::format("the endpoint said {}: {}", word, shown(answer.body));
  };
  if (word == "RETRY") return again(answer, why(), Endpoint::kWorks, now);
  if (word == "DEAD_LETTER") {
    return given_up(reason::http_reason(std::to_string(answer.status)), why());
  }
  Judged made;
  made.verdict = word == "DROP" ? discard(why()) : done(std::move(answer.body));
  return made;
}

Judged judge_waiting(const Answer& answer, system_clock::time_point now) {
  Judged made = again(answer, said(answer), Endpoint::kFails, now);
  const bool throttles = answer.status == 429 || answer.status == 503;
  if (throttles && made.verdict.after().value_or(milliseconds(0)).count() > 0) {
    made.endpoint = Endpoint::kWaits;
    made.wait = *made.verdict.after();
  }
  return made;
}

bool speaks_of_the_message(int status, const CallFacts& call) noexcept {
  if (call.undo && (status == 404 || status == 410)) return true;
  if (!call.places) return false;
  const bool moved = status >= 300 && status < 400;
  return moved || status == 403 || status == 404 || status == 410;
}

std::string refusal(const Answer& answer) {
  const bool moved = answer.status >= 300 && answer.status < 400 && !answer.location.empty();
  return moved ? "endpoint moved to " + shown(answer.location) : said(answer);
}

Judged judge_busy(const Answer& answer, system_clock::time_point now, milliseconds since_first) {
  Judged made = not_counted(again(answer, said(answer), Endpoint::kWorks, now));
  if (made.verdict.after().value_or(milliseconds(0)).count() > 0) return made;
  core::change_details<Verdict::Retry>(made.verdict, [&](Verdict::Retry& busy) {
    busy.after = std::clamp<milliseconds>(since_first / kBusyPart, kSoon, kLatestSoon);
    busy.asked = false;
  });
  return made;
}

Judged judge_status(Answer answer, system_clock::time_point now, const CallFacts& call) {
  const int status = answer.status;
  // Counts as the message's own failure, until many different messages fail so in a row.
  if (speaks_of_the_message(status, call)) {
    return again(answer, refusal(answer), Endpoint::kFails, now);
  }
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
    case 431:
      return given_up(reason::http_reason(std::to_string(status)), said(answer));
    case 401:
    case 403:
    case 404:
    case 405:
    case 407:
      return not_counted(again(answer, said(answer), Endpoint::kDenies, now));
    case 409:
      return judge_busy(answer, now, call.since_first);
    case 410:
      return not_counted(again(answer, said(answer), Endpoint::kGone, now));
    default:
      break;
  }
  if (status >= 200 && status < 300) return judge_success(std::move(answer), now);
  if (status >= 300 && status < 400) {
    return not_counted(again(answer, refusal(answer), Endpoint::kDenies, now));
  }
  Judged made = judge_waiting(answer, now);
  if (status > 599) core::set_code(made.verdict, reason::http_reason("invalid"));
  return made;
}

Judged judge_state(const Answer& answer) {
  Judged made;
  made.endpoint = Endpoint::kFails;
  Verdict::Retry verdict;
  verdict.reason = answer.error;
  verdict.unknown = answer.sent;
  verdict.counted = answer.sent;
  made.why = answer.error;
  switch (answer.state) {
    case TransferState::kNotTrusted:
      made.endpoint = Endpoint::kAtFault;
      [[fallthrough]];
    case TransferState::kNotSent:
      verdict.code = reason::http_reason("connect");
      break;
    case TransferState::kWhole:
    case TransferState::kBroken:
      verdict.code = reason::http_reason("reset");
      break;
    case TransferState::kInvalid:
      verdict.code = reason::http_reason("invalid");
      break;
    case TransferState::kTooLarge:
      verdict.code = reason::http_reason("too_large");
      break;
    case TransferState::kTimedOut:
    case TransferState::kStopped:
      verdict.code = reason::kHandlerTimeout;
      break;
  }
  made.verdict = std::move(verdict);
  return made;
}

}  // namespace

bool leaves_doubt(int status) noexcept {
  // A proxy answers 503 also where the connection ended behind the request, and many endpoints
  // answer a request that they have processed with "303 See Other". 307 and 308 ask for the same
  // request elsewhere, and 501 is about the method.
  if (status >= 300 && status < 400) return status != 307 && status != 308;
  return status >= 500 && status != 501;
}

std::optional<milliseconds> retry_after(std::string_view value, system_clock::time_point now) {
  if (value.empty()) return std::nullopt;
  const auto bounded = [](seconds wait) {
    return std::clamp<milliseconds>(std::min<seconds>(wait, kLongestWait), milliseconds(0),
                                    kLongestWait);
  };
  if (std::all_of(value.begin(), value.end(), ascii::is_digit)) {
    std::uint32_t number = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    return bounded(problem == std::errc{} ? seconds(number) : seconds(kLongestWait));
  }
  // Every date format begins with the day's name; libcurl's other formats are not allowed here.
  const char first = value.front();
  if (first < 'A' || first > 'Z') return std::nullopt;
  const std::time_t date = ::curl_getdate(std::string(value).c_str(), nullptr);
  if (date == -1) return std::nullopt;
  // Compare in seconds: a distant date would overflow the clock's own unit.
  return bounded(seconds(date) - std::chrono::floor<seconds>(now.time_since_epoch()));
}

Judged judge(Answer answer, std::size_t response_limit, system_clock::time_point now,
             const CallFacts& call) {
  const bool good = answer.status >= 200 && answer.status < 300;
  if (answer.status != 0 && answer.state != TransferState::kStopped) {
    // For a failure the status is enough: it does not matter how the body ended.
    if (!good || answer.state == TransferState::kWhole)
      return judge_status(std::move(answer), now, call);
    if (answer.state == TransferState::kTooLarge) {
      Judged made = given_up(
          reason::http_reason("too_large"),
          fmt::format("the endpoint answered {}, so its effect has happened; its answer is "
                      "longer than {} bytes and would have to be cut",
                      answer.status, response_limit));
      core::set_unknown(made.verdict, true);
      return made;
    }
  }
  return judge_state(answer);
}

}  // namespace semel::handlers
