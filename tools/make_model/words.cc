#include "make_model/words.h"

namespace windrow::make_model {

namespace {

// clang-format off
constexpr std::string_view kWords[] = {
    "the", "of", "and", "to", "in", "a", "is", "that", "it", "was", "for", "on", "as", "with",
    "be", "he", "by", "at", "you", "this", "are", "or", "his", "from", "an", "have", "not",
    "they", "which", "one", "had", "were", "all", "we", "when", "there", "can", "more", "has",
    "she", "what", "if", "her", "will", "their", "but", "about", "up", "so", "out", "who",
    "some", "them", "would", "other", "into", "time", "could", "then", "two", "do", "its",
    "than", "no", "only", "these", "my", "how", "like", "any", "over", "also", "new", "your",
    "me", "may", "first", "many", "most", "people", "after", "such", "make", "made", "between",
    "work", "even", "where", "should", "through", "well", "just", "because", "each", "those",
    "much", "year", "used", "use", "way", "before", "must", "long", "day", "know", "good",
    "same", "part", "take", "see", "come", "world", "while", "under", "number", "say", "great",
    "life", "both", "little", "small", "found", "find", "right", "still", "own", "never",
    "last", "every", "here", "off", "water", "again", "house", "place", "old", "think", "man",
    "men", "three", "very", "different", "being", "down", "word", "words", "question",
    "answer", "write", "list", "name", "example", "text", "system", "user", "assistant",
    "message", "please", "help", "short", "large", "high", "low", "given", "get", "give",
    "look", "back", "been", "did", "does", "done", "another", "around", "always", "until",
    "against", "during", "without", "within", "along", "though", "often", "since", "something",
    "nothing", "everything", "second", "four", "five", "six", "seven", "eight", "nine", "ten",
    "hundred", "thousand", "half", "several", "few", "less", "least", "state", "city", "country",
    "school", "home", "room", "door", "road", "car", "night", "morning", "week", "month",
    "hour", "minute", "hand", "head", "eye", "face", "body", "mind", "heart", "child",
    "children", "mother", "father", "family", "friend", "woman", "women", "young", "king",
    "war", "power", "law", "money", "price", "market", "company", "business", "service",
    "group", "party", "government", "public", "history", "story", "book", "page", "letter",
    "line", "point", "fact", "case", "reason", "result", "change", "problem", "idea", "plan",
    "form", "kind", "order", "end", "side", "set", "run", "move", "turn", "start", "stop",
    "keep", "let", "put", "call", "ask", "tell", "try", "need", "want", "feel", "seem",
    "become", "leave", "bring", "begin", "show", "hear", "play", "live", "believe", "hold",
    "happen", "provide", "stand", "lose", "pay", "meet", "include", "continue", "learn",
    "understand", "follow", "create", "speak", "read", "spend", "grow", "open", "walk", "win",
    "offer", "remember", "consider", "appear", "buy", "wait", "serve", "send", "expect",
    "build", "stay", "fall", "cut", "reach", "remain", "food", "air", "land", "sea", "sun",
    "tree", "river", "mountain", "fire", "light", "dark", "color", "red", "blue", "green",
    "white", "black", "animal", "dog", "cat", "bird", "fish", "horse", "music", "song", "art",
    "science", "study", "research", "data", "model", "test", "language", "computer", "program",
    "code", "function", "value", "input", "output", "file", "table", "memory", "error", "true",
    "false", "key", "string", "return", "summary", "report", "important", "possible", "simple",
    "clear", "early", "late", "real", "sure", "strong", "whole", "free", "full", "hard", "easy",
    "best", "better", "next", "near", "far", "above", "below", "today", "yesterday", "tomorrow",
    "batch", "request", "token", "context", "prompt", "engine", "window", "wind", "storm",
    "weather", "north", "south", "east", "west", "quick", "brown", "fox", "jump", "lazy",
    "hello", "thank", "yes", "why", "explain", "describe", "compare", "translate",
};

constexpr std::string_view kEndings[] = {
    "s",   "ed",  "ing", "er",  "ly",  "es",   "est",  "ion",  "al",   "y",
    "ive", "ous", "ful", "ness", "less", "ment", "able", "ity", "tion", "ers",
    "en",  "or",  "ar",  "an",  "on",  "in",   "re",   "th",   "st",   "nd",
};
// clang-format on

}  // namespace

std::span<const std::string_view> common_words() {
  return kWords;
}
std::span<const std::string_view> common_endings() {
  return kEndings;
}

}  // namespace windrow::make_model
