#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include <semel/testing/deliver.h>

namespace semel::testkit {

const char* to_string(Finding::Kind kind) noexcept {
  switch (kind) {
    case Finding::Kind::kDoubled:
      return "doubled";
    case Finding::Kind::kLost:
      return "lost";
    case Finding::Kind::kDiffers:
      return "differs";
    case Finding::Kind::kUnsteady:
      return "unsteady";
    case Finding::Kind::kGivenUp:
      return "given up";
    case Finding::Kind::kStuck:
      return "stuck";
    case Finding::Kind::kNoFault:
      return "no fault";
  }
  return "unknown";
}

bool Report::has(Finding::Kind kind) const noexcept {
  return std::ranges::any_of(findings, [kind](const Finding& one) { return one.kind == kind; });
}

namespace {

// Names what no run did, and what was allowed.
const char* nothing_found(const Report& report) noexcept {
  if (report.may_double && report.may_lose) {
    return "nothing found; doubling and losing are allowed (may_double, may_lose)";
  }
  if (report.may_double) return "nothing lost; doubling is allowed (may_double)";
  if (report.may_lose) return "nothing doubled; losing is allowed (may_lose)";
  return "nothing doubled, nothing lost";
}

}  // namespace

std::string Report::text() const {
  std::string text = fmt::format("{} runs, {} crashes and {} pauses at {} points: ", runs, crashes,
                                 pauses, points.size());
  if (findings.empty()) return text + nothing_found(*this);
  text += "a schedule was found\n";
  for (const Finding& one : findings) {
    text += fmt::format("  {}: {}: {} in place of {}\n", to_string(one.kind), one.what, one.found,
                        one.expected);
  }
  text += "  in these steps:\n";
  for (const std::string& step : steps) text += fmt::format("    {}\n", step);
  text += fmt::format("  again: DeliverOptions::replay = \"{}\"", replay);
  return text;
}

std::ostream& operator<<(std::ostream& out, const Report& report) { return out << report.text(); }

}  // namespace semel::testkit
