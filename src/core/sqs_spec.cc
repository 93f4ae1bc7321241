#include "core/sqs_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/url_text.h"

namespace semel::core {
namespace {

using url_text::cut_before;
using NoQueue = tl::unexpected<std::string>;

constexpr unsigned kHttpPort = 80;
constexpr unsigned kHttpsPort = 443;
constexpr unsigned kMostSqsPort = 65'535;
constexpr std::size_t kLongestQueueName = 80;

bool is_of_aws(std::string_view host) {
  return host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

// sqs.REGION.amazonaws.com, REGION.queue.amazonaws.com, or an interface of a VPC:
// vpce-….sqs.REGION.vpce.amazonaws.com.
std::string region_in(std::string_view host) {
  if (!is_of_aws(host)) return {};
  std::string_view before;
  for (std::string_view rest = host; !rest.empty();) {
    const std::string_view part = cut_before(rest, '.');
    if (part == "queue") return std::string(before);
    if (part == "sqs" || part == "sqs-fips") return std::string(cut_before(rest, '.'));
    before = part;
  }
  return {};
}

}  // namespace

bool is_sqs_name(std::string_view name, std::size_t longest) {
  const bool fifo = name.ends_with(".fifo");
  const std::string_view plain = fifo ? name.substr(0, name.size() - 5) : name;
  return !plain.empty() && name.size() <= longest && std::ranges::all_of(plain, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  });
}

tl::expected<SqsQueueUrl, std::string> read_sqs_url(std::string_view url) {
  SqsQueueUrl made;
  made.url = url;
  const bool http = url.starts_with("http://");
  made.tls = url.starts_with("https://");
  if (!http && !made.tls) return NoQueue("does not begin with https:// or http://");
  if (std::ranges::any_of(url, [](char c) { return ascii::is_control(c) || c == ' '; })) {
    return NoQueue("holds a blank or a control character");
  }
  url.remove_prefix(made.tls ? 8 : 7);
  if (url.find_first_of("?#@") != std::string_view::npos) {
    return NoQueue("has more than host, port and path: credentials have fields of their own");
  }
  const std::string_view authority = cut_before(url, '/');
  const auto server = url_text::server(authority);
  if (server.host.empty()) return NoQueue("names no host");
  unsigned port = made.tls ? kHttpsPort : kHttpPort;
  const unsigned usual = port;
  if (!server.port.empty()) {
    const auto read = url_text::number(server.port, 1, kMostSqsPort);
    if (!read) return NoQueue(fmt::format("has a port that is none: {}", server.port));
    port = *read;
  }
  const bool bracketed = server.host.find(':') != std::string_view::npos;
  made.host = bracketed ? fmt::format("[{}]", server.host) : std::string(server.host);
  made.host = ascii::lower(made.host);
  made.region = region_in(made.host);
  if (port != usual) made.host += fmt::format(":{}", port);
  made.endpoint = fmt::format("{}://{}/", made.tls ? "https" : "http", made.host);
  while (!url.empty()) made.name = cut_before(url, '/');
  if (!is_sqs_name(made.name, kLongestQueueName)) {
    return NoQueue("does not end in a queue's name: letters, digits, - and _, at most 80");
  }
  return made;
}

}  // namespace semel::core
