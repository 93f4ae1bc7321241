#include "operate/letter_edit.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <semel/guard.h>
#include <semel/spi/record_machine.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "core/intake.h"
#include "core/unkept_payload.h"
#include "operate/words.h"

namespace semel::operate {

namespace {

constexpr const char* kRefused = "R349";
constexpr std::string_view kOwnHeaders = "semel-";
constexpr std::size_t kNameShownOfEdit = 60;

Error refused(std::string message, std::string fix) {
  return {ErrorKind::kRejected, kRefused, std::move(message), std::move(fix)};
}

Arrival arrival_of(const DeadLetter& letter, Bytes payload, Headers headers) {
  Arrival arrival;
  arrival.payload = std::move(payload);
  arrival.headers = std::move(headers);
  arrival.content_type = letter.content_type;
  arrival.type = letter.type;
  arrival.partition = letter.partition;
  arrival.position = letter.position;
  return arrival;
}

// The message that the consumer's recipe makes of a letter's contents.
class Recipe {
 public:
  Recipe(const config::ConsumerConfig& consumer, ConsumerNumber number, const DeadLetter& letter)
      : consumer_(consumer), letter_(letter), intake_(number, consumer.key, consumer.limits) {}

  tl::expected<Message, core::Refusal> read(const Bytes& payload, const Headers& headers) {
    Arrival arrival = arrival_of(letter_, payload, headers);
    return intake_.make(arrival);
  }
  // The message under the key the letter has, whatever the payload says.
  tl::expected<Message, core::Refusal> under_its_key(const Bytes& payload, const Headers& headers) {
    Arrival arrival = arrival_of(letter_, payload, headers);
    arrival.key = letter_.key;
    return intake_.make(arrival);
  }
  // False where a part of the key is known only while the message is handled.
  bool finds_keys_here() const {
    return std::ranges::none_of(consumer_.key.parts, [](const core::KeyPart& part) {
      using Part = core::KeyPart;
      return std::holds_alternative<Part::FunctionPart>(part.what) ||
             std::holds_alternative<Part::BrokerKeyPart>(part.what) ||
             std::holds_alternative<Part::AutoPart>(part.what);
    });
  }

