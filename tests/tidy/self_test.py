#!/usr/bin/env python3
"""Shows that check.py can fail: every rule finds its bad example, and none finds the good tree."""

import os
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing may be written beside the sources
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402

# A tree with nothing to find.
GOOD = {
    "tests/tidy/layers.txt": """
layer base
layer llm store
layer engine
base   sees
llm    sees base
store  sees base
engine sees base llm
foreign sqlite3.h   in src/store
foreign llama*.h    in src/engine/llama
foreign llama*.h    in tests/facts
""",
    "src/CMakeLists.txt": "add(base/id.cc engine/plan.cc engine/plan_test.cc store/log.cc)\n",
    "tests/facts/CMakeLists.txt": "add(facts_test.cc)\n",
    "tests/facts/facts_test.cc": "#include <llama.h>\n",
    "src/base/id.h": "#pragma once\n",
    "src/base/id.cc": '#include "base/id.h"\n// It is 1\'000 times "new" here.\n',
    "src/base/testing/fake_id.h": '#pragma once\n\n#include "base/id.h"\n',
    "src/llm/answer.h": "#pragma once\n",
    "src/store/log.h": "#pragma once\n",
    "src/store/log.cc": '#include "store/log.h"\n\n#include <sqlite3.h>\n',
    "src/engine/plan.h": "#pragma once\n",
    "src/engine/plan.cc": '#include "engine/plan.h"\n\n#include "llm/answer.h"\n',
    "src/engine/sim/CMakeLists.txt": """
windrow_module(
  NAME sim
  SOURCES rows.cc steps.cc  # words.cc
  DEPENDS engine)
windrow_module(NAME others SOURCES words.cc)
add_executable(program program.cc words.cc)
windrow_compile_faster(program RUNS_ONCE)
windrow_test(NAME sim_tests SOURCES rows_test.cc)
""",
    "src/engine/sim/rows.cc": """#include <string>

namespace windrow::engine {
namespace {

namespace json = boost::json;
using std::string;

constexpr int kRowsMax = 8;
const std::array<std::pair<int, int>, 2> kPairs{{{1, 2}, {3, 4}}};
using Rows = std::vector<int>;
enum class Way : uint8_t { kHere, kThere };
template <class Value>
struct Row final : public Base {
  int size() const { return kSize; }
  static constexpr int kSize = 1;
};

int sum_of(const Rows& rows, int first = 0);
int sum_of(const Rows& rows, int first) {
  const auto kLocal = [](int more) { return more; };
  for (const int row : rows) first += kLocal(row);
  return first;
}
bool operator==(const Rows& a, int b) { return sum_of(a) == b; }
bool operator<(const Rows& a, int b) { return sum_of(a) < b; }

}  // namespace

int Rows::count(int start) { return start; }
constexpr int kShown = 3;

}  // namespace windrow::engine
""",
    "src/engine/sim/steps.cc": "int step;\n",
    "src/engine/sim/words.cc": "int word;\n",
    "src/engine/sim/program.cc":
        "namespace windrow::engine {\nnamespace {\nstruct Part {};\n}\n}\n",
    "src/engine/sim/rows_test.cc": "int test;\n",
    "src/engine/plan_test.cc": '#include "base/testing/fake_id.h"\n#include "engine/plan.h"\n',
}


def unnamed(text, space="windrow::engine"):
    return f"namespace {space} {{\nnamespace {{\n{text}\n}}\n}}\n"


STEPS = "src/engine/sim/steps.cc"

