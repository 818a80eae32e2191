// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// Ends a connection that holds the loop in one call of libcurl, which reads HTTP/2 in the clear for as long as there
/// is something to read and none of it is for the request. Over TLS there is a better way (``TurnShares/tlsBytes``).
///
/// Owner: the ``Poller``. Thread: the loop's; its own never sees this object.
final class SocketWatchdog {
  private let raw: OpaquePointer

  init?() {
    guard let raw = clastro_watchdog_new() else { return nil }
    self.raw = raw
  }

  deinit { clastro_watchdog_free(raw) }

  func add(_ socket: Int32) { clastro_watchdog_add(raw, socket) }

  /// Before it is closed.
  func remove(_ socket: Int32) { clastro_watchdog_remove(raw, socket) }

  /// Makes a call. Gives the socket that had to be shut down.
  func watch(_ call: () -> Void) -> Int32? {
    clastro_watchdog_begin(raw)
    call()
    let socket = clastro_watchdog_end(raw)
    return socket < 0 ? nil : socket
  }
}
