// The content of the store's files: a line that says what they are, and in which version; then
// values one after the other as this machine has them in memory, texts behind their size, and a sum
// over all of it. Writing and reading are one function for each type.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <semel/admin/records.h>
#include <semel/spi/record_machine.h>

namespace directory_store {

struct StoredRecord {
  semel::spi::Record record;
  semel::Bytes key;  // as the producer wrote it: for people who look into the file
  semel::StoreTime changed_at{};
};

template <class Stream>
void pass(Stream& stream, StoredRecord& stored) {
  auto& [state, fingerprint, token, nonce, lease_until, attempt, outcome_unknown, next_at,
         first_seen, completed_at, reason, error, result, held] = stored.record;
  static_cast<void>(held);  // of who keeps messages, as this store does not
  (stream << state << fingerprint << token << nonce << lease_until << attempt << outcome_unknown
          << next_at << first_seen << completed_at << reason << error << result << stored.key
          << stored.changed_at);
}

// The store's clock, as far as it is known.
struct StoredClock {
  semel::StoreTime seen{};  // the latest time by which something was forgotten
};

template <class Stream>
void pass(Stream& stream, StoredClock& clock) {
  (stream << clock.seen);
}

struct StoredConsumer {
  std::string name;
  semel::Bytes recipe_hash;
  std::int64_t ttl = -1;  // in milliseconds; negative: for ever
};

template <class Stream>
void pass(Stream& stream, StoredConsumer& consumer) {
  (stream << consumer.name << consumer.recipe_hash << consumer.ttl);
}

struct Writer {
  std::string text;
  template <class Value>
  Writer& operator<<(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
      *this << value.size();
      text += value;
    } else {
      static_assert(std::is_trivially_copyable_v<Value>);
      text.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return *this;
  }
};

struct Reader {
  std::string_view rest;
  bool whole = true;  // all of it was there
  template <class Value>
  Reader& operator<<(Value& value) {
    std::size_t size = sizeof value;
    if constexpr (std::is_same_v<Value, std::string>) *this << size;
    whole = whole && rest.size() >= size;
    if (!whole) return *this;
    if constexpr (std::is_same_v<Value, std::string>) {
      value = rest.substr(0, size);
    } else {
      std::memcpy(static_cast<void*>(&value), rest.data(), size);
    }
    rest.remove_prefix(size);
    return *this;
  }
};

// A change of what stands in a file is another version.
inline constexpr std::string_view kFirstLine = "semel directory-store, version ";
inline constexpr int kVersion = 2;

// Why this version of the store cannot read a file; empty where it can.
inline std::string unreadable(std::string_view text) {
  const std::string own = std::string(kFirstLine) + std::to_string(kVersion);
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line == own) return {};
  if (!line.starts_with(kFirstLine)) {
    return "has no version: it is damaged, or from the first version of the store";
  }
  return "is of version " + std::string(line.substr(kFirstLine.size())) +
         " of the store, and this program reads version " + std::to_string(kVersion) + " alone";
}

// FNV-1a: finds damage, not forgery.
inline std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : text) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return sum;
}

template <class Stored>
std::string text_of(Stored stored) {
  Writer writer;
  writer.text = std::string(kFirstLine) + std::to_string(kVersion) + '\n';
  pass(writer, stored);
  writer << sum_of(writer.text);
  return std::move(writer.text);
}

// None: text_of() of this version did not write it.
template <class Stored>
std::optional<Stored> stored_in(std::string_view text) {
  std::uint64_t sum = 0;
  if (text.size() < sizeof sum) return std::nullopt;
  std::memcpy(&sum, text.data() + text.size() - sizeof sum, sizeof sum);
  text.remove_suffix(sizeof sum);
  if (sum_of(text) != sum || !unreadable(text).empty()) return std::nullopt;
  text.remove_prefix(text.find('\n') + 1);
  Stored stored;
  Reader reader{text};
  pass(reader, stored);
  return reader.whole && reader.rest.empty() ? std::optional(std::move(stored)) : std::nullopt;
}

}  // namespace directory_store