# Rule, file, text added to it (or the whole text of a new file).
BAD = [
    ("layer", "src/base/id.cc", '#include "llm/answer.h"\n'),
    ("layer", "src/llm/answer.h", '#include "store/log.h"\n'),  # siblings
    ("layer", "src/engine/plan.cc", '#include "store/log.h"\n'),  # below, but no edge
    ("layer", "src/engine/plan_test.cc", '#include "store/log.h"\n'),
    ("layer", "src/newcomer/thing.h", "#pragma once\n"),
    ("table", "tests/tidy/layers.txt", "base sees engine\n"),
    ("table", "tests/tidy/layers.txt", "store sees llm\n"),
    ("table", "tests/tidy/layers.txt", "layer lonely\n"),
    ("table", "tests/tidy/layers.txt", "nonsense here\n"),
    ("parent-include", "src/engine/plan.cc", '#include "../base/id.h"\n'),
    ("parent-include", "src/engine/plan.cc", "  #  include <base/../base/id.h>\n"),
    ("include-path", "src/base/id.cc", '#include "id.h"\n'),
    ("testing", "src/engine/plan.cc", '#include "base/testing/fake_id.h"\n'),
    ("foreign", "src/engine/plan.cc", "#include <sqlite3.h>\n"),
    ("foreign", "src/engine/plan.cc", "#include <llama.h>\n"),
    ("foreign", "src/engine/plan.cc", "#include <llama-cpp.h>\n"),
    ("sleep", "src/base/id.cc", "std::this_thread::sleep_for(1s);\n"),
    ("sleep", "src/engine/plan_test.cc", "  usleep(1);\n"),
    ("sleep", "src/base/id.cc", "sleep(1);\n"),
    ("rand", "src/base/id.cc", "int x = std::rand();\n"),
    ("regex", "src/base/id.cc", "std::regex pattern;\n"),
    ("print", "src/base/id.cc", 'std::printf("hello");\n'),
    ("print", "src/base/id.cc", 'fmt::print("hello");\n'),
    ("print", "src/base/id.cc", 'std::cerr << "hello";\n'),
    ("sprintf", "src/base/id.cc", 'snprintf(text, 8, "x");\n'),
    ("new", "src/base/id.cc", "auto* thing = new Thing;\n"),
    ("new", "src/base/id.cc", "std::unique_ptr<Thing> f() { return wrap(new Thing); }\n"),
    ("new", "src/base/id.cc", "delete thing;\n"),
    ("new", "src/base/id.cc", "delete[] things;\n"),
    ("system", "src/base/id.cc", 'std::system("ls");\n'),
    ("system", "src/base/id.cc", 'popen("ls", "r");\n'),
    ("assert", "src/base/id.cc", "assert(x > 0);\n"),
    ("clock", "src/base/id.cc", "auto now = std::chrono::steady_clock::now();\n"),
    ("clock", "src/base/id.cc", "auto now = system_clock::now();\n"),
    ("detach", "src/base/id.cc", "thread.detach();\n"),
    ("leftover", "src/base/id.cc", "// TO" "DO: the other half\n"),
    ("leftover", "docs/hacking.md", "FIX" "ME\n"),
    ("dead-file", "src/base/orphan.cc", "int orphan;\n"),
    ("dead-file", "src/base/orphan.h", "#pragma once\n"),
    ("dead-file", "src/base/plan.cc", "int other;\n"),  # engine/plan.cc is named, this one not
    ("pragma-once", "src/base/guarded.h", "// #pragma once\n"),
    ("long-line", "src/base/id.cc", "// " + 98 * "x" + "\n"),
    ("tab", "src/base/id.cc", "int\tx;\n"),
    ("trailing-blank", "src/base/id.cc", "int x; \n"),
    ("line-end", "src/base/id.cc", "int x;\r\n"),
    ("line-end", "src/base/id.cc", "int x;"),
    ("utf8", "src/base/id.cc", b"// \xff\n"),
    ("new", "src/base/id.cc", "auto* thing = new Thing;  // tidy-allow print: another rule\n"),
    ("new", "src/base/id.cc", "auto* thing = new Thing;  // tidy-allow new:\n"),  # no reason
    ("long-file", "src/base/id.cc", 600 * "int x;\n"),
    ("long-file", "src/engine/plan_test.cc", 600 * "\n"),
    ("words", "src/base/id.cc", "// Who waits is called back.\n"),
    ("words", "src/base/id.cc", "int f();  // it waits. Those in front go first\n"),
    ("words", "src/base/id.cc", "// A queue. Of\n// those the oldest goes first.\n"),
    ("words", "src/base/id.cc", "/* What of it is left. */\n"),
    ("words", "src/base/id.cc", "// True: nobody waits.\n"),
    ("words", "src/engine/plan_test.cc", "// It ends those\n// who wait.\n"),
    ("words", "src/base/id.cc", "int x;  // likewise\n"),
    ("words", "src/base/id.cc", "int x;  // of that\n"),
    ("not-yet", "tests/tidy/not_yet.txt", "words src/base/id.cc\n"),  # it is clean
    ("unique-name", "src/engine/sim/words.cc", unnamed("class Part {};")),
    ("unique-name", STEPS, unnamed("constexpr int kRowsMax = 9;")),
    ("unique-name", STEPS, unnamed("constexpr int kRowsMax[] = {9, 8};")),
    ("unique-name", STEPS, unnamed("const std::vector<int> kPairs = {};")),
    ("unique-name", STEPS, unnamed("using Rows = std::vector<long>;")),  # another meaning
    ("unique-name", STEPS, unnamed("class Rows {};")),
    ("unique-name", STEPS, unnamed("struct Row {\n  int size;\n};")),
    ("unique-name", STEPS, unnamed("enum class Way { kFar };")),
    ("unique-name", STEPS, unnamed("struct Way : Row {};")),
    ("unique-name", STEPS, unnamed("int sum_of(const Rows& rows, int first) { return 1; }")),
    ("unique-name", STEPS, unnamed("long sum_of(\n    const Rows& all, int from = 1) {}")),
    ("unique-name", STEPS, unnamed("bool operator==(const Rows& one, int two) { return 1; }")),
    ("unique-name", STEPS, unnamed("bool operator<(const Rows& one, int two) { return 1; }")),
    ("unique-name", STEPS, unnamed("int x;\n}\nnamespace {\nint f() {}\nclass Row;")),
    ("unique-name", STEPS, unnamed("namespace inner {\n}\nconstexpr int kRowsMax = 9;")),
    ("unique-name", STEPS, "namespace windrow {\n" + unnamed("class Row;", "engine") + "}\n"),
]

