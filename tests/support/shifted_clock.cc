// Preloaded into a program: its wall clock is SEMEL_TEST_CLOCK_SHIFT seconds off, as a machine's
// may be. Its steady clock is right.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <cstdlib>

namespace {

time_t shift() noexcept {
  static const time_t seconds = [] {
    const char* const text = std::getenv("SEMEL_TEST_CLOCK_SHIFT");
    return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  }();
  return seconds;
}

template <class Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  const int failed = real(clock, at);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    at->tv_sec += shift();
  }
  return failed;
}

int gettimeofday(timeval* at, void* zone) noexcept {
  static auto* const real = next<int(timeval*, void*)>("gettimeofday");
  const int failed = real(at, zone);
  if (failed == 0) at->tv_sec += shift();
  return failed;
}

time_t time(time_t* into) noexcept {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  if (into != nullptr) *into = at.tv_sec;
  return at.tv_sec;
}

}  // extern "C"
