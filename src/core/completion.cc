#include <semel/handler.h>

#include <stdexcept>

namespace semel {

Completion& Completion::operator=(Completion&& other) noexcept {
  if (this == &other) return *this;
  drop();
  tell_ = std::exchange(other.tell_, nullptr);
  return *this;
}

void Completion::operator()(Verdict verdict) {
  if (!tell_) throw std::logic_error("a completion was given its answer before, or moved away");
  std::exchange(tell_, nullptr)(std::move(verdict));
}

void Completion::drop() noexcept {
  if (tell_) std::exchange(tell_, nullptr)(std::nullopt);
}

}  // namespace semel
