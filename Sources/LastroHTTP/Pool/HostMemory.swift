// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
internal import LastroWire

/// What was learnt about a server, for all connections to it.
final class HostMemory: Sendable {
  private let expects = Lock(true)

  /// Whether the server may be asked first if it wants a large body: one that did not answer once is not asked again.
  var mayExpect: Bool { expects.withLock { $0 } }

  func learn(_ machine: HTTP1Exchange) {
    if machine.continueTimedOut || machine.status == 417 { expects.withLock { $0 = false } }
  }
}
