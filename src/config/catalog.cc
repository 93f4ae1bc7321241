#include "config/catalog.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/ascii.h"
#include "config/suggest.h"

namespace semel::config {
namespace {

// Exit codes, as the topic exit-codes lists them.
constexpr int kBad = 1, kUnreachable = 69, kDefect = 70, kConfigInvalid = 78;

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out += "    " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Wraps paragraphs to the width of a terminal.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 78;
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    if (used > 0 && used + 1 + word.size() > kWidth) {
      out += '\n';
      used = 0;
    }
    if (used > 0) out += ' ';
    out += word;
    used += word.size() + (used > 0 ? 1 : 0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::vector<CodePage> all_codes() {
  std::vector<CodePage> all;
  for (const auto part :
       {catalog::file_codes(), catalog::consumer_codes(), catalog::warning_codes(),
        catalog::runtime_codes(), catalog::broker_codes(), catalog::http_source_codes(),
        catalog::nats_codes(), catalog::stream_codes(), catalog::sqs_codes(),
        catalog::admin_codes()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  for (CodePage& page : all) {
    if (page.code.starts_with('E')) page.exit = kConfigInvalid;
  }
  return all;
}

int exit_code_of(const Error& error) {
  const auto page = error.code.empty() ? std::nullopt : find_code(error.code);
  if (page && page->exit != 0) return page->exit;
  switch (error.kind) {
    case ErrorKind::kUnavailable:
    case ErrorKind::kInDoubt:
    case ErrorKind::kRetryTransaction:
    case ErrorKind::kBlocked:
      return kUnreachable;
    case ErrorKind::kRejected:
    case ErrorKind::kLimit:
      return kBad;
  }
  return kDefect;
}

std::optional<CodePage> find_code(std::string_view code) {
  const auto wanted = ascii::upper(code);
  for (const auto& page : all_codes()) {
    if (page.code == wanted) return page;
  }
  return std::nullopt;
}

std::optional<TopicPage> find_topic(std::string_view name) {
  for (const auto& page : topics()) {
    if (page.name == name) return page;
  }
  return std::nullopt;
}

namespace {

// True for a reason as a dead letter shows it: a line of the topic begins with the word, or with
// its family.
bool is_reason(std::string_view word) {
  const auto topic = find_topic("reasons");
  if (!topic || word.empty() || word.find_first_of(" \n") != std::string_view::npos) return false;
  const std::string text = "\n" + std::string(topic->text);
  if (text.find(fmt::format("\n{} ", word)) != std::string::npos) return true;
  constexpr std::string_view kFamilies[] = {
      "handler.sql.",           "handler.exec.", "handler.http.",
      "handler.kafka.",         "handler.nats.", "handler.rabbitmq.",
      "handler.redis_streams.", "handler.sns.",  "handler.sqs."};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return word.starts_with(family); });
}

}  // namespace

std::optional<std::string> explain(std::string_view word) {
  if (const auto page = find_code(word)) {
    std::string out = fmt::format("{}: {}\n\n{}\n\nfix: {}\n", page->code, page->title,
                                  wrapped(page->why), wrapped(page->fix));
    if (!page->example.empty()) out += "\n" + indented(page->example);
    if (page->exit != 0) out += fmt::format("\nexit code: {}\n", page->exit);
    return out;
  }
  const auto page = is_reason(word) ? find_topic("reasons") : find_topic(word);
  if (page) return fmt::format("{}\n\n{}", page->title, page->text);
  return std::nullopt;
}

std::optional<std::string> nearest_explained(std::string_view word) {
  // "strategy" means the topic "strategies".
  constexpr std::size_t kLeast = 4;
  for (const auto& page : topics()) {
    if (word.size() >= kLeast && page.name.starts_with(word.substr(0, word.size() - 1))) {
      return std::string(page.name);
    }
  }
  std::vector<std::string_view> known;
  for (const auto& page : topics()) known.push_back(page.name);
  const auto codes = all_codes();
  for (const auto& page : codes) known.push_back(page.code);
  return nearest(word, known);
}

}  // namespace semel::config
