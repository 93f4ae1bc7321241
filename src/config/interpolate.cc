#include "config/interpolate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/yaml_reader.h"

namespace semel::config {
namespace {

struct Missing {
  std::string name;
  std::string path;
  std::string why;
  SourceLocation place;
};

bool is_variable(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class Interpolator {
 public:
  Interpolator(const Lookup& env, const std::string& folder, Report& report)
      : env_(env), folder_(folder), report_(report) {}

  void visit(Node& node, const std::string& path) {
    if (node.kind == Node::Kind::kScalar) replace(node, path);
    for (std::size_t i = 0; i < node.items.size(); ++i) visit(node.items[i], join_path(path, i));
    for (auto& member : node.members) visit(member.value, join_path(path, member.name));
  }

  void report_missing() {
    if (missing_.empty()) return;
    const auto& first = missing_.front();
    const bool one = missing_.size() == 1;
    auto& made =
        report_.error("E020", first.place, one ? first.path : "",
                      one ? fmt::format("environment variable {} is not set", first.name)
                          : fmt::format("{} environment variables are not set", missing_.size()));
    made.excerpt.clear();
    std::size_t name_width = 0;
    std::size_t path_width = 0;
    for (const auto& each : missing_) {
      name_width = std::max(name_width, each.name.size());
      path_width = std::max(path_width, each.path.size());
    }
    for (const auto& each : missing_) {
      const auto why = each.why.empty() ? "" : " — " + each.why;
      made.detail.push_back(fmt::format("{:{}}  {:{}}  {}{}", each.name, name_width, each.path,
                                        path_width, report_.spot(each.place), why));
    }
    made.help = fmt::format("export {}, or give a default: ${{{}:-value}}", one ? "it" : "them",
                            first.name);
  }

 private:
  void replace(Node& node, const std::string& path) {
    std::string out;
    std::string_view rest = node.text;
    for (;;) {
      const auto at = rest.find("${");
      if (at == std::string_view::npos) break;
      if (at > 0 && rest[at - 1] == '$') {
        out.append(rest.substr(0, at - 1)).append("${");
        rest.remove_prefix(at + 2);
        continue;
      }
      out.append(rest.substr(0, at));
      rest.remove_prefix(at + 2);
      const auto end = rest.find('}');
      if (end == std::string_view::npos) {
        flaw(node, path, "${ without }", "close it, or write $${ for a literal ${");
        return;
      }
      out += value(node, path, rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    out.append(rest);
    node.text = std::move(out);
  }

  void flaw(Node& node, const std::string& path, std::string message, std::string help) {
    node.unresolved = true;
    report_.error("E021", node.place, path, path + ": " + std::move(message)).help =
        std::move(help);
  }

  std::string value(Node& node, const std::string& path, std::string_view inside) {
    if (inside.starts_with("file:")) return from_file(node, path, std::string(inside.substr(5)));
    if (inside.starts_with("cred:")) return from_credential(node, path, inside.substr(5));
    const auto colon = inside.find(':');
    const std::string name(inside.substr(0, colon));
    const auto form = colon == std::string_view::npos ? "" : inside.substr(colon, 2);
    if (!is_variable(name) || (!form.empty() && form != ":-" && form != ":?") ||
        inside.find("${") != std::string_view::npos) {
      flaw(node, path, fmt::format("{} cannot be read", in_quotes(fmt::format("${{{}}}", inside))),
           "write ${X}, ${X:-default}, ${X:?why}, ${file:path}, ${cred:name}, or $${ for a "
           "literal ${");
      return {};
    }
    if (auto found = env_(name)) {
      node.variables += (node.variables.empty() ? "" : ", ") + name;
      return *found;
    }
    const auto text = form.empty() ? std::string_view{} : inside.substr(colon + 2);
    if (form == ":-") {
      if (text.empty()) node.emptied = name;
      return std::string(text);
    }
    node.unresolved = true;
    missing_.push_back({name, path, std::string(text), node.place});
    return {};
  }

  std::string from_credential(Node& node, const std::string& path, std::string_view name) {
    const auto where = env_("CREDENTIALS_DIRECTORY");
    if (!where) {
      unreadable(node, path, fmt::format("${{cred:{}}}: CREDENTIALS_DIRECTORY is not set", name),
                 "run under systemd with LoadCredential=, or use ${file:…}");
      return {};
    }
    if (name.empty() || name.find('/') != std::string_view::npos || name.starts_with('.')) {
      flaw(node, path, fmt::format("{} is not a credential's name", in_quotes(name)),
           "write the name alone, without a path");
      return {};
    }
    return from_file(node, path, *where + "/" + std::string(name));
  }

  std::string from_file(Node& node, const std::string& path, const std::string& written) {
    node.secret = true;
    const auto file = std::filesystem::path(folder_) / written;
    std::error_code problem;
    if (written.empty() || !std::filesystem::is_regular_file(file, problem)) {
      unreadable(node, path, fmt::format("no file {}", in_quotes(file.string())),
                 "check the path: it is relative to the config's folder");
      return {};
    }
    std::ifstream stream(file, std::ios::binary);
    std::string text(kMostBytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
    if (stream.bad() || (!stream.eof() && stream.fail()) || text.size() > kMostBytes) {
      unreadable(node, path, fmt::format("cannot read {}", in_quotes(file.string())),
                 "check its permissions and size");
      return {};
    }
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
  }

  void unreadable(Node& node, const std::string& path, std::string message, std::string help) {
    node.unresolved = true;
    report_.error("E022", node.place, path, path + ": " + std::move(message)).help =
        std::move(help);
  }

  const Lookup& env_;
  const std::string& folder_;
  Report& report_;
  std::vector<Missing> missing_;
};

}  // namespace

void interpolate(Node& root, const Lookup& env, const std::string& folder, Report& report) {
  Interpolator interpolator(env, folder, report);
  interpolator.visit(root, "");
  interpolator.report_missing();
}

}  // namespace semel::config
