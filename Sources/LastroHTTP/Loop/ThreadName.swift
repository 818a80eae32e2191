// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// Names the calling thread, with at most 15 bytes, for debuggers and `ps`.
package func nameThread(_ name: String) { clastro_name_thread(name) }
