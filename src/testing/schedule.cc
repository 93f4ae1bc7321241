#include "testing/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace semel::testkit {

namespace {

constexpr std::string_view kCrashWord = "crash@";
constexpr std::string_view kPauseWord = "pause@";

std::optional<std::size_t> count_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

std::optional<std::vector<std::size_t>> batch_in(std::string_view word, std::size_t messages) {
  std::vector<std::size_t> batch;
  while (true) {
    const std::size_t plus = word.find('+');
    const auto number = count_in(word.substr(0, plus));
    if (!number || *number > messages) return std::nullopt;
    batch.push_back(*number - 1);
    if (plus == std::string_view::npos) return batch;
    word.remove_prefix(plus + 1);
  }
}

bool take_word(Schedule& schedule, std::string_view word, std::size_t messages) {
  for (const auto kind : {Fault::Kind::kCrash, Fault::Kind::kPause}) {
    const std::string_view name = kind == Fault::Kind::kCrash ? kCrashWord : kPauseWord;
    if (!word.starts_with(name)) continue;
    const auto at = count_in(word.substr(name.size()));
    if (at) schedule.faults.push_back({kind, *at});
    return at.has_value();
  }
  auto batch = batch_in(word, messages);
  if (!batch) return false;
  schedule.batches.push_back(*std::move(batch));
  return true;
}

}  // namespace

std::string to_text(const Fault& fault) {
  return fmt::format("{}{}", fault.kind == Fault::Kind::kCrash ? kCrashWord : kPauseWord, fault.at);
}

std::string to_text(const Schedule& schedule) {
  std::string text;
  const auto add = [&text](std::string_view word) {
    if (!text.empty()) text += ' ';
    text += word;
  };
  for (const auto& batch : schedule.batches) {
    std::string word;
    for (const std::size_t message : batch) {
      word += fmt::format("{}{}", word.empty() ? "" : "+", message + 1);
    }
    add(word);
  }
  for (const Fault& fault : schedule.faults) add(to_text(fault));
  return text;
}

std::optional<Schedule> schedule_from(std::string_view text, std::size_t messages) {
  Schedule schedule;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!word.empty() && !take_word(schedule, word, messages)) return std::nullopt;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (schedule.batches.empty()) return std::nullopt;
  return schedule;
}

}  // namespace semel::testkit
