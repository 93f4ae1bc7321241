// The catalog: every code that people can see, and what to do about it; and related topics.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/error.h>

namespace semel::config {

struct CodePage {
  std::string_view code;  // E012
  std::string_view title;
  std::string_view why;      // what it means, why it matters
  std::string_view fix;      // how to fix it
  std::string_view example;  // lines to write; may be empty
  int exit = 0;              // exit code of a command that ends with it; 0: none does
};

struct TopicPage {
  std::string_view name;
  std::string_view title;
  std::string_view text;
};

// The exit code of a command that ends with this error: that of its page, or else of its kind.
int exit_code_of(const Error& error);

// In the order of their codes: the file, fields, values, combinations, warnings, lint, run time.
std::vector<CodePage> all_codes();
std::optional<CodePage> find_code(std::string_view code);

std::span<const TopicPage> topics() noexcept;
std::optional<TopicPage> find_topic(std::string_view name);

// The text that `explain` prints for a code or topic; nullopt where there is no such word.
std::optional<std::string> explain(std::string_view word);
// The word that was meant, if one is near.
std::optional<std::string> nearest_explained(std::string_view word);

namespace catalog {
// One part each; all_codes joins them.
std::span<const CodePage> file_codes() noexcept;
std::span<const CodePage> consumer_codes() noexcept;
std::span<const CodePage> warning_codes() noexcept;
std::span<const CodePage> runtime_codes() noexcept;
// Kafka, RabbitMQ, and producers.
std::span<const CodePage> broker_codes() noexcept;
std::span<const CodePage> http_source_codes() noexcept;
std::span<const CodePage> stream_codes() noexcept;
std::span<const CodePage> admin_codes() noexcept;
std::span<const CodePage> nats_codes() noexcept;
std::span<const CodePage> sqs_codes() noexcept;
}  // namespace catalog

}  // namespace semel::config
