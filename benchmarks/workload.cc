#include "benchmarks/workload.h"

#include <fmt/format.h>

#include <array>

namespace semel::bench {

namespace {

// SplitMix64: the same numbers for the same seed on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

std::string uuid(std::uint64_t high, std::uint64_t low, unsigned version) {
  high = (high & ~0xF000ULL) | (std::uint64_t{version} << 12);
  low = (low & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFF'FFFF'FFFFULL);
}

unsigned nibble(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

}  // namespace

namespace {

// `more`: writes further members, each behind a comma, from a random number.
template <class More>
std::vector<std::string> make_messages(std::size_t count, Keys keys, std::uint64_t seed,
                                       std::size_t hot_rows, More more) {
  constexpr std::uint64_t kFirstMillisecond = 1'700'000'000'000;
  constexpr std::size_t kPerMillisecond = 100;
  Numbers numbers(seed);
  std::vector<std::string> payloads;
  payloads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t random = numbers.next();
    const std::uint64_t time = kFirstMillisecond + (seed << 24) + i / kPerMillisecond;
    const std::uint64_t within = (i % kPerMillisecond) << 4;  // grows within the millisecond too
    const std::string id = keys == Keys::kOrdered ? uuid(time << 16 | within, random, 7)
                                                  : uuid(random, numbers.next(), 4);
    std::string& payload = payloads.emplace_back();
    payload.reserve(kPayload);
    fmt::format_to(std::back_inserter(payload), R"({{"id":"{}","account":{},"amount":{})", id,
                   random % hot_rows, 1 + (random >> 32) % 99);
    more(payload, random);
    payload += R"(,"note":")";
    payload.resize(kPayload - 2, 'n');
    payload.append("\"}");
  }
  return payloads;
}

}  // namespace

std::vector<std::string> make_payloads(std::size_t count, Keys keys, std::uint64_t seed,
                                       std::size_t hot_rows) {
  return make_messages(count, keys, seed, hot_rows, [](std::string&, std::uint64_t) {});
}

std::vector<std::string> make_transfers(std::size_t count, std::uint64_t seed, std::size_t rows) {
  return make_messages(
      count, Keys::kOrdered, seed, rows, [rows](std::string& payload, std::uint64_t random) {
        const std::size_t steps = 1 + (random >> 16) % (rows - 1);
        fmt::format_to(std::back_inserter(payload), R"(,"to":{})", (random % rows + steps) % rows);
      });
}

Id id_of(std::string_view uuid) {
  Id id{};
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < uuid.size() && at < sizeof id.bytes; i += 2) {
    if (uuid[i] == '-') ++i;
    id.bytes[at++] = static_cast<unsigned char>(nibble(uuid[i]) << 4 | nibble(uuid[i + 1]));
  }
  return id;
}

}  // namespace semel::bench
