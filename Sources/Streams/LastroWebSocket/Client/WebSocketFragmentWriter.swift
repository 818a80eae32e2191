// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// A writer for the fragments of one message; see ``WebSocket/sendFragments(_:_:)``. It may be used by one task at a
/// time.
package struct WebSocketFragmentWriter: ~Copyable {
  private let core: WebSocketCore
  private let kind: WebSocketMessage.Kind
  private let message: UInt64
  private let isBegun = Lock(false)

  init(_ core: WebSocketCore, _ kind: WebSocketMessage.Kind) {
    self.core = core
    self.kind = kind
    message = core.shared.makeID()
  }

  /// Sends a piece of a text message; returns when the layer below has accepted it.
  ///
  /// - Throws: `invalidArgument` for a binary message; otherwise like ``WebSocket/send(_:)-(String)``.
  package func write(_ text: String) async throws(WebSocketError) {
    guard kind == .text else { throw .invalid("text was written to a binary message", hint: "write Data") }
    if !text.isEmpty { try await send(Array(text.utf8), isFinal: false) }
  }

  /// Sends a piece of a binary message; returns when the layer below has accepted it.
  ///
  /// - Throws: `invalidArgument` for a text message, whose pieces must be text; otherwise like
  ///   ``WebSocket/send(_:)-(String)``.
  package func write(_ data: Data) async throws(WebSocketError) {
    guard kind == .binary else { throw .invalid("bytes were written to a text message", hint: "write a String") }
    if !data.isEmpty { try await send(Array(data), isFinal: false) }
  }

  private func send(_ bytes: [UInt8], isFinal: Bool) async throws(WebSocketError) {
    let isFirst = isBegun.withLock { !$0 }
    // A fragment that was queued and then failed may have been sent, so the message counts as begun once one was
    // queued.
    try await core.send(
      .init(
        id: core.shared.makeID(), message: message, kind: kind == .text ? .text : .binary, bytes: bytes,
        isFirst: isFirst,
        isFinal: isFinal), taken: isBegun)
  }

  borrowing func finish() async throws(WebSocketError) { try await send([], isFinal: true) }

  borrowing func abandon() {
    guard isBegun.withLock(\.self) else { return }
    core.shared.change { $0.session.abandonMessage(now: $1) }
  }
}
