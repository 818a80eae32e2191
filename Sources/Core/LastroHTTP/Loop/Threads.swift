// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// Sets the name of the calling thread for debuggers and `ps`. The name must have at most 15 bytes.
package func nameThread(_ name: String) { clastro_name_thread(name) }

/// Whether the calling thread belongs to an event loop and must not block.
package var isLoopThread: Bool { clastro_is_loop_thread() }