# What looks like a finding and is none.
FINE = [
    ("src/base/id.cc", '// std::rand() is "new" here, assert(it)\n'),
    ("src/base/id.cc", 'const char* text = "delete this; printf(\\"x\\")";\n'),
    ("src/base/id.cc", 'const char* text = R"(std::system("ls") // new Thing)";\n'),
    ("src/base/id.cc", "static_assert(sizeof(int) == 4);\nThing(const Thing&) = delete;\n"),
    ("src/base/id.cc", "int n = 1'000;  // it's\nint x = 0x1'0;\nchar quote = '\"';\n"),
    ("src/base/id.cc", "clock.sleep(1); boost::system::error_code code; log.print(x);\n"),
    ("src/base/id.cc", "/* #include <llama.h> */\n"),
    ("src/base/id.cc", "auto* thing = new Thing;  // tidy-allow new: the constructor is private\n"),
    ("src/base/id.cc", "return std::unique_ptr<Base>(new Thing(1));\n"),
    ("src/base/id.cc", "std::unique_ptr<Thing> thing(\n    new Thing(1));\n"),
    ("src/base/id.cc", "#include <boost/system/result.hpp>\n"),
    ("src/base/id.cc", "// Who waits? Each row that has no mask does.\n"),
    ("src/base/id.cc", "int x;  // what the queue holds, likewise\n// Of all rows, the longest.\n"),
    ("src/base/id.cc", "// Nobody: a name.  tidy-allow words: it is quoted\n"),
    ("docs/formats.md", "A line of " + 100 * "x" + " and a break:  \n"),
    ("build/dev/generated.cc", "int generated;\n"),
    (STEPS, unnamed("using Rows = std::vector<int>;")),  # the same may be said twice
    (STEPS, unnamed("using std::string;\nnamespace json = boost::json;")),
    (STEPS, unnamed("int sum_of(const Rows& rows, long first) { return 1; }")),  # an overload
    (STEPS, unnamed("int sum_of(const Rows& rows) { return 1; }")),
    (STEPS, unnamed("bool operator<=(const Rows& a, int b) { return 1; }")),
    (STEPS, unnamed("class Row;", "windrow::llm")),
    (STEPS, unnamed("namespace inner {\nclass Row;\n}")),
    (STEPS, unnamed("// class Row;\nint f() {\n  constexpr int kRowsMax = 1;\n}")),
    (STEPS, unnamed("struct Other {\n  class Row;\n  int kRowsMax = 1;\n};")),
    (STEPS, unnamed("const int kOther = kRowsMax;\nconst auto kLambda = [] { return Row(); }();")),
    (STEPS, unnamed("class Row;  // tidy-allow unique-name: these two are never in one unit")),
    (STEPS, unnamed("constexpr int kSize = 2;\nconst int kLocal = 2;\nconst int kHere = 1;")),
    (STEPS, "namespace windrow::engine {\nclass Row;\n}\n"),  # not anonymous
    (STEPS, unnamed("constexpr int kShown = 4;\nint count(int start) { return start; }")),
    ("src/engine/sim/words.cc", unnamed("class Row;")),  # of another module
    ("src/engine/sim/rows_test.cc", unnamed("class Row;")),  # compiled alone
]


def findings(extra_path=None, extra=None):
    with tempfile.TemporaryDirectory() as root:
        for path, text in GOOD.items():
            write(root, path, text)
        if extra_path:
            write(root, extra_path, extra)
        return check.check(root)


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def main():
    failures = []
    if findings():
        failures.append(f"the good tree: {findings()}")
    for rule, path, text in BAD:
        found = findings(path, text)
        # The place is the file, or the folder of a module that has no layer.
        if not any(f[2] == rule and (path + "/").startswith(f[0] + "/") for f in found):
            failures.append(f"{rule} was not found in {path} with {text!r}: {found}")
    for path, text in FINE:
        if findings(path, text):
            failures.append(f"{path} with {text!r} is fine, but: {findings(path, text)}")
    rules = {rule for rule, *_ in check.BANNED}
    untried = rules - {rule for rule, *_ in BAD}
    if untried:
        failures.append(f"no bad example for {sorted(untried)}")
    for failure in failures:
        print(failure)
    print(f"{len(BAD)} bad and {len(FINE)} good examples, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
