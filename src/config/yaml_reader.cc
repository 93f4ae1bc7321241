#include "config/yaml_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "config/yaml_syntax.h"

namespace semel::config {
namespace {

constexpr std::size_t kDeepest = 64;                 // maps and lists inside each other
constexpr std::size_t kMostNodes = 100'000;          // once aliases are written out
constexpr std::size_t kMostExpandedBytes = 8 << 20;  // likewise

// Thrown through the parser to stop it, after the error was reported.
struct Refused {};

struct Measure {
  std::size_t nodes = 1;
  std::size_t bytes = 0;
  std::size_t height = 0;
};

Measure measure(const Node& node) {
  Measure sum;
  sum.bytes = node.text.size();
  const auto add = [&](const Node& child) {
    const auto part = measure(child);
    sum.nodes += part.nodes;
    sum.bytes += part.bytes;
    sum.height = std::max(sum.height, part.height + 1);
  };
  for (const auto& item : node.items) add(item);
  for (const auto& member : node.members) {
    sum.bytes += member.name.size();
    add(member.value);
  }
  return sum;
}

class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::size_t source, Report& report)
      : text_(text), source_(source), report_(report) {
    lines_.push_back(0);
    for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      lines_.push_back(at + 1);
    }
  }

  std::optional<Node> take() { return std::move(root_); }
  SourceLocation innermost() const {
    return stack_.empty() ? SourceLocation{} : stack_.back().node.place;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      report_.error("E009", place(mark, 3), "", "a second document begins here").help =
          "keep one document in the file; remove the line with ---";
      throw Refused{};
    }
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.place = place(mark, 1);
    const auto line = report_.line(source_, node.place.line);
    const auto from = static_cast<std::size_t>(std::max(mark.column, 0));
    for (const std::string_view word : {"null", "Null", "NULL", "~"}) {
      if (from < line.size() && line.substr(from).starts_with(word)) node.text = word;
    }
    node.place.width = std::max<std::size_t>(node.text.size(), 1);
    finish(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    refuse_open_quote(mark, tag);
    Node node;
    node.kind = Node::Kind::kScalar;
    node.text = value;
    node.place = place(mark, std::min(value.find('\n'), value.size()) + quotes_at(mark));
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      report_.error("E008", place(mark, 1), "", "an alias stands inside its own anchor")
          .detail.push_back("written out it would never end");
      throw Refused{};
    }
    count(mark, found->second.second);
    attach(Node(found->second.first));
  }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool expects_value = false;
    std::string name;  // the name of the member whose value follows
    SourceLocation name_place;
    std::map<std::string, SourceLocation> names;
  };

  SourceLocation place(const YAML::Mark& mark, std::size_t width) const {
    return {source_, mark.line + 1, mark.column + 1, std::max<std::size_t>(width, 1)};
  }

  // The parser accepts the end of the file as a closing quote.
  void refuse_open_quote(const YAML::Mark& mark, const std::string& tag) {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    if (tag != "!" || line >= lines_.size()) return;
    auto at = lines_[line] + static_cast<std::size_t>(std::max(mark.column, 0));
    if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
    const char quote = text_[at];
    for (++at; at < text_.size(); ++at) {
      if (quote == '"' && text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote) {
        if (quote == '"' || at + 1 >= text_.size() || text_[at + 1] != quote) return;
        ++at;
      }
    }
    report_.error("E005", place(mark, 1), "", "a quote is opened and never closed").help =
        "add the closing quote";
    throw Refused{};
  }

  // The quotes of a scalar, which a marker must cover too.
  std::size_t quotes_at(const YAML::Mark& mark) const {
    const auto line = report_.line(source_, mark.line + 1);
    const auto at = static_cast<std::size_t>(std::max(mark.column, 0));
    return at < line.size() && (line[at] == '"' || line[at] == '\'') ? 2 : 0;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    auto& made = report_.error("E009", place(mark, 1), "", "a tag stands before this value");
    made.detail.push_back("types come from the schema: a tag could only contradict it");
    made.help = "remove the tag";
    throw Refused{};
  }

  void refuse_key(const SourceLocation& at, std::string message, std::string help) {
    report_.error("E009", at, "", std::move(message)).help = std::move(help);
    throw Refused{};
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    if (expects_name()) {
      refuse_key(place(mark, 1), "a field's name cannot be a list or a map",
                 "quote it where it begins with [ or {");
    }
    if (stack_.size() >= kDeepest) too_deep(mark);
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = place(mark, 1);
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
  }

  void close() {
    auto frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.node), frame.anchor);
  }

  [[noreturn]] void too_deep(const YAML::Mark& mark) {
    report_
        .error("E007", place(mark, 1), "",
               fmt::format("more than {} lists and maps inside each other", kDeepest))
        .help = "no field of Semel is nested that deeply; look for brackets that are never closed";
    throw Refused{};
  }

  void count(const YAML::Mark& mark, const Measure& part) {
    nodes_ += part.nodes;
    bytes_ += part.bytes;
    if (stack_.size() + part.height > kDeepest) too_deep(mark);
    if (nodes_ <= kMostNodes && bytes_ <= kMostExpandedBytes) return;
    auto& made = report_.error("E008", place(mark, 1), "",
                               "the file grows too large once its aliases are written out");
    made.detail.push_back(fmt::format("more than {} values, or {} MiB of text", kMostNodes,
                                      kMostExpandedBytes >> 20));
    made.help = "write fewer aliases of aliases";
    throw Refused{};
  }

  bool expects_name() const {
    return !stack_.empty() && stack_.back().node.kind == Node::Kind::kMap &&
           !stack_.back().expects_value;
  }

  void finish(Node node, YAML::anchor_t anchor) {
    YAML::Mark mark;
    mark.line = node.place.line - 1;
    mark.column = node.place.column - 1;
    Measure own;
    own.bytes = node.text.size();
    count(mark, own);
    if (anchor != 0) {
      const auto all = measure(node);
      count(mark, all);
      anchors_[anchor] = {node, all};
    }
    attach(std::move(node));
  }

  void attach(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    auto& top = stack_.back();
    if (top.node.kind == Node::Kind::kList) {
      if (node.kind == Node::Kind::kNull && node.text.empty()) node.place = top.node.place;
      top.node.items.push_back(std::move(node));
    } else if (top.expects_value) {
      // If there is no value, a diagnostic points at the name.
      if (node.kind == Node::Kind::kNull && node.text.empty()) node.place = top.name_place;
      top.node.members.push_back({std::move(top.name), top.name_place, std::move(node)});
      top.expects_value = false;
    } else {
      begin_member(top, std::move(node));
    }
  }

  void begin_member(Frame& top, Node name) {
    if (name.kind == Node::Kind::kList || name.kind == Node::Kind::kMap) {
      refuse_key(name.place, "a field's name cannot be a list or a map", "write the name itself");
    }
    if (name.text == "<<") {
      refuse_key(name.place, "merge keys (<<) are not part of our YAML",
                 "name the shared values under `defaults:`, or repeat an anchored value field "
                 "by field");
    }
    if (name.text.empty()) {
      refuse_key(name.place, "a field without a name", "write the name before the colon");
    }
    const auto [other, fresh] = top.names.emplace(name.text, name.place);
    if (!fresh) {
      auto& made = report_.error("E010", name.place, "",
                                 fmt::format("{} stands twice in one map", in_quotes(name.text)));
      made.detail.push_back("first at " + report_.spot(other->second));
      made.help = "keep one of them";
    }
    top.name = std::move(name.text);
    top.name_place = name.place;
    top.expects_value = true;
  }

  const std::string_view text_;
  std::vector<std::size_t> lines_;  // where each line begins
  const std::size_t source_;
  Report& report_;
  std::optional<Node> root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, std::pair<Node, Measure>> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  int documents_ = 0;
};

}  // namespace

std::optional<Node> read_yaml(std::string_view text, std::size_t source, Report& report) {
  Builder builder(text, source, report);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused&) {
    return std::nullopt;
  } catch (const YAML::DeepRecursion& problem) {
    report.error("E007", {source, problem.mark.line + 1, problem.mark.column + 1, 1}, "",
                 "lists and maps are nested too deeply");
    return std::nullopt;
  } catch (const YAML::ParserException& problem) {
    report_syntax(
        problem.msg,
        {source, std::max(problem.mark.line + 1, 1), std::max(problem.mark.column + 1, 1), 1},
        builder.innermost(), report);
    return std::nullopt;
  } catch (const std::exception&) {
    report.error("E005", {source, 0, 0, 1}, "", "this is not YAML");
    return std::nullopt;
  }
  auto root = builder.take();
  if (!root || (root->kind == Node::Kind::kNull && root->text.empty())) {
    report.error("E002", {source, 0, 0, 1}, "", "the file holds nothing but comments").help =
        "semel init prints a starter: semel init queue/sql/sqlite > semel.yaml";
    return std::nullopt;
  }
  return root;
}

}  // namespace semel::config
