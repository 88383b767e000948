// Descriptors 0, 1 and 2 of a process that was started without them.
#pragma once

namespace windrow::app {

// Opens /dev/null on each of them that is closed, before anything else is opened: else the next
// file, socket or set of signals gets that number, and is read as standard input, or has messages
// written into it. Standard input gets one that cannot be read, so that a command that wants it
// says so. False: the system does not let it.
bool hold_standard_descriptors();

}  // namespace windrow::app
