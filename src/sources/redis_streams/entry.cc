#include "sources/redis_streams/entry.h"

#include <fmt/format.h>

#include <charconv>

#include <semel/reason.h>

#include "base/json.h"
#include "core/failure.h"

namespace semel::redis_streams {
namespace {

using redis::Reply;

[[noreturn]] void not_an_entry() {
  core::fail({ErrorKind::kUnavailable, "R200",
              "the server answered with something that is no entry of a stream",
              "check that what answers is a Redis server"});
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Bytes object_of(const std::vector<Reply>& fields) {
  json::Writer writer;
  writer.begin_object();
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    writer.name(fields[i].bytes).value(std::string_view(fields[i + 1].bytes));
  }
  writer.end_object();
  return writer.text();
}

}  // namespace

std::string EntryId::text() const { return fmt::format("{}-{}", milliseconds, sequence); }

std::optional<EntryId> read_entry_id(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto milliseconds = number_in(text.substr(0, dash));
  const auto sequence = number_in(text.substr(dash + 1));
  if (!milliseconds || !sequence) return std::nullopt;
  return EntryId{*milliseconds, *sequence};
}

std::unique_ptr<Arrival> arrival_of(const std::vector<Reply>& fields, std::string_view payload) {
  auto made = std::make_unique<Arrival>();
  Arrival& arrival = *made;
  bool found = false;
  bool twice = false;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].bytes != payload) {
      arrival.headers.push_back({fields[i].bytes, fields[i + 1].bytes});
    } else if (!found) {
      found = true;
      arrival.payload = fields[i + 1].bytes;
    } else {
      twice = true;
    }
  }
  if (!found) arrival.payload = object_of(fields);
  if (twice) {
    arrival.refused = std::string(reason::kPayloadInvalid);
    arrival.refused_error = fmt::format("the entry has two fields \"{}\"", payload);
  }
  if (const auto type = find_header(arrival.headers, "content-type")) arrival.content_type = *type;
  return made;
}

std::unique_ptr<Arrival> arrival_without_data(const EntryId& id, std::string_view stream) {
  auto made = std::make_unique<Arrival>();
  made->refused = std::string(reason::kTrimmed);
  made->refused_error = fmt::format(
      "the entry {} of {} was delivered and not acknowledged, and its data is gone: the stream was "
      "trimmed, or the entry deleted; whether it had its effect is not known",
      id.text(), stream);
  return made;
}

EntryId need_entry_id(const Reply& reply) {
  const auto id = read_entry_id(reply.bytes);
  if (!id) not_an_entry();
  return *id;
}

std::vector<Entry> read_entries(const Reply& list, std::string_view payload) {
  std::vector<Entry> entries;
  entries.reserve(list.list.size());
  for (const Reply& one : list.list) {
    if (one.list.size() != 2) not_an_entry();
    Entry& entry = entries.emplace_back();
    entry.id = need_entry_id(one.list[0]);
    if (one.list[1].kind == Reply::Kind::kList) {
      entry.arrival = arrival_of(one.list[1].list, payload);
    }
  }
  return entries;
}

std::vector<EntryId> read_ids(const Reply& list) {
  std::vector<EntryId> ids;
  ids.reserve(list.list.size());
  for (const Reply& one : list.list) ids.push_back(need_entry_id(one));
  return ids;
}

}  // namespace semel::redis_streams
