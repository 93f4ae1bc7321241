#include "tests/support/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "base/json_scan.h"

namespace semel::test {

namespace {

using Members = std::map<std::string, std::string>;

class Reader {
 public:
  explicit Reader(std::vector<std::string>& flaws) : flaws_(flaws) {}

  void read(std::string_view body, std::vector<OtlpSpan>& spans) {
    if (const auto valid = json::validate(body); !valid) return flaw(valid.error().message);
    const Members request = object(body, {"resourceSpans"});
    for (const auto& group : list(request, "resourceSpans")) {
      const Members about = object(group, {"resource", "scopeSpans"});
      const Members resource = object(member(about, "resource"), {"attributes"});
      const auto attributes = attributes_of(resource);
      const auto service = attributes.find("service.name");
      if (service == attributes.end()) flaw("a resource without service.name");
      for (const auto& scoped : list(about, "scopeSpans")) {
        const Members scope = object(scoped, {"scope", "spans"});
        text(object(member(scope, "scope"), {"name", "version"}), "name");
        for (const auto& one : list(scope, "spans")) {
          spans.push_back(span_of(one));
          if (service != attributes.end()) spans.back().service = service->second;
        }
      }
    }
  }

 private:
  void flaw(std::string what) { flaws_.push_back(std::move(what)); }

  Members object(std::string_view written, const std::set<std::string>& known) {
    Members made;
    if (!written.starts_with('{')) {
      flaw(fmt::format("no object: {}", written));
      return made;
    }
    json::Scan scan(written);
    scan.step();
    for (scan.skip_space(); scan.peek() != '}'; scan.skip_space()) {
      const std::string name(scan.raw_string().text);
      scan.skip_space();
      scan.step();
      scan.skip_space();
      if (!known.contains(name)) flaw("an unknown member " + name);
      if (!made.emplace(name, scan.skip_value()).second) flaw("twice: " + name);
      scan.skip_space();
      if (scan.peek() == ',') scan.step();
    }
    return made;
  }
  std::string member(const Members& members, const std::string& name) {
    const auto found = members.find(name);
    if (found != members.end()) return found->second;
    flaw("there is no " + name);
    return "{}";
  }
  std::vector<std::string> list(const Members& members, const std::string& name) {
    std::vector<std::string> made;
    const auto found = members.find(name);
    if (found == members.end() || !found->second.starts_with('[')) {
      flaw("no list of " + name);
      return made;
    }
    json::Scan scan(found->second);
    scan.step();
    for (scan.skip_space(); scan.peek() != ']'; scan.skip_space()) {
      made.emplace_back(scan.skip_value());
      scan.skip_space();
      if (scan.peek() == ',') scan.step();
    }
    return made;
  }
  std::string unquoted(std::string_view written, const std::string& name) {
    if (!written.starts_with('"')) {
      flaw(fmt::format("{} is no text: {}", name, written));
      return {};
    }
    return json::unescape(written.substr(1, written.size() - 2));
  }
  std::string text(const Members& members, const std::string& name) {
    const auto found = members.find(name);
    if (found != members.end()) return unquoted(found->second, name);
    flaw("there is no " + name);
    return {};
  }
  std::string optional_text(const Members& members, const std::string& name) {
    return members.contains(name) ? text(members, name) : std::string();
  }
  std::string id(const Members& members, const std::string& name, std::size_t digits) {
    std::string made = text(members, name);
    const bool hex = std::ranges::all_of(
        made, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    const bool zero = std::ranges::all_of(made, [](char c) { return c == '0'; });
    if (!hex || zero || made.size() != digits) flaw(fmt::format("{} is {}", name, made));
    return made;
  }
  // A fixed64: a text of digits.
  std::int64_t nanoseconds(const Members& members, const std::string& name) {
    const std::string written = text(members, name);
    const bool digits = !written.empty() &&
                        std::ranges::all_of(written, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) flaw(fmt::format("{} is {}", name, written));
    return std::strtoll(written.c_str(), nullptr, 10);
  }
  int number(const Members& members, const std::string& name) {
    const std::string written = member(members, name);
    if (!json::is_integer(written)) flaw(fmt::format("{} is {}", name, written));
    return std::atoi(written.c_str());
  }
  std::map<std::string, std::string> attributes_of(const Members& members) {
    std::map<std::string, std::string> made;
    for (const auto& one : list(members, "attributes")) {
      const Members attribute = object(one, {"key", "value"});
      const Members value = object(member(attribute, "value"), {"stringValue", "intValue"});
      if (value.size() != 1) flaw("a value is one: " + one);
      for (const auto& [kind, written] : value) {
        if (!made.emplace(text(attribute, "key"), unquoted(written, kind)).second) {
          flaw("an attribute stands twice: " + one);
        }
      }
    }
    return made;
  }
  OtlpSpan span_of(std::string_view written) {
    const Members members =
        object(written, {"traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind",
                         "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"});
    OtlpSpan made;
    made.trace_id = id(members, "traceId", 32);
    made.span_id = id(members, "spanId", 16);
    if (members.contains("parentSpanId")) made.parent_id = id(members, "parentSpanId", 16);
    made.trace_state = optional_text(members, "traceState");
    made.name = text(members, "name");
    made.kind = number(members, "kind");
    if (made.kind < 1 || made.kind > 5) flaw(fmt::format("kind is {}", made.kind));
    if ((number(members, "flags") & 1) == 0) flaw("a span that is not sampled");
    made.begin = nanoseconds(members, "startTimeUnixNano");
    made.end = nanoseconds(members, "endTimeUnixNano");
    if (made.end < made.begin) flaw("it ends before it begins: " + made.name);
    made.attributes = attributes_of(members);
    if (members.contains("status")) {
      const Members status = object(member(members, "status"), {"code", "message"});
      made.status = number(status, "code");
      made.message = optional_text(status, "message");
    }
    return made;
  }

  std::vector<std::string>& flaws_;
};

}  // namespace

std::string OtlpSpan::operator[](const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? "(none)" : found->second;
}

OtlpRequest read_otlp(std::string_view body) {
  OtlpRequest made;
  Reader(made.flaws).read(body, made.spans);
  return made;
}

OtlpRequest otlp_of(const HttpServer& server) {
  OtlpRequest all;
  std::set<std::string> seen;
  for (const HttpRequest& request : server.requests()) {
    if (request.target != "/v1/traces") continue;
    if (request.method != "POST" || request.header("content-type") != "application/json") {
      all.flaws.push_back("a request that is no POST of JSON");
    }
    OtlpRequest one = read_otlp(request.body);
    std::ranges::move(one.flaws, std::back_inserter(all.flaws));
    for (OtlpSpan& span : one.spans) {
      if (seen.insert(span.trace_id + span.span_id).second) all.spans.push_back(std::move(span));
    }
  }
  return all;
}

std::vector<OtlpSpan> named(const std::vector<OtlpSpan>& spans, std::string_view name) {
  std::vector<OtlpSpan> found;
  std::ranges::copy_if(spans, std::back_inserter(found),
                       [&](const OtlpSpan& span) { return span.name == name; });
  return found;
}

}  // namespace semel::test
