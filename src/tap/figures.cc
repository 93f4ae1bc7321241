#include "tap/figures.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tap/socket_directory.h"

namespace semel::tap {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kPieceOfFigures = 16 << 10;

// Removes and returns the first complete line.
std::optional<std::string> take_line(std::string& said) {
  const std::size_t end = said.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = said.substr(0, end);
  said.erase(0, end + 1);
  return line;
}

// Reads more from the run; false where it sends no more, or not in time.
bool hear_more(int socket, std::string& said, steady_clock::time_point until) {
  pollfd entry{socket, POLLIN, 0};
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
  if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0) return false;
  std::array<char, kPieceOfFigures> piece{};
  const ssize_t n = ::recv(socket, piece.data(), piece.size(), MSG_DONTWAIT);
  if (n <= 0 || said.size() > kLongestLine) return false;
  said.append(piece.data(), static_cast<std::size_t>(n));
  return true;
}

std::optional<RunFigures> ask(int socket, steady_clock::time_point until) {
  Request request;
  request.figures = true;
  const std::string line = line_of(request);
  (void)::send(socket, line.data(), line.size(), MSG_NOSIGNAL);
  RunFigures made;
  LineParser parser;
  std::string heard;
  for (;;) {
    const auto next = take_line(heard);
    if (!next) {
      if (!hear_more(socket, heard, until)) return std::nullopt;
      continue;
    }
    auto said = parser.said(*next);
    if (!said) return std::nullopt;
    if (const auto* hello = std::get_if<Hello>(&*said)) made.pid = hello->pid;
    if (std::holds_alternative<Refusal>(*said)) return std::nullopt;
    if (auto* figures = std::get_if<Figures>(&*said)) {
      made.figures = std::move(*figures);
      return made;
    }
  }
}

}  // namespace

Result<std::vector<RunFigures>> ask_figures(const std::string& database, milliseconds patience) {
  const auto place = SocketDirectory::beside(database);
  if (!place) return failure(place.error());
  const auto until = steady_clock::now() + patience;
  std::vector<RunFigures> all;
  for (const std::string& name : place->names()) {
    const SocketDirectory::Connected connected = place->connect(name);
    if (connected.reach != SocketDirectory::Reach::kThere) continue;
    if (auto told = ask(connected.socket.get(), until)) all.push_back(*std::move(told));
  }
  std::ranges::sort(all, {}, &RunFigures::pid);
  return all;
}

}  // namespace semel::tap
