// Files that --chat-template names.
#pragma once

#include <string>
#include <vector>

#include "app/model_choice.h"
#include "base/result.h"

namespace windrow::app {

// The text of a file, or of anything else that can be read, without a byte order mark. kNotFound
// when there is none or it is a folder, kIo.
Result<std::string> read_template_file(const std::string& path);

// A pipe can be read once, and a job is continued only with the text it began with: sets
// chat_template_text of the choices whose template comes from one.
Result<void> read_piped_templates(std::vector<ModelChoice>& choices);

}  // namespace windrow::app