 private:
  const config::ConsumerConfig& consumer_;
  const DeadLetter& letter_;
  core::Intake intake_;
};

Error refused(const core::Refusal& why, bool texts) {
  std::string message = fmt::format("the edited message would be refused: {}", why.reason);
  if (texts) message += ": " + why.error;
  return refused(std::move(message), "mend the payload or the headers; nothing was changed");
}

// Fills record and fingerprint; an error where replaying it would not be what it seems.
Result<void> read_by(Recipe& recipe, const DeadLetter& letter, bool texts, PlannedEdit& planned) {
  LetterEdit& edit = planned.edit;
  if (letter.key.empty()) {
    const auto read = recipe.read(edit.payload, edit.headers);
    if (!read && recipe.finds_keys_here()) return failure(refused(read.error(), texts));
    // It names the delivery; a replay reads key and fingerprint anew.
    edit.fingerprint = edit.before;
    return {};
  }
  const auto kept = recipe.under_its_key(edit.payload, edit.headers);
  if (!kept) return failure(refused(kept.error(), texts));
  edit.fingerprint = kept->fingerprint();
  planned.record = kept->key().id;
  const auto before = recipe.read(letter.payload, letter.headers);
  // Where the letter as it was shows that its key came from elsewhere, or where no letter has what
  // the key is in. One whose payload was not kept shows nothing: its edit must show the key.
  if (before ? before->key().text != letter.key : !recipe.finds_keys_here()) return {};
  const auto after = recipe.read(edit.payload, edit.headers);
  if (!after) return failure(refused(after.error(), texts));
  if (after->key().text == letter.key) return {};
  return failure(refused(fmt::format("the edited message has another key: \"{}\", and the letter's "
                                     "is \"{}\"",
                                     printable(after->key().text, kNameShownOfEdit),
                                     printable(letter.key, kNameShownOfEdit)),
                         "keep the key; or send it as a message of its own: semel send"));
}

bool is_own(std::string_view name) { return ascii::begins_alike(name, kOwnHeaders); }

std::optional<Error> flaw_of_names(const LetterChange& change) {
  std::vector<std::string_view> names(change.remove.begin(), change.remove.end());
  for (const Header& header : change.set) names.push_back(header.name);
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string shown = printable(*name, kNameShownOfEdit);
    if (name->empty()) return refused("a header has no name", "give it one");
    if (is_own(*name)) {
      return refused(fmt::format("the header \"{}\" is Semel's own", shown),
                     "leave out headers whose names begin with semel-");
    }
    const bool twice =
        std::any_of(names.begin(), name, [&](auto other) { return ascii::alike(other, *name); });
    if (twice) {
      return refused(fmt::format("the header \"{}\" is named twice", shown),
                     "set it once, or remove it once");
    }
  }
  return std::nullopt;
}

Headers changed(const DeadLetter& letter, const LetterChange& change) {
  Headers made = letter.headers;
  for (const std::string& name : change.remove) {
    std::erase_if(made, [&](const Header& one) { return ascii::alike(one.name, name); });
  }
  for (const Header& header : change.set) {
    const auto named = [&](const Header& one) { return ascii::alike(one.name, header.name); };
    const auto first = std::ranges::find_if(made, named);
    if (first == made.end()) {
      made.push_back(header);
      continue;
    }
    *first = header;
    made.erase(std::remove_if(first + 1, made.end(), named), made.end());
  }
  // It says that there is no payload.
  if (change.payload) {
    std::erase_if(made, [](const Header& one) { return one.name == core::kUnkeptPayload; });
  }
  return made;
}

void mark(const LetterEdit& edit, UtcTime now, Headers& headers) {
  std::erase_if(headers, [](const Header& one) { return one.name == kEditedHeader; });
  headers.push_back({std::string(kEditedHeader),
                     fmt::format("{}; was {}", iso_time(now), digest::hex(edit.before.view()))});
}

Result<bool> has_twin(DeadLetters& letters, const DeadLetter& letter, const LetterEdit& edit) {
  if (letter.key.empty()) return false;
  DeadLetterFilter filter;
  filter.consumer = letter.consumer;
  for (;;) {
    auto page = letters.list(filter);
    if (!page) return failure(std::move(page.error()));
    for (const DeadLetter& other : *page) {
      const bool alike = other.key == letter.key && other.fingerprint == edit.fingerprint;
      if (alike && other.id != letter.id) return true;
    }
    if (page->size() < filter.limit) return false;
    filter.after = page->back().id;
  }
}

// Names of headers of `some` for which `all` has none that is alike.
std::string names_without(const Headers& some, const Headers& all,
                          const std::function<bool(const Header&, const Header&)>& alike) {
  std::string names;
  for (const Header& one : some) {
    const bool there =
        std::ranges::any_of(all, [&](const Header& other) { return alike(one, other); });
    if (there || one.name == kEditedHeader) continue;
    names += (names.empty() ? "" : ", ") + printable(one.name, kNameShownOfEdit);
  }
  return names;
}

}  // namespace

Result<PlannedEdit> plan_edit(const StoreAccess& access, const DeadLetter& letter,
                              const LetterChange& change, UtcTime now, bool texts) {
  if (auto flaw = flaw_of_names(change)) return failure(*std::move(flaw));
  PlannedEdit planned;
  LetterEdit& edit = planned.edit;
  edit.id = letter.id;
  edit.before = letter.fingerprint;
  edit.payload_before = letter.payload;
  edit.headers_before = letter.headers;
  edit.fingerprint = letter.fingerprint;
  edit.payload = change.payload.value_or(letter.payload);
  edit.headers = changed(letter, change);
  planned.changes = edit.payload != letter.payload ||
                    !std::ranges::equal(edit.headers, letter.headers, &spi::same_header);
  if (!planned.changes) return planned;
  if (!change.payload && find_header(letter.headers, core::kUnkeptPayload)) {
    return failure(refused("the payload of this letter was not kept", "give it a payload"));
  }
  const config::ConsumerConfig* const consumer = access.config.find(letter.consumer);
  if (consumer == nullptr) {
    return failure(refused(fmt::format("the config has no consumer \"{}\"", letter.consumer), {}));
  }
  const auto number = access.facets.records->consumer(letter.consumer);
  if (!number) return failure(number.error());
  Recipe recipe(*consumer, number->value_or(ConsumerNumber{}), letter);
  mark(edit, now, edit.headers);
  if (auto read = read_by(recipe, letter, texts, planned); !read) {
    return failure(std::move(read.error()));
  }
  return planned;
}

