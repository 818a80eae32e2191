// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// Names the calling thread, with at most 15 bytes, for debuggers and `ps`.
package func nameThread(_ name: String) { clastro_name_thread(name) }

/// Whether the calling thread is that of an event loop, which must not block.
package var isLoopThread: Bool { clastro_is_loop_thread() }
