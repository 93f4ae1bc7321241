#include "stores/redis/scan.h"

#include <string_view>

namespace semel::redis {
namespace {

// Large enough to be worth a round trip, small enough to let others run in between.
constexpr const char* kPage = "1000";

std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

void each_name(Router& router, const Names& names,
               const std::function<void(std::span<const std::string>)>& see) {
  const std::string pattern = escaped(names.prefix) + "{*";
  for (const auto& master : router.masters()) {
    PooledConnection connection(master->pool);
    std::string cursor = "0";
    do {
      Reply page =
          connection->ask({"SCAN", cursor, "MATCH", pattern, "COUNT", kPage}, Loss::kNothingDone);
      cursor = page.list.at(0).bytes;
      std::vector<std::string> found;
      for (Reply& one : page.list.at(1).list) found.push_back(std::move(one.bytes));
      if (!found.empty()) see(found);
    } while (cursor != "0");
  }
}

std::vector<Reply> beginnings(Router& router, std::span<const std::string> of, int last) {
  const std::string end = std::to_string(last);
  std::vector<Question> questions;
  questions.reserve(of.size());
  for (const std::string& name : of) questions.push_back({name, {"GETRANGE", name, "0", end}});
  return router.ask_all(questions, Loss::kNothingDone);
}

}  // namespace semel::redis
