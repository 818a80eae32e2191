// SPDX-License-Identifier: Apache-2.0

/// What the transfers that share an HTTP/2 connection know of it together.
///
/// Owner: the connection's ``TLSPeer``, and the transfers on it. Thread: the loop's.
final class SharedConnection {
  /// Transfers that have their request on it and are not over.
  private(set) var running = 0
  /// Monotonic nanoseconds at which bytes last came for one of them.
  var heardAt = Int64.min
  /// ``heardAt`` when a transfer found it silent.
  private var silentSince: Int64?

  /// Whether it was found silent, and nothing came since.
  var isSilent: Bool { silentSince == heardAt }

  fileprivate func enter() { running += 1 }
  fileprivate func leave() { running -= 1 }

  /// Nothing came for the idle limit of one that waits: no new request is put on it.
  func noteSilence() { silentSince = heardAt }
}

/// A transfer's part in an HTTP/2 connection over TLS.
final class ConnectionShare {
  var connection: SharedConnection? {
    didSet {
      oldValue?.leave()
      connection?.enter()
    }
  }
  /// Whether the connection had served before.
  var isReused = false
  /// Whether an answer to a request with a body has begun.
  var mayBeAnsweredEarly = false

  deinit { connection?.leave() }
}
