// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension Transfer {
  /// Whether something lies on a pooled HTTP/1.1 connection that answers no request, be it its end. libcurl would take
  /// it for the answer. HTTP/2 sends frames whenever it likes.
  func hasUnsolicitedInput(localPort: Int32) -> Bool {
    guard remoteAddress == nil, clastro_is_reused(easy.raw), !speaksHTTP2 else { return false }
    // What came in one record with the end of the answer before.
    if clastro_holds_input(easy.raw) { return true }
    // A Unix socket has no port to find it by.
    guard localPort > 0 else { return false }
    guard let socket = host.socket(localPort: localPort) else { return true }
    return clastro_has_input(socket)
  }
}
