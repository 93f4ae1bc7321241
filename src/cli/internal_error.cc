#include "cli/internal_error.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "cli/exit_code.h"

namespace semel::cli {

namespace {

constexpr const char* kOutOfMemory = "out of memory";

// Without memory of its own: there may be none.
void put_err(const char* text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void end_process() noexcept {
  put_err("error: internal error: ");
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    put_err("the program cannot go on");
  } catch (const std::bad_alloc&) {
    put_err(kOutOfMemory);
  } catch (const std::exception& thrown) {
    put_err(thrown.what());
  } catch (...) {
    put_err("an exception that has no text");
  }
  put_err("\n  fix: the next start takes over what was in hand; tell us how to make it happen\n");
  std::_Exit(kInternal);
}

}  // namespace

std::string internal_error_text(const std::exception& thrown) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr;
  return std::string("internal error: ") + (memory ? kOutOfMemory : thrown.what());
}

void end_with_exit_code_where_nobody_catches() noexcept { std::set_terminate(&end_process); }

}  // namespace semel::cli
