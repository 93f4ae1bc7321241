#include "clients/redis/script.h"

#include <fmt/format.h>

#include <utility>

#include "base/digest.h"
#include "clients/redis/error_table.h"
#include "clients/redis/slot_map.h"

namespace semel::redis {
namespace {

// No Lua function here: a call with one key would spend much of its time on creating it.
std::string alone_of(const std::string& before, const std::string& body, Script::Shape shape) {
  return before +
         fmt::format("local keys, k, count, args, a = KEYS, 0, #KEYS, ARGV, {}\n", shape.heads) +
         body;
}

// After the heads, ARGV holds for each call its number of keys, those keys, and its other
// arguments.
std::string bundle_of(const std::string& before, const std::string& body, Script::Shape shape) {
  return before + "local function run(keys, k, count, args, a)\n" + body + "end\n" +
         fmt::format("local answers, at, plain = {{}}, {}, {}\n", shape.heads + 1, shape.plain) +
         R"lua(
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  local ran, answer = pcall(run, ARGV, at, count, ARGV, at + count)
  if not ran or (type(answer) == 'table' and answer.err) then answer = false end
  answers[#answers + 1] = answer
  at = at + 2 * count - plain + 1
end
return answers
)lua";
}

void append_keys(std::vector<BytesView>& words, const Call& call) {
  for (std::size_t i = 0; i < call.keys.size(); ++i) words.push_back(call.keys[i]);
}

// Appends the arguments from `first` to before `end`.
void append_arguments(std::vector<BytesView>& words, const Call& call, std::size_t first,
                      std::size_t end, BytesView life) {
  for (std::size_t i = first; i < end; ++i) {
    words.push_back(call.life_at == i ? life : call.arguments[i]);
  }
}

}  // namespace

Script::Program::Program(std::string its_text)
    : text(std::move(its_text)), digest(digest::sha1_hex(text)) {}

Script::Script(std::string text, Reach reach)
    : alone_(std::move(text)), bundle_({}), reach_(reach) {}

Script::Script(const std::string& before, const std::string& body, Shape shape)
    : alone_(alone_of(before, body, shape)),
      bundle_(bundle_of(before, body, shape)),
      shape_(shape) {}

void Script::send(Connection& connection, const Call& call, bool with_text, bool on_cluster) const {
  const bool one_more = on_cluster && reach_ == Reach::kSlot;
  const std::string keys = std::to_string(call.keys.size() + (one_more ? 1 : 0));
  const std::string nowhere = one_more ? unused_name_beside(call.keys.front()) : std::string();
  std::vector<BytesView> words = {with_text ? "EVAL" : "EVALSHA",
                                  with_text ? alone_.text : alone_.digest, keys};
  words.reserve(words.size() + call.keys.size() + 1 + call.arguments.size());
  append_keys(words, call);
  if (one_more) words.emplace_back(nowhere);
  append_arguments(words, call, 0, call.arguments.size(), connection.run_id());
  connection.send(words);
}

void Script::send_bundle(Connection& connection, std::span<const Call> calls,
                         std::span<const std::size_t> which, bool with_text) const {
  std::vector<std::string> counts;
  counts.reserve(which.size());
  std::vector<BytesView> words = {with_text ? "EVAL" : "EVALSHA",
                                  with_text ? bundle_.text : bundle_.digest, "0"};
  std::size_t more = shape_.heads + which.size();
  for (const std::size_t i : which) more += calls[i].keys.size() + calls[i].arguments.size();
  words.reserve(words.size() + more);
  append_arguments(words, calls[which.front()], 0, shape_.heads, connection.run_id());
  for (const std::size_t i : which) {
    const Call& call = calls[i];
    words.push_back(counts.emplace_back(std::to_string(call.keys.size())));
    append_keys(words, call);
    append_arguments(words, call, shape_.heads, call.arguments.size(), {});
  }
  connection.send(words);
}

std::vector<Reply> Script::run(Connection& connection, std::span<const Call> calls,
                               Loss loss) const {
  for (const Call& call : calls) send(connection, call, false, false);
  std::vector<Reply> replies = connection.run(loss);
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].is_error() && word_of(replies[i].bytes) == "NOSCRIPT") unknown.push_back(i);
  }
  // With its text, which cannot be forgotten between here and there.
  for (const std::size_t i : unknown) send(connection, calls[i], true, false);
  try {
    std::vector<Reply> told = connection.run(loss);
    for (std::size_t i = 0; i < unknown.size(); ++i) replies[unknown[i]] = std::move(told[i]);
  } catch (const core::Failure& failed) {
    if (loss == Loss::kInDoubt && any_done(replies)) throw in_doubt(failed);
    throw;
  }
  return replies;
}

}  // namespace semel::redis