Result<Edited> foresee_edit(const StoreAccess& access, const DeadLetter& letter,
                            const PlannedEdit& planned) {
  if (planned.record) {
    const auto record = access.facets.records->show(*planned.record);
    if (!record) return failure(record.error());
    if (*record) {
      spi::Record as_stored;
      as_stored.state = (*record)->state;
      as_stored.fingerprint = (*record)->fingerprint;
      as_stored.outcome_unknown = (*record)->outcome_unknown;
      const Edited answer = spi::decide_edit(as_stored, planned.edit.before);
      if (answer != Edited::kYes) return answer;
    }
  }
  const auto twin = has_twin(*access.facets.dead_letters, letter, planned.edit);
  if (!twin) return failure(twin.error());
  return *twin ? Edited::kTwin : Edited::kYes;
}

std::optional<Error> refusal_of(Edited edited, std::int64_t letter) {
  const auto said = [&](const char* code, std::string_view why, std::string fix) {
    return std::optional(Error{ErrorKind::kRejected, code,
                               fmt::format("dead letter {} was not changed: {}", letter, why),
                               std::move(fix)});
  };
  switch (edited) {
    case Edited::kYes:
      return std::nullopt;
    case Edited::kMissing:
      return said("R343", "it is not there any more", "semel dlq list");
    case Edited::kMoved:
      return said("R348", "somebody else edited it meanwhile",
                  fmt::format("semel dlq show {}", letter));
    case Edited::kTwin:
      return said(kRefused, "another dead letter has this key and this payload already",
                  "semel dlq list");
    case Edited::kCompleted:
      return said(kRefused,
                  "its key is completed, and another payload under it would never be handled",
                  "send the message under a key of its own: semel send --key");
    case Edited::kBusy:
      return said("R348", "its record is being tried, or waits for a retry or for a person",
                  "wait until it is dead again, and edit it then");
    case Edited::kConflict:
      return said(kRefused, "its key belongs to a record of another payload",
                  "send the message under a key of its own: semel send --key");
    case Edited::kUnknownOutcome:
      return said(kRefused, "the old payload may have had its effect under this key",
                  "look whether it has; if not: semel records forget KEY, then edit it and replay "
                  "it at once");
  }
  return std::nullopt;
}

std::string revision_of(const DeadLetter& letter) {
  return revision_of(letter.fingerprint, letter.payload, letter.headers);
}

std::string revision_of(const Fingerprint& fingerprint, BytesView payload, const Headers& headers) {
  std::vector<BytesView> parts = {fingerprint.view(), payload};
  for (const Header& header : headers) {
    parts.emplace_back(header.name);
    parts.emplace_back(header.value);
  }
  const auto digest = digest::sha256_parts("semel.dead_letter.revision", parts);
  return digest::hex(digest::view(digest::shortened(digest)));
}

std::string difference_of(const LetterEdit& edit) {
  const auto print = [&](const Fingerprint& letter, BytesView payload) {
    return digest::hex((edit.before == edit.fingerprint ? fingerprint_of(payload) : letter).view());
  };
  std::string text =
      edit.payload == edit.payload_before
          ? fmt::format("payload of {} bytes kept", edit.payload.size())
          : fmt::format("payload {} to {} bytes, fingerprint {} to {}", edit.payload_before.size(),
                        edit.payload.size(), print(edit.before, edit.payload_before),
                        print(edit.fingerprint, edit.payload));
  const std::string set = names_without(edit.headers, edit.headers_before, &spi::same_header);
  const std::string removed =
      names_without(edit.headers_before, edit.headers,
                    [](const Header& a, const Header& b) { return ascii::alike(a.name, b.name); });
  if (!set.empty()) text += "; headers set: " + set;
  if (!removed.empty()) text += "; headers removed: " + removed;
  return text;
}

}  // namespace semel::operate
