#include "cli/internal_error.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "cli/exit_code.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

constexpr const char* kOutOfMemory = "out of memory";
constexpr const char* kPrefix = "internal error: ";
constexpr const char* kFix =
    "the next start takes over what was in hand; please tell us how to reproduce it";

// Allocates nothing, because memory may be exhausted.
void put_err(const char* text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void put_text(const char* what) noexcept {
  put_err("error: ");
  put_err(kPrefix);
  put_err(what);
  put_err("\n  fix: ");
  put_err(kFix);
  put_err("\n");
}

void put_json(const char* what) noexcept {
  try {
    LogLine line;
    line.level = LogLevel::kError;
    line.message = std::string(kPrefix) + what;
    line.fix = kFix;
    put_err((log_text(line, system::exact_utc_now()) + "\n").c_str());
  } catch (...) {
    put_err("{\"level\":\"error\",\"message\":\"internal error: out of memory\"}\n");
  }
}

template <void (*Put)(const char*) noexcept>
[[noreturn]] void end_process() noexcept {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    Put("the program cannot go on");
  } catch (const std::bad_alloc&) {
    Put(kOutOfMemory);
  } catch (const std::exception& thrown) {
    Put(thrown.what());
  } catch (...) {
    Put("an exception that has no text");
  }
  std::_Exit(kInternal);
}

}  // namespace

std::string internal_error_text(const std::exception& thrown) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr;
  return std::string(kPrefix) + (memory ? kOutOfMemory : thrown.what());
}

void end_with_exit_code_where_nobody_catches(LogFormat log) noexcept {
  std::set_terminate(log == LogFormat::kJson ? &end_process<&put_json> : &end_process<&put_text>);
}

}  // namespace semel::cli
