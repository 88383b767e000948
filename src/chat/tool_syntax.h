// ToolSyntax: how a model writes calls of tools into its answers, as declared as can be, so that
// one description serves whoever reads calls, writes them or sees to it that they come. Pure.
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
// The texts are what models were trained to write. Who reads calls takes white space around marks
// as it comes, and of kJson any JSON that says the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::chat {

struct ToolSyntax {
  enum class Form : uint8_t {
    kNone,    // nothing is known of its calls: they are text
    kJson,    // a call is an object with the members name_key and arguments_key
    kNamed,   // a name, then an object
    kTagged,  // a name, then members with tags around each
  };

  Form form = Form::kNone;

  // With this the calls begin for sure; a beginning of `begin` + `open`, mostly one control token
  // of the vocabulary. Empty: an answer that calls is one call and nothing else, and begins with
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
  bool list =
      false;  // the calls are the elements of one array, whose brackets are in begin and end

  // May stand in front of calls and says nothing; may be empty.
  std::string preamble;

  // kNamed: may stand behind the name, with text that says nothing, in front of `middle`.
  std::string name_tail;

  // White space in ARGUMENTS is now this, now that; mostly it is one blank behind each comma and
  // colon.
  bool blanks_vary = false;

  bool text_before = true;  // an answer may say something before it calls
  bool several = true;      // one answer may have more than one call

  // What calls are found by. Where a vocabulary has one of them as a control token, the text to
  // read must be written with that token shown.
  std::vector<std::string> marks() const;

  friend bool operator==(const ToolSyntax&, const ToolSyntax&) = default;
};

// By the marks that a chat template writes, or tells the model to write.
ToolSyntax recognise_tool_syntax(std::string_view template_source);

// For models whose template knows nothing of tools, so that they have to be told: JSON between
// <tool_call> and </tool_call>, which more models were trained for than for any other form.
ToolSyntax generic_tool_syntax();

struct WrittenCall {
  std::string name;
  std::string arguments;  // JSON text of an object
};

// As a model would write them. At least one; a syntax that has a form.
std::string write_calls(const ToolSyntax& syntax, std::span<const WrittenCall> calls);

}  // namespace windrow::chat
