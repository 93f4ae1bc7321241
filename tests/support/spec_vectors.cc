#include "tests/support/spec_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/digest.h"
#include "base/text_encoding.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

std::string text_of_file(const std::string& name) {
  const std::ifstream file(spec_path(name), std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + spec_path(name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

RecordState state_named(const std::string& name) {
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kCompleted, RecordState::kRetrying,
        RecordState::kParked, RecordState::kDead}) {
    if (name == to_string(state)) return state;
  }
  throw std::runtime_error("no state is named " + name);
}

std::array<unsigned char, 16> sixteen_bytes(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  if (text.size() != 2 * bytes.size()) throw std::runtime_error("not 16 bytes: " + text);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes.at(i) = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

std::string spec_path(const std::string& name) { return input("spec/" + name); }

SpecVectors::SpecVectors(const std::string& name) {
  if (const auto parsed = document_.parse(text_of_file(name)); !parsed) {
    throw std::runtime_error(name + ": " + parsed.error().message);
  }
}

json::Scalar SpecVectors::at(const std::string& place) const {
  return document_.at(json::Pointer::parse(place).value()).value();
}

std::vector<std::string> SpecVectors::each(const std::string& list) const {
  std::vector<std::string> places;
  for (std::string place = list + "/0"; !std::holds_alternative<json::Absent>(at(place));
       place = fmt::format("{}/{}", list, places.size())) {
    places.push_back(place);
  }
  if (places.empty()) throw std::runtime_error(list + " has no vectors");
  return places;
}

bool SpecVectors::has(const std::string& place) const {
  const json::Scalar found = at(place);
  return !std::holds_alternative<json::Absent>(found) &&
         !std::holds_alternative<json::JsonNull>(found);
}

std::string SpecVectors::text(const std::string& place) const {
  json::Scalar found = at(place);
  if (auto* const text = std::get_if<std::string>(&found)) return std::move(*text);
  throw std::runtime_error(place + " is no text");
}

std::int64_t SpecVectors::number(const std::string& place) const {
  const json::Scalar found = at(place);
  const auto* const number = std::get_if<json::Integer>(&found);
  if (number != nullptr && number->value) return *number->value;
  throw std::runtime_error(place + " is no number");
}

bool SpecVectors::truth(const std::string& place) const {
  const json::Scalar found = at(place);
  if (const auto* const truth = std::get_if<bool>(&found)) return *truth;
  throw std::runtime_error(place + " is neither true nor false");
}

std::optional<Bytes> SpecVectors::content(const std::string& vector,
                                          const std::string& name) const {
  const std::string place = vector + "/" + name;
  if (has(place + "_base64")) return text::from_base64(text(place + "_base64")).value();
  if (!has(place)) return std::nullopt;
  const Bytes once = text(place);
  Bytes whole;
  for (std::int64_t left = has(vector + "/times") ? number(vector + "/times") : 1; left > 0;
       --left) {
    whole += once;
  }
  return whole;
}

Fingerprint SpecVectors::fingerprint(const std::string& place) const {
  return Fingerprint{sixteen_bytes(text(place))};
}

Nonce SpecVectors::nonce(const std::string& place) const {
  return Nonce{sixteen_bytes(text(place))};
}

std::optional<spi::Record> SpecVectors::record(const std::string& place, StoreTime now) const {
  if (!has(place)) return std::nullopt;
  const auto time = [&](const std::string& name) {
    return has(place + name) ? now + std::chrono::milliseconds(number(place + name)) : StoreTime{};
  };
  spi::Record record;
  record.state = state_named(text(place + "/state"));
  record.fingerprint = fingerprint(place + "/fingerprint");
  if (record.state == RecordState::kCompleted) {
    record.result = text(place + "/result");
    return record;
  }
  record.attempt = static_cast<int>(number(place + "/attempt"));
  record.outcome_unknown = truth(place + "/outcome_unknown");
  record.reason = text(place + "/reason");
  record.error = text(place + "/error");
  record.lease_until = time("/lease_until");
  record.next_at = time("/next_at");
  if (has(place + "/nonce")) record.nonce = nonce(place + "/nonce");
  return record;
}

std::string SpecVectors::answer(const std::string& place) const {
  const std::string outcome = text(place + "/outcome");
  if (outcome == "new") {
    return fmt::format("new {}{}", number(place + "/attempt"),
                       truth(place + "/taken_over") ? " taken over" : "");
  }
  if (outcome == "duplicate") return outcome + " " + text(place + "/result");
  if (outcome == "busy" || outcome == "retry") {
    return fmt::format("{} {}", outcome, number(place + "/retry_after"));
  }
  return outcome == "conflict" ? outcome : outcome + " " + text(place + "/reason");
}

std::string spec_text(const std::optional<spi::Record>& record, StoreTime now) {
  if (!record) return "none";
  const std::string head =
      fmt::format("{} {}", to_string(record->state), digest::hex(record->fingerprint.view()));
  if (record->state == RecordState::kCompleted) return head + " result=" + record->result;
  std::string time;
  if (record->state == RecordState::kConsuming) {
    time = fmt::format(" lease_until={} nonce={}", (record->lease_until - now).count(),
                       digest::hex(digest::view(record->nonce.bytes)));
  }
  if (record->state == RecordState::kRetrying) {
    time = fmt::format(" next_at={}", (record->next_at - now).count());
  }
  return fmt::format("{} attempt={} outcome_unknown={} reason={} error={}{}", head, record->attempt,
                     record->outcome_unknown, record->reason, record->error, time);
}

}  // namespace semel::test
