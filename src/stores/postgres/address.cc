#include "stores/postgres/address.h"

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <string_view>

namespace semel::postgres {
namespace {

struct OptionsDeleter {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, OptionsDeleter>;
constexpr const char* kUsualPort = "5432";
using Values = std::map<std::string_view, std::string>;

void add(const PQconninfoOption* option, Values& values) {
  for (; option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val != nullptr && *option->val != '\0') values[option->keyword] = option->val;
  }
}

}  // namespace

std::optional<Address> address_of(const std::string& url) {
  const Options defaults(PQconndefaults());
  char* said = nullptr;
  const Options given(PQconninfoParse(url.c_str(), &said));
  PQfreemem(said);
  if (!given) return std::nullopt;
  Values values;
  add(defaults.get(), values);
  add(given.get(), values);
  const auto of = [&](std::string_view name, std::string_view otherwise) {
    const auto found = values.find(name);
    return found == values.end() ? std::string(otherwise) : found->second;
  };
  std::string port = of("port", kUsualPort);
  // Several hosts without ports give commas only.
  if (port.find_first_not_of(',') == std::string::npos) port = kUsualPort;
  return Address{of("host", of("hostaddr", "localhost")), port, of("dbname", of("user", ""))};
}

}  // namespace semel::postgres
