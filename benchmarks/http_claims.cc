#include "benchmarks/http_claims.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <semel/sqlite.h>

#include "benchmarks/http_answer.h"
#include "benchmarks/measure.h"
#include "system/descriptor.h"
#include "tests/support/builders.h"

namespace semel::bench {

namespace {

std::string key_of(std::size_t number) { return fmt::format("mail-{}", number); }

// One connection, one request at a time.
class ClaimingClient {
 public:
  ClaimingClient(std::uint16_t port, std::string_view secret)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), secret_(secret) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
      give_up(std::string("the client cannot connect: ") + std::strerror(errno));
    }
  }

  // The body of the answer, until the next request.
  std::string_view post(std::string_view path, const std::string& body) {
    const std::string request = fmt::format(
        "POST /api/v1/consumers/mails/claims{} HTTP/1.1\r\nHost: localhost\r\n"
        "Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
        "\r\n{}",
        path, secret_, body.size(), body);
    for (std::string_view left = request; !left.empty();) {
      const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) give_up("the client cannot ask");
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return answer();
  }

 private:
  std::string_view answer() {
    const auto complaint = [&] { return "the client was answered: " + read_; };
    read_.clear();
    for (;;) {
      char buffer[1 << 16];
      const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) give_up("the client's connection was closed");
      read_.append(buffer, static_cast<std::size_t>(got));
      if (const auto body = whole_body(read_, complaint)) return *body;
    }
  }

  const system::Descriptor socket_;
  const std::string secret_;
  std::string read_;
};

// The values of a member, in their order.
std::vector<std::string_view> members(std::string_view body, std::string_view name) {
  const std::string before = fmt::format("\"{}\":\"", name);
  std::vector<std::string_view> found;
  for (auto at = body.find(before); at != std::string_view::npos; at = body.find(before, at)) {
    at += before.size();
    found.push_back(body.substr(at, body.find('"', at) - at));
  }
  return found;
}

void check_outcomes(std::string_view body, std::string_view wanted, std::size_t count) {
  std::size_t right = 0;
  for (const std::string_view outcome : members(body, "outcome")) right += outcome == wanted;
  check_count(right, count, "keys had the outcome");
}

}  // namespace

double claim_over_http(std::uint16_t port, std::string_view secret, std::size_t keys,
                       std::size_t batch) {
  ClaimingClient client(port, secret);
  const Stopwatch watch;
  for (std::size_t first = 0; first < keys; first += batch) {
    std::string claims;
    for (std::size_t i = first; i < first + batch; ++i) {
      claims += fmt::format(R"({}{{"key":"{}"}})", i == first ? "" : ",", key_of(i));
    }
    const std::string given(
        client.post("", fmt::format(R"({{"request":"{}","claims":[{}]}})", first, claims)));
    check_outcomes(given, "new", batch);
    const auto nonces = members(given, "nonce");
    std::string ends;
    for (std::size_t i = 0; i < batch; ++i) {
      ends += fmt::format(R"({}{{"key":"{}","nonce":"{}","as":"done"}})", i == 0 ? "" : ",",
                          key_of(first + i), nonces[i]);
    }
    check_outcomes(client.post("/finish", R"({"claims":[)" + ends + "]}"), "done", batch);
  }
  return static_cast<double>(keys) / watch.seconds();
}

double claim_on_sqlite(const std::string& path, std::size_t keys, std::size_t batch) {
  SqliteOptions options;
  options.path = path;
  const auto store = open_sqlite(std::move(options)).value();
  const ConsumerNumber number = store->attach({"mails", "recipe", false, std::nullopt}).value();
  ClaimOptions claiming;
  claiming.want_result = true;
  claiming.durability = Durability::kPowerLoss;
  const Stopwatch watch;
  for (std::size_t first = 0; first < keys; first += batch) {
    std::vector<Message> messages;
    for (std::size_t i = first; i < first + batch; ++i) {
      messages.push_back(test::make_message(number, key_of(i)));
    }
    const auto claims = store->claim(test::pointers(messages), claiming).value();
    std::vector<Finish> finishes;
    for (const Claim& claim : claims) {
      if (const auto* acquired = std::get_if<Acquired>(&claim)) {
        finishes.push_back(test::completed(acquired->lease));
      }
    }
    check_count(finishes.size(), batch, "keys were new");
    std::size_t done = 0;
    const std::vector<Applied> ended = store->finish(finishes).value();
    for (const Applied applied : ended) done += applied == Applied::kYes;
    check_count(done, batch, "keys were done");
  }
  return static_cast<double>(keys) / watch.seconds();
}

}  // namespace semel::bench
