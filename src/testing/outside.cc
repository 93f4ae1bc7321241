#include <semel/testing/outside.h>

#include <exception>

#include "testing/handler_life.h"

namespace semel::testkit {

namespace {

constexpr std::string_view kOutsideBefore = "outside.before";
constexpr std::string_view kOutsideAfter = "outside.after";

// The process whose handler runs on this thread; null if there is none.
thread_local Life* life_of_handler = nullptr;

// False: the process has ended, and nothing more may happen. While an exception passes through the
// handler that cannot be thrown: a second one would end the program.
bool goes_on(std::string_view name) {
  if (life_of_handler == nullptr || life_of_handler->pass(name)) return true;
  if (std::uncaught_exceptions() == 0) throw Ended{};
  return false;
}

}  // namespace

HandlerLife::HandlerLife(Life& life) noexcept : before_(life_of_handler) {
  life_of_handler = &life;
}
HandlerLife::~HandlerLife() { life_of_handler = before_; }

void point(std::string_view name) { (void)goes_on(name); }

void Outside::add(const std::string& effect) {
  if (!goes_on(kOutsideBefore)) return;
  ++effects_[effect];
  point(kOutsideAfter);
}

bool Outside::add_once(const std::string& effect) {
  if (!goes_on(kOutsideBefore)) return false;
  const bool made = effects_.emplace(effect, 1).second;
  point(kOutsideAfter);
  return made;
}

bool Outside::has(const std::string& effect) const {
  point(kOutsideBefore);
  const bool there = count(effect) > 0;
  point(kOutsideAfter);
  return there;
}

std::size_t Outside::count(const std::string& effect) const {
  const auto found = effects_.find(effect);
  return found == effects_.end() ? 0 : found->second;
}

}  // namespace semel::testkit
