// Fields of chat and completions that say how tokens are chosen and when an answer ends.
#pragma once

#include "llm/draft.h"

namespace windrow::llm {

Problem read_max_tokens(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_max_completion_tokens(std::string_view name, const boost::json::value& value,
                                   Draft& draft);
Problem read_temperature(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_p(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_k(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_min_p(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_typical_p(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_presence_penalty(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_frequency_penalty(std::string_view name, const boost::json::value& value,
                               Draft& draft);
Problem read_repetition_penalty(std::string_view name, const boost::json::value& value,
                                Draft& draft);
Problem read_repeat_penalty(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logit_bias(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_seed(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_stop(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_n(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_ignore_eos(std::string_view name, const boost::json::value& value, Draft& draft);

Problem settle_sampling(Draft& draft);

}  // namespace windrow::llm
