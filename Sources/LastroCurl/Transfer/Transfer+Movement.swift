// SPDX-License-Identifier: Apache-2.0

extension Transfer {
  /// Has bytes count that libcurl keeps to itself: a part of a header line or of a chunk's, the beginning of a TLS
  /// record, what is left in its upload buffer. Asked for before the transfer is called idle; readiness alone costs
  /// next to nothing to remember.
  ///
  /// Only over HTTP/1.1: the bytes of an HTTP/2 connection may be another request's, or no request's.
  func noteMovement(_ poller: Poller) {
    guard requestSent, let socket, !speaksHTTP2 else { return }
    lastActivity = max(lastActivity, poller.lastMovement(of: socket))
  }
}
