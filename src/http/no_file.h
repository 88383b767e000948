// Whether something failed because this process, or the whole system, may open no more files; a
// socket is one. Any thread.
#pragma once

namespace windrow::http {

// `error`: as errno has it.
bool is_for_want_of_files(int error);

// At this moment none could be opened. For libraries that do not tell why they failed.
bool no_file_is_left();

}  // namespace windrow::http
