#include "tests/support/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/digest.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

}  // namespace

Ledger::Ledger(std::string path)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) {
    std::perror(path_.c_str());
    std::abort();
  }
}

Ledger::~Ledger() { ::close(fd_); }

void Ledger::note(BytesView key) {
  // Hexadecimal: a line end within a key is none within the file. One write: lines never mix.
  const std::string line = digest::hex(key) + "\n";
  if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fdatasync(fd_) != 0) {
    std::perror(path_.c_str());
    std::abort();
  }
}

std::vector<Bytes> Ledger::entries() const {
  std::vector<Bytes> entries;
  const std::string text = read_file(path_);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    entries.push_back(from_hex(std::string_view(text).substr(begin, end - begin)));
  }
  return entries;
}

std::map<Bytes, std::size_t> Ledger::counts() const {
  std::map<Bytes, std::size_t> counts;
  for (const Bytes& key : entries()) ++counts[key];
  return counts;
}

Ledger::Balance Ledger::balance() const {
  Balance balance;
  for (const auto& [key, count] : counts()) {
    balance.effects += count;
    ++balance.keys;
    if (count > 1) ++balance.doubled;
  }
  return balance;
}

}  // namespace semel::test
