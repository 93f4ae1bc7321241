// Compares the tables of docs/api.md with the routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "tests/support/inputs.h"

namespace semel::admin {
namespace {

using core::Role;

std::string page_of_the_api() {
  std::ifstream file(test::input("docs/api.md"));
  return {std::istreambuf_iterator<char>(file), {}};
}

// The cells of the table row that begins with `first`, without that cell.
std::vector<std::string> cells_behind(const std::string& page, std::string_view first) {
  std::vector<std::string> cells;
  const std::string begin = fmt::format("\n| {} |", first);
  const auto at = page.find(begin);
  if (at == std::string::npos) return cells;
  const auto from = at + begin.size();
  std::string_view row = std::string_view(page).substr(from, page.find('\n', from) - from);
  for (auto end = row.find('|'); end != std::string_view::npos; end = row.find('|')) {
    std::string cell(row.substr(0, end));
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(std::move(cell));
    row.remove_prefix(end + 1);
  }
  return cells;
}

struct RoleRow {
  std::string_view resource;
  std::vector<std::string_view> operations;
};

// Leaves out rows about what an answer holds, and about pages that are not routes.
const RoleRow kRoleRows[] = {
    {"status, consumers, backlog, records, dead letters, groups, jobs, the last reload, "
     "`openapi.json`",
     {"showStatus", "listConsumers", "showConsumer", "showBacklog", "showRecord", "listDeadLetters",
      "showDeadLetter", "groupDeadLetters", "listJobs", "showJob", "showReload", "openapi"}},
    {"doctor", {"runDoctor"}},
    {"pause, resume, drain, unlock, replay, one or many; pause and cancel a job, resume one that "
     "replays",
     {"pauseConsumer", "resumeConsumer", "drainConsumer", "unlockRecord", "replayDeadLetter",
      "replayDeadLetters", "pauseJob", "cancelJob", "resumeJob"}},
    {"config, audit log, reload", {"showConfig", "listAudit", "reload"}},
    {"forget, discard, one or many, edit, unlock with `as`; resume a job that discards",
     {"forgetRecord", "discardDeadLetter", "discardDeadLetters", "editDeadLetter"}}};

const RoleRow kClaimsRow = {"claim, renew, finish", {"claimKeys", "renewClaims", "finishClaims"}};

TEST(ApiPage, EachCellOfTheRolesIsThatOfTheRoutes) {
  const std::string page = page_of_the_api();
  std::set<std::string_view> told;
  for (const RoleRow& row : kRoleRows) {
    const auto cells = cells_behind(page, row.resource);
    ASSERT_EQ(cells.size(), 4U) << row.resource << " is no row of docs/api.md";
    EXPECT_EQ(cells[0], "401") << row.resource;
    for (const std::string_view operation : row.operations) {
      const auto route = std::ranges::find(api_routes(), operation, &ApiRoute::operation);
      ASSERT_NE(route, api_routes().end()) << operation;
      for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
        EXPECT_EQ(cells[1 + static_cast<std::size_t>(role)], role >= route->role ? "yes" : "403")
            << operation << " as " << to_string(role);
      }
      EXPECT_TRUE(told.insert(operation).second) << operation;
    }
  }
  const auto cells = cells_behind(page, kClaimsRow.resource);
  ASSERT_EQ(cells.size(), 4U) << kClaimsRow.resource;
  EXPECT_EQ(cells[0], "401");
  for (std::size_t i = 1; i < cells.size(); ++i) EXPECT_EQ(cells[i], "with `claims`");
  for (const std::string_view operation : kClaimsRow.operations) {
    const auto route = std::ranges::find(api_routes(), operation, &ApiRoute::operation);
    ASSERT_NE(route, api_routes().end()) << operation;
    EXPECT_TRUE(route->claims && told.insert(operation).second) << operation;
  }
  EXPECT_EQ(told.size(), api_routes().size()) << "a route is in no row";
}

TEST(ApiPage, NamesEachRoute) {
  const std::string page = page_of_the_api();
  for (const ApiRoute& route : api_routes()) {
    std::string path(route.path);
    for (const auto& [place, word] :
         {std::pair<std::string_view, std::string_view>{"{name}", "NAME"},
          {"{key}", "KEY"},
          {"{id}", "ID"}}) {
      if (const auto at = path.find(place); at != std::string::npos) {
        path.replace(at, place.size(), word);
      }
    }
    // The page documents acts on one resource together: `…/pause`, `…/resume`.
    const std::string verb = path.substr(path.find_last_of("/:"));
    const bool whole = page.find(fmt::format("`{} {}`", route.method, path)) != std::string::npos;
    const bool together = page.find("`…" + verb + "`") != std::string::npos;
    EXPECT_TRUE(whole || (route.method == "POST" && together)) << route.method << " " << path;
  }
}

}  // namespace
}  // namespace semel::admin
