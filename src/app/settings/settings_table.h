// The parts of setting_rows(), in the order in which help shows them: which rows, models, the
// server, and how a run goes and ends.
#pragma once

#include <span>

#include "app/settings/settings.h"

namespace windrow::app {

std::span<const SettingRow> settings_of_models();
std::span<const SettingRow> settings_of_server();

}  // namespace windrow::app
