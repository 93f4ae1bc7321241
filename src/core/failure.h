// Failure: an error as an exception inside a store, and the one place that makes a Result of it.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <semel/result.h>

namespace semel::core {

class Failure : public std::exception {
 public:
  // `code`: the database's own error number; zero where the error is ours.
  Failure(Error error, int code) : error_(std::move(error)), code_(code) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const noexcept { return error_; }
  int code() const noexcept { return code_; }

 private:
  Error error_;
  int code_;
};

[[noreturn]] inline void fail(Error error, int code = 0) { throw Failure(std::move(error), code); }

// Runs `work`, and turns its exceptions into the Result's error. Every port's method uses it.
template <class Work>
auto contained(Work&& work) noexcept -> Result<std::invoke_result_t<Work&>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const Failure& failed) {
    return failure(failed.error());
  } catch (const std::bad_alloc&) {
    return failure({ErrorKind::kUnavailable, "R200", "out of memory", {}});
  } catch (const std::exception& broken) {
    return failure({ErrorKind::kUnavailable, "R200", broken.what(), {}});
  }
}

}  // namespace semel::core
