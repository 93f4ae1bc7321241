#include "testing/snapshot.h"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>

#include "base/overloaded.h"
#include "base/printable.h"

namespace semel::testkit {

namespace {

constexpr std::size_t kMostSent = 1'000;
constexpr std::size_t kMostSentBytes = 64 << 20;
constexpr std::chrono::milliseconds kHidden{1'000};

std::string text_of(const Value& value) {
  return std::visit(
      Overloaded{[](const Null&) { return std::string("NULL"); },
                 [](std::int64_t number) { return fmt::format("{}", number); },
                 [](double number) { return fmt::format("{}", number); },
                 [](const std::string& text) { return fmt::format("'{}'", printable_text(text)); },
                 [](const Blob& blob) { return fmt::format("x'{}'", printable_text(blob.bytes)); },
                 [](const Decimal& number) { return number.text; }},
      value);
}

void add_rows(Counts& counts, std::string_view name, const Rows& rows) {
  for (const auto& row : rows.rows) {
    std::string text;
    for (const Value& value : row) text += (text.empty() ? "" : ", ") + text_of(value);
    ++counts[fmt::format("{}: ({})", name, text)];
  }
}

void add_tables(Counts& counts, TestStore& store) {
  const Rows tables = store.sql(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'semel\\_%' ESCAPE "
      "'\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'");
  for (const auto& row : tables.rows) {
    const auto& name = std::get<std::string>(row.front());
    add_rows(counts, name, store.sql(fmt::format("SELECT * FROM \"{}\"", name)));
  }
}

void count_sent(Counts& counts, const std::string& receiver, const Arrival& sent) {
  ++counts[fmt::format("sent to {}: {} under {}", receiver, printable_text(sent.payload),
                       printable_text(sent.key.value_or("no key")))];
}

// Includes messages that are not due yet.
void add_sent_to(Counts& counts, const Subject& subject, const std::string& receiver,
                 ConsumerNumber number) {
  HeldMessages& held = *subject.store->facets().held;
  while (true) {
    const auto rows = held.take(number, kMostSent, kMostSentBytes, kHidden);
    if (!rows) throw SemelError(rows.error());
    std::vector<RowTag> taken;
    for (const Arrival& sent : *rows) {
      count_sent(counts, receiver, sent);
      taken.push_back(sent.row.value());
    }
    if (auto removed = held.remove(taken); !removed) throw SemelError(std::move(removed.error()));
    const auto left = held.peek(number);
    if (!left) throw SemelError(left.error());
    if (!left->any) return;
    subject.environment->clock.advance(left->next_due.value_or(kHidden));
  }
}

}  // namespace

Counts snapshot(const Subject& subject, const RunNames& names) {
  Counts counts;
  const DeliverOptions& options = subject.options;
  if (options.store != nullptr && options.rows.empty()) add_tables(counts, *options.store);
  for (const std::string& query : options.rows) {
    add_rows(counts, query, options.store->sql(query));
  }
  for (const Outside* const outside : options.outside) {
    for (const auto& [effect, count] : outside->effects()) {
      counts[fmt::format("{}: {}", outside->name(), effect)] = static_cast<std::int64_t>(count);
    }
  }
  if (options.state) {
    for (const auto& [name, count] : options.state()) counts[name] = count;
  }
  for (const auto& [receiver, number] : names.receivers) {
    add_sent_to(counts, subject, receiver, number);
  }
  return counts;
}

}  // namespace semel::testkit
