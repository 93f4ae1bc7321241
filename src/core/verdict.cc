#include <semel/verdict.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <variant>

namespace semel {
namespace {

using Kind = Verdict::Kind;
template <Kind Of>
using DetailsOf = std::variant_alternative_t<static_cast<std::size_t>(Of), Verdict::Details>;
static_assert(std::is_same_v<DetailsOf<Kind::kDone>, Verdict::Done>);
static_assert(std::is_same_v<DetailsOf<Kind::kRetry>, Verdict::Retry>);
static_assert(std::is_same_v<DetailsOf<Kind::kDead>, Verdict::Dead>);
static_assert(std::is_same_v<DetailsOf<Kind::kDiscard>, Verdict::Discard>);

const Verdict::Done& done_of(const Verdict::Details& details) noexcept {
  static const Verdict::Done none;
  const auto* said = std::get_if<Verdict::Done>(&details);
  return said == nullptr ? none : *said;
}

const Verdict::Retry& retry_of(const Verdict::Details& details) noexcept {
  static const Verdict::Retry none;
  const auto* said = std::get_if<Verdict::Retry>(&details);
  return said == nullptr ? none : *said;
}

}  // namespace

const Bytes& Verdict::result() const noexcept { return done_of(details_).result; }

const std::vector<Publication>& Verdict::publications() const noexcept {
  return done_of(details_).publications;
}

const std::string& Verdict::reason() const noexcept {
  if (const auto* said = std::get_if<Dead>(&details_)) return said->reason;
  if (const auto* said = std::get_if<Discard>(&details_)) return said->reason;
  return retry_of(details_).reason;
}

std::optional<std::chrono::milliseconds> Verdict::after() const noexcept {
  return retry_of(details_).after;
}

bool Verdict::counted() const noexcept { return retry_of(details_).counted; }

bool Verdict::unknown() const noexcept {
  if (const auto* said = std::get_if<Dead>(&details_)) return said->unknown;
  return retry_of(details_).unknown;
}

const std::string& Verdict::code() const noexcept {
  if (const auto* said = std::get_if<Dead>(&details_)) return said->code;
  return retry_of(details_).code;
}

bool Verdict::asked() const noexcept { return retry_of(details_).asked; }

}  // namespace semel
