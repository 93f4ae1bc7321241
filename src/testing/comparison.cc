#include "testing/comparison.h"

#include <set>
#include <string>

namespace semel::testkit {

namespace {

constexpr std::string_view kParkedName = "parked: ";

std::int64_t count_of(const Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

// The table, or another prefix of a name.
std::string group_of(const std::string& name) { return name.substr(0, name.find(": ")); }

}  // namespace

std::vector<Finding> compare(const Counts& expected, const Counts& found,
                             const DeliverOptions& options) {
  Counts all = expected;
  all.insert(found.begin(), found.end());
  // A row that was changed is missed as it should be, and there as it should not.
  std::set<std::string> strange;
  for (const auto& [name, count] : all) {
    if (count_of(expected, name) == 0 && count_of(found, name) > 0) strange.insert(group_of(name));
  }
  std::vector<Finding> findings;
  for (const auto& [name, count] : all) {
    const Finding one{
        .what = name, .expected = count_of(expected, name), .found = count_of(found, name)};
    if (one.found == one.expected) continue;
    Finding finding = one;
    if (one.expected == 0 || (one.found == 0 && strange.contains(group_of(name)))) {
      finding.kind = Finding::Kind::kDiffers;
      if (options.may_lose && name.starts_with(kParkedName)) continue;
    } else if (one.found > one.expected) {
      finding.kind = Finding::Kind::kDoubled;
      if (options.may_double) continue;
    } else {
      finding.kind = Finding::Kind::kLost;
      if (options.may_lose) continue;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace semel::testkit
