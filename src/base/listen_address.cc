#include "base/listen_address.h"

#include <arpa/inet.h>

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace semel {

namespace {

tl::unexpected<Error> refused_address(std::string message) {
  return failure({ErrorKind::kRejected,
                  {},
                  std::move(message),
                  "address:port, as 127.0.0.1:8585, [::1]:8585, or :8585 for every interface"});
}

}  // namespace

Result<ListenAddress> ListenAddress::parse(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return refused_address(fmt::format("\"{}\" names no port", text));
  }
  ListenAddress made;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return refused_address(fmt::format("\"{}\": an IPv6 address needs brackets", text));
  }
  if (host.find_first_of("[]/ ") != std::string_view::npos) {
    return refused_address(fmt::format("\"{}\" is no address", host));
  }
  made.host = host;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return refused_address(fmt::format("\"{}\" is no port (0 to 65535)", port));
  }
  return made;
}

std::string ListenAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool ListenAddress::is_loopback() const noexcept {
  if (host == "localhost" || host == "::1") return true;
  // Other names that begin so may be those of any machine.
  in_addr address{};
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos &&
         ::inet_aton(host.c_str(), &address) != 0;
}

}  // namespace semel
