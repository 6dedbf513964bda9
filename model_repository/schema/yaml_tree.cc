#include "model_repository/schema/yaml_tree.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>
#include <stdexcept>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace inferd::repository {
namespace {

Position At(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Leaves yaml-cpp's parser from inside a callback.
struct Refusal : std::runtime_error {
  Refusal(const YAML::Mark& mark, const std::string& what)
      : std::runtime_error(what), position(At(mark)) {}
  Position position;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    Place(mark, Make(mark, YamlNode::Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal(mark, "aliases (*name) are not supported; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    YamlNode node = Make(mark, YamlNode::Kind::kScalar);
    node.scalar = value;
    Place(mark, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  YamlNode TakeRoot() { return std::move(root_); }

 private:
  // A container being filled; for a map also the key that waits for its value.
  struct Frame {
    YamlNode node;
    YamlNode key;
    bool has_key = false;
  };

  YamlNode Make(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (++nodes_ > limits_.max_nodes) {
      throw Refusal(mark, absl::StrCat("more than ", limits_.max_nodes, " values in one file"));
    }
    YamlNode node;
    node.kind = kind;
    node.position = At(mark);
    return node;
  }
  static void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw Refusal(mark, "anchors (&name) are not supported");
  }
  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    RefuseAnchor(mark, anchor);
    if (static_cast<int>(frames_.size()) >= limits_.max_depth) {
      throw Refusal(mark, absl::StrCat("nested more than ", limits_.max_depth, " levels deep"));
    }
    frames_.push_back({Make(mark, kind), {}, false});
    last_mark_ = mark;
  }
  void Close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    Place(last_mark_, std::move(node));
  }
  void Place(const YAML::Mark& mark, YamlNode node) {
    last_mark_ = mark;
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& top = frames_.back();
    if (top.node.kind == YamlNode::Kind::kList) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      if (node.kind != YamlNode::Kind::kScalar) {
        throw Refusal(mark, absl::StrCat("found ", node.Describe(), " as a key; keys are words"));
      }
      top.key = std::move(node);
      top.has_key = true;
    } else {
      top.node.entries.push_back({std::move(top.key), std::move(node)});
      top.has_key = false;
    }
  }

  const YamlLimits& limits_;
  int nodes_ = 0;
  YAML::Mark last_mark_;
  std::vector<Frame> frames_;
  YamlNode root_;
};

absl::Status ErrorAt(absl::string_view file, Position p, absl::string_view what) {
  if (p.line <= 0) return absl::InvalidArgumentError(absl::StrCat(file, ": ", what));
  return absl::InvalidArgumentError(absl::StrCat(file, ":", p.line, ":", p.column, ": ", what));
}

}  // namespace

std::string YamlNode::Describe() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return scalar.size() > 60 ? absl::StrCat("\"", scalar.substr(0, 60), "...\"")
                                : absl::StrCat("\"", scalar, "\"");
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a mapping";
  }
  return "nothing";
}

absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view file,
                                   const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": found ", text.size(), " bytes; allowed: at most ", limits.max_bytes));
  }
  // yaml-cpp ends its input at a zero byte, which would hide the rest of the file.
  if (const size_t zero = text.find('\0'); zero != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": found a zero byte at offset ", zero, "; allowed: UTF-8 text"));
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    YamlNode root = builder.TakeRoot();
    TreeBuilder second(limits);
    if (parser.HandleNextDocument(second)) {
      return ErrorAt(file, second.TakeRoot().position,
                     "found a second document; allowed: one document per file");
    }
    return root;
  } catch (const Refusal& refusal) {
    return ErrorAt(file, refusal.position, refusal.what());
  } catch (const YAML::Exception& e) {
    return ErrorAt(file, e.mark.is_null() ? Position{} : At(e.mark),
                   absl::StrCat("not YAML: ", e.msg));
  } catch (const std::exception& e) {  // yaml-cpp also lets std exceptions through
    return ErrorAt(file, {}, absl::StrCat("not YAML: ", e.what()));
  }
}

}  // namespace inferd::repository
