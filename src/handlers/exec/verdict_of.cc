#include "handlers/exec/verdict_of.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <semel/reason.h>

#include "base/printable.h"
#include "core/verdict_details.h"

namespace semel::handlers::exec {
namespace {

// sysexits.h names the first three. Mail programs use 100 for a permanent failure of another kind.
constexpr int kExitDone = 0;
constexpr int kExitDead = 65;
constexpr int kExitRetry = 75;
constexpr int kExitDiscard = 100;
constexpr std::size_t kLongestReason = 2 << 10;

std::string shown(std::chrono::milliseconds time) {
  if (time.count() % 1000 == 0) return fmt::format("{}s", time.count() / 1000);
  return fmt::format("{}ms", time.count());
}

// Adds the last line that the command wrote to stderr.
std::string with_words(std::string sentence, std::string_view error_text) {
  const std::string line = last_line(error_text);
  if (!line.empty()) sentence += "; it said: " + line;
  return sentence;
}

Verdict by_code(const core::ExecSpec& spec, int code, ProcessEnd end) {
  if (code == kExitDone && end.output_size > spec.result_limit) {
    Verdict::Dead verdict;
    verdict.reason = fmt::format("the command printed {} bytes on stdout, the limit is {}",
                                 end.output_size, spec.result_limit);
    verdict.code = reason::kTooLarge;
    verdict.unknown = true;  // the effect is known to have happened
    return verdict;
  }
  if (code == kExitDone) return done(std::move(end.output));
  std::string why = last_line(end.last_error_text);
  if (why.empty()) why = fmt::format("the command ended with exit code {}", code);
  Verdict verdict = code == kExitDead      ? dead(std::move(why))
                    : code == kExitDiscard ? discard(std::move(why))
                                           : retry(std::move(why));
  core::set_code(verdict, reason::exec_reason(std::to_string(code)));
  const bool told = code == kExitDead || code == kExitDiscard || code == kExitRetry;
  core::set_unknown(verdict, spec.failure_is_doubt && !told);
  return verdict;
}

}  // namespace

Verdict verdict_of(const core::ExecSpec& spec, ProcessEnd end) {
  const ExitStatus status = end.status;
  if (end.why == ProcessEnd::Why::kItself && status.code) {
    return by_code(spec, *status.code, std::move(end));
  }
  Verdict::Retry verdict;
  const int signal = status.code ? SIGTERM : status.signal;
  switch (end.why) {
    case ProcessEnd::Why::kTimeout:
      verdict.reason = with_words(
          fmt::format("the command ran longer than its timeout of {}", shown(spec.timeout)),
          end.last_error_text);
      verdict.code = reason::kHandlerTimeout;
      break;
    case ProcessEnd::Why::kStopped:
      verdict.reason = with_words("the command was stopped before its end", end.last_error_text);
      verdict.code = reason::exec_reason(fmt::format("signal_{}", signal));
      verdict.counted = false;
      break;
    case ProcessEnd::Why::kItself:
      verdict.reason = with_words(
          signal > 0 ? fmt::format("the command was ended by signal {}", signal)
                     : "how the command ended is not known: the program around it collected it",
          end.last_error_text);
      verdict.code = reason::exec_reason(fmt::format("signal_{}", signal));
      break;
  }
  verdict.unknown = true;
  return verdict;
}

Verdict not_started(const std::string& program, int problem) {
  if (problem == E2BIG) {
    Verdict::Dead verdict;
    verdict.reason = "the key and the message's type are too long for an environment";
    verdict.code = reason::kTooLarge;
    return verdict;
  }
  std::string why = fmt::format("\"{}\" cannot be started: {}", program,
                                std::generic_category().message(problem));
  if (problem == ENOENT) why += " (it, or the interpreter that its first line names)";
  if (problem == ENOEXEC) why += " (a script needs a first line such as #!/bin/sh)";
  return no_room(why);
}

Verdict no_room(std::string_view why) {
  Verdict::Retry verdict;
  verdict.reason = why;
  verdict.code = reason::exec_reason("start");
  verdict.counted = false;
  return verdict;
}

bool is_shortage(int problem) noexcept {
  return problem == EMFILE || problem == ENFILE || problem == EAGAIN || problem == ENOMEM;
}

std::string last_line(std::string_view text) {
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const auto end = text.find_last_not_of(kBlank);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  text.remove_prefix(text.find_last_of('\n') + 1);
  std::string made;
  while (!text.empty()) {
    std::string next;
    if (text[0] == '\t') {
      next = " ";
      text.remove_prefix(1);
    } else {
      take_printable(next, text);
    }
    if (made.size() + next.size() > kLongestReason) break;
    made += next;
  }
  return made;
}

}  // namespace semel::handlers::exec
