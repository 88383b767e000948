#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/json/object.hpp>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands/chat_model.h"
#include "app/commands/chat_printer.h"
#include "app/commands/chat_talk.h"
#include "app/commands/command_context.h"
#include "app/commands/commands.h"
#include "app/commands/fetch_models.h"
#include "app/process/console.h"
#include "app/process/interrupts.h"
#include "app/process/open_files.h"
#include "app/settings/fleet_settings.h"
#include "app/settings/upstream_settings.h"
#include "batch/job_runner.h"
#include "fleet/job_fleet.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "upstream/ask_upstream.h"

namespace windrow::app {
namespace {

constexpr int kExitChatInterrupted = 130;

constexpr std::string_view kPrompt = "> ";
constexpr std::string_view kPromptGoesOn = "... ";

// --- standard input -----------------------------------------------------------------------------

class LineInput {
 public:
  // With its line end; nothing at the end of the input.
  std::optional<std::string> line() {
    for (size_t end = held_.find('\n'); end == std::string::npos; end = held_.find('\n')) {
      if (!read_more()) {
        if (held_.empty()) return std::nullopt;
        return std::exchange(held_, {});
      }
    }
    const size_t end = held_.find('\n') + 1;
    std::string text = held_.substr(0, end);
    held_.erase(0, end);
    return text;
  }

  std::string all() {
    while (read_more()) {
    }
    return std::exchange(held_, {});
  }

 private:
  bool read_more() {
    std::array<char, 4096> bytes{};
    ssize_t came = 0;
    do {
      came = read(STDIN_FILENO, bytes.data(), bytes.size());
    } while (came < 0 && errno == EINTR);
    if (came <= 0) return false;
    held_.append(bytes.data(), static_cast<size_t>(came));
    return true;
  }

  std::string held_;
};

// --- what answers -------------------------------------------------------------------------------

// A model with all that it needs, from the first to the last.
struct OpenChat {
  std::unique_ptr<fleet::JobFleet> fleet;
  std::unique_ptr<http::Loop> loop;
  std::unique_ptr<http::CurlClient> client;
  std::unique_ptr<ChatModel> model;
  std::string name;  // in bodies; empty: bodies name none
};

Result<OpenChat> open_local(CommandContext& context) {
  if (context.settings().models.empty()) {
    return Error{ErrorKind::kInvalid,
                 "no model was named; write windrow chat --model MODEL.gguf, or windrow chat --url "
                 "http://127.0.0.1:8080 for a server that runs"};
  }
  Result<FleetChoice> chosen = context.choose();
  if (!chosen) return chosen.error();
  const Result<void> fetched = fetch_models(chosen->models, context.environment(), context.clock(),
                                            context.disk(), context.console());
  if (!fetched) return fetched.error();
  OpenChat open;
  open.fleet = make_job_fleet(*chosen, context.fleet_setting(requests_for(context.files_max())));
  const Result<void> opened = open.fleet->open({.began_unix_s = context.clock().unix_seconds()});
  if (!opened) return opened.error();
  for (const fleet::JobRoute& route : open.fleet->routes()) {
    if (!route.endpoints.contains(llm::Endpoint::kChatCompletions)) continue;
    open.model = local_chat_model(*route.dispatcher);
    open.name = route.model;
    return open;
  }
  return Error{ErrorKind::kInvalid,
               "this model answers no chats: it has no chat template, or is made for embeddings; "
               "windrow inspect says more, --chat-template chatml gives it one"};
}

Result<OpenChat> open_served(const ChatCommand& command, CommandContext& context) {
  const Result<http::Url> url = http::parse_url(command.url);
  if (!url) return url.error().in("--url");
  std::string api_key;
  if (!command.api_key_env.empty()) {
    Result<std::string> key =
        key_of_variable(command.api_key_env, "--api-key-env", context.environment());
    if (!key) return key.error();
    api_key = *std::move(key);
  }
  OpenChat open;
  open.loop = std::make_unique<http::Loop>(context.clock());
  open.client =
      std::make_unique<http::CurlClient>(*open.loop, client_options(context.environment()));
  // A file of settings names models of this machine.
  if (context.resolved().source_of(*find_setting("model")).starts_with("flag ")) {
    open.name = context.settings().models.front();
  } else {
    upstream::UpstreamOptions options;
    options.base = upstream::with_version(*url);
    options.api_key = api_key;
    const Result<upstream::UpstreamFacts> facts = upstream::ask_upstream(*open.client, options);
    if (!facts) return facts.error();
    if (facts->models && !facts->models->empty()) open.name = facts->models->front();
  }
  open.model = served_chat_model(*open.client, *url, std::move(api_key));
  return open;
}

// --- the conversation ---------------------------------------------------------------------------

class Conversation {
 public:
  Conversation(OpenChat& open, CommandContext& context, InterruptWatch& interrupts,
               std::string system)
      : open_(open), context_(context), interrupts_(interrupts), talk_(std::move(system)) {}

