// ToolSyntax: how a model family writes calls of tools into its answers. One description for
// reading calls, writing them into prompts and enforcing them by a grammar. Pure, any thread.
//
//   [text] begin  open NAME middle ARGUMENTS close  (between  open ... close)*  end
//
// ARGUMENTS is a JSON object; where values are tagged it is, for each of its members,
//
//   key_open KEY key_close VALUE value_close
//
// with a string written as it is and every other value as JSON. NAME and KEY are written as they
// are; within JSON (Form::kJson) they stand between quotes that belong to `open` and `middle`.
//
// The texts are those that models were trained to write. Readers of calls accept any white space
// around marks, and for kJson any equal JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::chat {

struct ToolSyntax {
  enum class Form : uint8_t {
    kNone,    // unknown: calls are text
    kJson,    // a call is an object with the members name_key and arguments_key
    kNamed,   // a name, then an object
    kTagged,  // a name, then members with tags around each
  };

  Form form = Form::kNone;

  // Marks the beginning of calls without doubt: a prefix of `begin` + `open`, mostly one control
  // token of the vocabulary. Empty: an answer with a call is nothing but calls, and begins with
  // `open`.
  std::string mark;

  std::string begin;
  std::string open;
  std::string middle;
  std::string close;
  std::string between;
  std::string end;

  // kTagged.
  std::string key_open;
  std::string key_close;
  std::string value_close;

  // kJson.
  std::string name_key = "name";
  std::string arguments_key = "arguments";
  bool list = false;  // the calls are elements of one array; its brackets are in begin and end

  // A text without meaning that may come before calls; may be empty.
  std::string preamble;

  // kNamed: may come after the name and before `middle`, followed by text without meaning.
  std::string name_tail;

  // Whether the model's white space in ARGUMENTS varies; mostly it is one blank after each comma
  // and colon.
  bool blanks_vary = false;

  bool text_before = true;  // an answer may have content before its calls
  bool several = true;      // an answer may have more than one call

  // The texts by which calls are found. If one of them is a control token of the vocabulary, the
  // text to read must be written with that token shown.
  std::vector<std::string> marks() const;

  friend bool operator==(const ToolSyntax&, const ToolSyntax&) = default;
};

// Finds the syntax by the marks that a chat template writes, or instructs the model to write.
ToolSyntax recognise_tool_syntax(std::string_view template_source);

// For models whose template has no tools: JSON between <tool_call> and </tool_call>, which more
// models were trained for than any other form.
ToolSyntax generic_tool_syntax();

struct WrittenCall {
  std::string name;
  std::string arguments;  // JSON text of an object
};

// The calls, at least one, as a model would write them. `syntax` has a form.
std::string write_calls(const ToolSyntax& syntax, std::span<const WrittenCall> calls);

}  // namespace windrow::chat
