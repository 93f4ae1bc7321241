#include "config/http_source_build.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "config/check.h"
#include "config/member.h"
#include "config/node.h"
#include "config/secrets.h"
#include "config/store_build.h"
#include "core/http_spec.h"

namespace semel::config {
namespace {

using Scheme = core::HttpSignature::Scheme;

struct SchemeField {
  const char* name;
  Scheme scheme;
};
constexpr SchemeField kSchemes[] = {{"standard_webhooks", Scheme::kStandardWebhooks},
                                    {"stripe", Scheme::kStripe},
                                    {"github", Scheme::kGithub}};

void build_listener(const View& http, core::HttpSourceSpec& spec, Report& report) {
  if (const auto* listen = http.find("listen")) {
    auto address = ListenAddress::parse(listen->text);
    if (address) {
      spec.listen = *std::move(address);
    } else {
      report
          .error("E014", listen->place, listen->path,
                 fmt::format("{}: {}", listen->path, address.error().message))
          .help = "write " + address.error().hint;
    }
  }
  const auto check = [&](const char* name, auto flaw_of, const char* help) {
    const auto* path = http.find(name);
    if (path == nullptr) return;
    const auto flaw = flaw_of(path->text);
    if (!flaw) return;
    report
        .error("E014", path->place, path->path,
               fmt::format("{}: {} {}", path->path, in_quotes(path->text), *flaw))
        .help = help;
  };
  check("path", core::http_path_flaw, "path: /hooks/orders");
  check("path_prefix", core::http_prefix_flaw, "path_prefix: /hooks");
}

void add_secret(const Setting& secret, core::HttpSignature& made, Report& report) {
  const bool standard = made.scheme == Scheme::kStandardWebhooks;
  if (standard ? core::signing_key(secret.text).has_value() : !secret.text.empty()) {
    made.secrets.push_back(secret.text);
    return;
  }
  auto& error = report.error(
      "E052", secret.place, secret.path,
      fmt::format("{}: {}", secret.path, standard ? "not whsec_ and base64 behind it" : "empty"));
  error.excerpt.clear();  // it would show a secret
  error.help = "take the secret as its sender shows it";
}

std::optional<core::HttpSignature> build_signature(const View& http, Report& report) {
  if (!http.written("signature")) return std::nullopt;
  const View signature = http.in("signature");
  core::HttpSignature made;
  signature.fill(made);
  for (const SchemeField& field : kSchemes) {
    if (!signature.written(field.name)) continue;
    made.scheme = field.scheme;
    const std::string list = signature.path(field.name);
    for (std::size_t i = 0; i < signature.settings().size(list); ++i) {
      const auto* secret = signature.settings().find(join_path(list, i));
      if (secret != nullptr) add_secret(*secret, made, report);
    }
    if (signature.settings().size(list) > 0 || signature.spoiled(field.name)) continue;
    report
        .error("E052", signature.place(field.name), list,
               fmt::format("{}: without a secret nothing can be signed", list))
        .help = fmt::format("{}: \"${{file:/run/secrets/…}}\"", field.name);
  }
  return made;
}

std::vector<std::string> key_headers(const core::KeyRecipe& recipe) {
  std::vector<std::string> names = {"idempotency-key", "webhook-id", "ce-id", "ce-source"};
  for (const core::KeyPart& part : recipe.parts) {
    if (const auto* header = std::get_if<core::KeyPart::HeaderPart>(&part.what)) {
      names.push_back(header->name);
    }
  }
  return names;
}

// True if a part of the key is inside the body: then each event of a batch has its own key.
bool key_is_in_the_body(const core::KeyRecipe& recipe) {
  using Part = core::KeyPart;
  return std::ranges::any_of(recipe.parts, [](const Part& part) {
    return std::holds_alternative<Part::JsonPart>(part.what) ||
           std::holds_alternative<Part::CloudEventPart>(part.what) ||
           std::holds_alternative<Part::AutoPart>(part.what) ||
           std::holds_alternative<Part::FunctionPart>(part.what);
  });
}

void refuse_request_position(const View& view, Report& report) {
  const auto from = view.path("key.from");
  for (std::size_t i = 0; i < view.settings().size(from); ++i) {
    const auto* part = view.settings().find(join_path(from, i));
    if (part == nullptr || part->text != "position") continue;
    report
        .error("E029", part->place, part->path,
               fmt::format("{}: a position numbers requests, and is another one each time the "
                           "message comes",
                           part->path))
        .help = "key: auto, the sender's Idempotency-Key; json:/your_id; or header:NAME";
  }
}

void refuse_answers(const Check& check) {
  const auto& consumer = check.consumer;
  const auto& spec = std::get<HttpSource>(consumer.source).spec;
  const View http = check.view.in("source").in("http");
  const bool completed = spec.mode == core::HttpSourceSpec::Mode::kCompleted;
  const auto refuse = [&](const View& view, const char* name, const std::string& why,
                          const char* help) {
    check.report
        .error("E066", view.place(name), view.path(name),
               fmt::format("{}: {}", view.path(name), why))
        .help = help;
  };
  const bool defers = consumer.defer != ConsumerConfig::Defer::kNever ||
                      consumer.strategy == core::StrategyKind::kFence;
  if (completed && defers) {
    refuse(http, "mode",
           consumer.strategy == core::StrategyKind::kFence
               ? "strategy fence keeps a message in the store before its call: its request is "
                 "answered then"
               : "with defer a message is kept in the store first: its request is answered then",
           "mode: accepted; or a consumer that does not defer: strategy: state_machine");
  }
  if (completed && consumer.front) {
    refuse(check.view, "front",
           "a front window knows no stored answer, and a duplicate is to be given it",
           "remove front, or mode: accepted");
  }
  if (consumer.key.missing == core::KeyRecipe::Missing::kFail) {
    refuse(check.view.in("key"), "missing", "any sender could end the run",
           "missing: dead_letter, which answers 400 too; or hash_body");
  }
}

void warn_of_open_door(const Check& check) {
  const auto& spec = std::get<HttpSource>(check.consumer.source).spec;
  const auto* listen = check.view.in("source").in("http").find("listen");
  if (spec.signature || listen == nullptr || !ListenAddress::parse(listen->text)) return;
  if (spec.listen.is_loopback()) return;
  auto* made =
      check.warn("W047", listen->place, listen->path,
                 fmt::format("{}: other machines reach {}, and no request has to be signed",
                             listen->path, spec.listen.text()));
  if (made != nullptr) {
    made->help =
        "signature: { standard_webhooks: … }, listen: 127.0.0.1:8080 behind a proxy, or knowingly: "
        "accept: [W047]";
  }
}

// Warns if the key is left to the standards, although these senders use names of their own for it.
void warn_of_no_key(const Check& check) {
  const auto& spec = std::get<HttpSource>(check.consumer.source).spec;
  if (!spec.signature || check.view.spoiled("key")) return;
  const bool by_standards = std::ranges::all_of(check.consumer.key.parts, [](const auto& part) {
    return std::holds_alternative<core::KeyPart::AutoPart>(part.what);
  });
  if (!by_standards) return;
  if (check.consumer.key.missing == core::KeyRecipe::Missing::kHashBody) return;
  const bool stripe = spec.signature->scheme == Scheme::kStripe;
  if (!stripe && spec.signature->scheme != Scheme::kGithub) return;
  const View http = check.view.in("source").in("http");
  auto* made = check.warn("W034", http.place("signature"), check.path("key"),
                          fmt::format("{} is missing: {} sends none of the headers that standards "
                                      "name, so each request is answered 400",
                                      check.path("key"), stripe ? "Stripe" : "GitHub"));
  if (made != nullptr) made->help = stripe ? "key: json:/id" : "key: header:X-GitHub-Delivery";
}

void warn_of_secrets(const Check& check) {
  if (check.consumer.accept.contains("W031") || !others_may_read(check.report.name(0))) return;
  const View signature = check.view.in("source").in("http").in("signature");
  for (const SchemeField& field : kSchemes) {
    const std::string list = signature.path(field.name);
    for (std::size_t i = 0; i < signature.settings().size(list); ++i) {
      const auto* secret = signature.settings().find(join_path(list, i));
      if (secret == nullptr || !is_literal(*secret)) continue;
      warn_of_secret(*secret, "a literal secret, in a file that others may read",
                     "${file:/run/secrets/…}, or chmod 600 " + check.report.name(0), check.report);
    }
  }
}

}  // namespace

core::HttpSourceSpec build_http_source(const View& http, const std::string& folder,
                                       Report& report) {
  core::HttpSourceSpec made;
  http.fill(made);
  build_listener(http, made, report);
  made.signature = build_signature(http, report);
  if (http.written("tls")) {
    const View tls = http.in("tls");
    made.tls = core::HttpSourceTls{resolve_path(folder, tls.text("certificate")),
                                   resolve_path(folder, tls.text("key"))};
  }
  return made;
}

void complete_http_source(ConsumerConfig& consumer, const View& view) {
  auto* http = std::get_if<HttpSource>(&consumer.source);
  if (http == nullptr) return;
  core::HttpSourceSpec& spec = http->spec;
  const auto* mode = view.in("source").in("http").find("mode");
  const bool defers = consumer.defer != ConsumerConfig::Defer::kNever ||
                      consumer.strategy == core::StrategyKind::kFence;
  using Mode = core::HttpSourceSpec::Mode;
  if (mode != nullptr) {
    spec.mode = static_cast<Mode>(index_of_word(*mode));
  } else {
    spec.mode = defers ? Mode::kAccepted : Mode::kCompleted;
  }
  if (spec.mode == Mode::kAccepted && !defers) consumer.defer = ConsumerConfig::Defer::kHere;
  spec.max_body = consumer.limits.payload;
  if (spec.signature && spec.signature->scheme == Scheme::kStandardWebhooks) {
    // webhook-id is the only header among those of `auto` that is signed. With another header as
    // the key, one signed request could be sent again under many keys.
    for (core::KeyPart& part : consumer.key.parts) {
      if (!std::holds_alternative<core::KeyPart::AutoPart>(part.what)) continue;
      part = {"webhook-id", core::KeyPart::WebhookIdPart{}};
    }
  }
  spec.key_headers = key_headers(consumer.key);
  spec.splits_batches = key_is_in_the_body(consumer.key);
}

void check_http_source(const Check& check) {
  if (!on_http(check.consumer) || check.view.spoiled("source")) return;
  refuse_request_position(check.view, check.report);
  refuse_answers(check);
  warn_of_open_door(check);
  warn_of_no_key(check);
  warn_of_secrets(check);
  const core::HttpSourceSpec& spec = std::get<HttpSource>(check.consumer.source).spec;
  const auto* key = check.view.in("source").in("http").in("tls").find("key");
  if (spec.tls && key != nullptr && !check.consumer.accept.contains("W037")) {
    warn_of_open_key(*key, spec.tls->key, check.report);
  }
}

}  // namespace semel::config