  // Each returns the exit code.
  int once(std::string question) {
    const Result<bool> done = ask(std::move(question), false);
    if (!done) return context_.fail(done.error());
    return *done ? 0 : kExitChatInterrupted;
  }

  int converse() {
    write_all(STDOUT_FILENO, fmt::format("{}; /help lists what else may be typed, Ctrl-D ends\n",
                                         open_.name.empty() ? "the server's model" : open_.name));
    while (const std::optional<std::string> line = read_message()) {
      ChatLine said = read_chat_line(*line);
      if (said.kind == ChatLineKind::kEnd) return 0;
      if (said.kind != ChatLineKind::kMessage) {
        obey(said);
        continue;
      }
      // What went wrong is about this question; the next one may be asked.
      if (const Result<bool> done = ask(std::move(said.text), true); !done)
        context_.console().error(done.error().message);
    }
    write_all(STDOUT_FILENO, "\n");
    return 0;
  }

 private:
  // A line that ends with a backslash goes on with the next one.
  std::optional<std::string> read_message() {
    std::string message;
    interrupts_.set([] { write_all(STDOUT_FILENO, fmt::format("\n{}", kPrompt)); });
    write_all(STDOUT_FILENO, kPrompt);
    while (std::optional<std::string> line = input_.line()) {
      message += *line;
      if (!message.ends_with("\\\n")) return message;
      message.erase(message.size() - 2, 1);
      write_all(STDOUT_FILENO, kPromptGoesOn);
    }
    if (message.empty()) return std::nullopt;
    return message;
  }

  void obey(ChatLine& said) {
    switch (said.kind) {
      case ChatLineKind::kReset:
        talk_.reset();
        context_.console().note("the conversation starts over");
        return;
      case ChatLineKind::kSystem:
        context_.console().note(said.text.empty() ? "there is no system message from now on"
                                                  : "this is the system message from now on");
        talk_.set_system(std::move(said.text));
        return;
      case ChatLineKind::kHelp:
        write_all(STDOUT_FILENO, chat_help());
        return;
      case ChatLineKind::kMistaken:
        context_.console().error(fmt::format(
            "{} is not a word of this chat; /help lists them, //... sends it as a message",
            said.text));
        return;
      case ChatLineKind::kNothing:
      case ChatLineKind::kMessage:
      case ChatLineKind::kEnd:
        return;
    }
  }

  // False: it was stopped. What there is of the answer stays in the conversation.
  Result<bool> ask(std::string question, bool terminal) {
    talk_.add_question(std::move(question));
    std::stop_source stop;
    interrupts_.set([stop]() mutable { stop.request_stop(); });
    const bool colour = colour_allowed(context_.settings().color, is_terminal(STDOUT_FILENO),
                                       context_.environment());
    AnswerPrinter printer({.terminal = terminal && is_terminal(STDOUT_FILENO), .colour = colour},
                          [](std::string_view text) { write_all(STDOUT_FILENO, text); });
    boost::json::object body = talk_.body(open_.name);
    for (const auto& [field, value] : context_.settings().body_defaults)
      body[field] = value;
    const Result<void> answered = open_.model->answer(
        body, [&](const ChatPiece& piece) { printer.show(piece); }, stop.get_token());
    interrupts_.set({});
    std::string text = printer.end(stop.stop_requested());
    if (!answered || text.empty()) {
      talk_.take_back_question();
    } else {
      talk_.add_answer(std::move(text));
    }
    if (!answered) return answered.error();
    return !stop.stop_requested();
  }

  OpenChat& open_;
  CommandContext& context_;
  InterruptWatch& interrupts_;
  ChatTalk talk_;
  LineInput input_;
};

}  // namespace

int chat_command(const ChatCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave Ctrl-C to the watch.
  InterruptWatch interrupts;
  interrupts.set([] { std::_Exit(kExitChatInterrupted); });
  CommandContext context(environment);
  if (const Result<void> started = context.start(command.flags, SettingsOf::kRun); !started)
    return context.fail(started.error());
  Result<OpenChat> open = command.url.empty() ? open_local(context) : open_served(command, context);
  if (!open) return context.fail(open.error());
  Conversation conversation(*open, context, interrupts, command.system);
  if (is_terminal(STDIN_FILENO)) return conversation.converse();

  std::string question = LineInput().all();
  const size_t end = question.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) {
    return context.fail({ErrorKind::kInvalid,
                         "standard input has no question; pipe one in, or start windrow chat in a "
                         "terminal"});
  }
  question.resize(end + 1);
  return conversation.once(std::move(question));
}

}  // namespace windrow::app
