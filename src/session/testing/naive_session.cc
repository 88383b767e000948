#include "session/testing/naive_session.h"

#include <algorithm>
#include <set>
#include <utility>

namespace windrow::session::testing {
namespace {

SampleStatus status_of(const std::string& finish_reason) {
  if (finish_reason == "stop" || finish_reason == "tool_calls") return SampleStatus::kCompleted;
  if (finish_reason == "length") return SampleStatus::kTruncated;
  if (finish_reason == "abort") return SampleStatus::kAborted;
  return SampleStatus::kPending;
}

// The sample of one record, with all that its conversation has.
NaiveSample sample_of(const NaiveTurn& turn) {
  NaiveSample sample{.tokens = turn.tokens,
                     .mask = std::string(turn.logprobs.size(), '\1'),
                     .logprobs = turn.logprobs,
                     .rows = {},
                     .status = status_of(turn.finish_reason),
                     .weight_versions = {},
                     .cached_tokens = turn.figures.cached_tokens,
                     .prompt_tokens = turn.figures.prompt_tokens,
                     .last_turn = turn.id};
  if (!turn.figures.weight_version.empty())
    sample.weight_versions.push_back(turn.figures.weight_version);
  for (size_t kind = 0; kind < kRowKinds; ++kind)
    if (turn.rows[kind]) sample.rows[kind] = turn.first_rows[kind];
  return sample;
}

// Removes the last tokens, which are sampled, and what belongs to them.
void strip(NaiveSample& sample, size_t tokens) {
  sample.tokens.resize(sample.tokens.size() - tokens);
  sample.mask.resize(sample.mask.size() - tokens);
  sample.logprobs.resize(sample.logprobs.size() - tokens);
  for (auto& rows : sample.rows)
    if (rows) rows->resize(rows->size() - tokens);
}

// `next` with the response of `all` before its own, and zeros where its prompt is new.
NaiveSample merged(NaiveSample all, NaiveSample next) {
  const size_t seen = next.tokens.size() - all.tokens.size() - next.mask.size();
  all.mask.append(seen, '\0').append(next.mask);
  all.logprobs.resize(all.logprobs.size() + seen);
  all.logprobs.insert(all.logprobs.end(), next.logprobs.begin(), next.logprobs.end());
  all.weight_versions.insert(all.weight_versions.end(), next.weight_versions.begin(),
                             next.weight_versions.end());
  next.mask = std::move(all.mask);
  next.logprobs = std::move(all.logprobs);
  next.weight_versions = std::move(all.weight_versions);
  next.cached_tokens += all.cached_tokens;
  next.prompt_tokens += all.prompt_tokens;
  return next;
}

bool lacks_rows_of(const NaiveSample& next, const NaiveSample& before) {
  for (size_t kind = 0; kind < kRowKinds; ++kind)
    if (before.rows[kind] && !next.rows[kind]) return true;
  return false;
}

}  // namespace

NaiveAttachment NaiveSession::attach(const std::vector<std::string>& request) const {
  NaiveAttachment found =
      options_.kind == HistoryKind::kLinear ? attach_linear(request) : attach_tree(request);
  const size_t turns =
      options_.kind == HistoryKind::kLinear ? turns_.size() - found.left_out : turns_.size();
  if (found.refused == 0 && turns >= options_.turns_max) found.refused = 409;
  found.commits = commits_;
  return found;
}

// The reference counts the stored messages that the request begins with, and looks for the last
// answer among them.
NaiveAttachment NaiveSession::attach_linear(const std::vector<std::string>& request) const {
  NaiveAttachment found;
  if (turns_.empty()) return found;
  const std::vector<std::string>& stored = turns_.rbegin()->second.messages;
  size_t matching = 0;
  while (matching < stored.size() && matching < request.size() &&
         stored[matching] == request[matching])
    ++matching;
  found.left_out = turns_.size();
  for (const auto& [id, turn] : turns_) {
    if (turn.messages.size() > matching) break;
    found.parent = id;
    found.parent_messages = turn.messages.size();
    --found.left_out;
  }
  if (found.left_out > options_.rollback_turns) found.refused = 400;
  return found;
}

NaiveAttachment NaiveSession::attach_tree(const std::vector<std::string>& request) const {
  NaiveAttachment found;
  for (const auto& [id, turn] : turns_) {
    const std::vector<std::string>& messages = turn.messages;
    if (messages.size() > request.size() || messages.size() < found.parent_messages) continue;
    if (!std::equal(messages.begin(), messages.end(), request.begin())) continue;
    found.parent = id;
    found.parent_messages = messages.size();
  }
  if (found.parent != 0 && turns_.at(found.parent).finish_reason == "length") found.refused = 409;
  return found;
}

bool NaiveSession::commit(const NaiveAttachment& attachment, NaiveTurn turn) {
  if (options_.kind == HistoryKind::kLinear) {
    if (attachment.commits != commits_) return false;
    if (attachment.left_out > 0) ++rollbacks_;
    turns_.erase(turns_.upper_bound(attachment.parent), turns_.end());
  }
  turn.id = next_id_++;
  turn.parent = attachment.parent;
  for (size_t kind = 0; kind < kRowKinds; ++kind) {
    NaiveRows& rows = turn.first_rows[kind];
    if (turn.parent != 0) rows = turns_.at(turn.parent).first_rows[kind];
    if (turn.rows[kind])
      for (size_t row = rows.size(); row < turn.rows[kind]->size(); ++row)
        rows.push_back(turn.rows[kind]->at(row));
  }
  ++commits_;
  turns_.emplace(turn.id, std::move(turn));
  return true;
}

std::vector<uint64_t> NaiveSession::leaves() const {
  std::set<uint64_t> parents;
  for (const auto& [id, turn] : turns_)
    parents.insert(turn.parent);
  std::vector<uint64_t> leaves;
  for (const auto& [id, turn] : turns_)
    if (!parents.contains(id)) leaves.push_back(id);
  return leaves;
}

std::vector<NaiveSample> NaiveSession::samples(uint64_t leaf, const SampleRules& rules) const {
  std::vector<NaiveSample> samples;
  for (uint64_t id = leaf, next = 0; id != 0; next = id, id = turns_.at(id).parent) {
    samples.push_back(sample_of(turns_.at(id)));
    if (next != 0) strip(samples.back(), turns_.at(id).tokens.size() - turns_.at(next).kept_tokens);
  }
  std::reverse(samples.begin(), samples.end());
  for (size_t i = 0; rules.tokens_max && i < samples.size(); ++i) {
    if (samples[i].tokens.size() <= *rules.tokens_max) continue;
    const size_t excess = samples[i].tokens.size() - *rules.tokens_max;
    const bool fits = excess < samples[i].mask.size();
    samples.resize(fits ? i + 1 : i);
    if (!fits) break;
    strip(samples[i], excess);
    samples[i].status = SampleStatus::kTruncated;
  }
  if (rules.turns_apart || samples.empty()) return samples;
  NaiveSample all = samples.front();
  for (size_t i = 1; i < samples.size(); ++i) {
    if (all.status != SampleStatus::kCompleted || lacks_rows_of(samples[i], all)) break;
    all = merged(std::move(all), samples[i]);
  }
  return {all};
}

}  // namespace windrow::session::testing
