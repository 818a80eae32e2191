// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The far end of a connection in memory: the peer, controlled by a script.
///
/// Its functions act after a delay of the network's clock. Actions with equal delays run in the order of their calls.
package final class MemoryPeer {
  private unowned let host: any MemoryLinkHost
  package weak var near: MemoryLink?
  package let isTLS: Bool
  /// The bytes that have arrived and that the script has not removed.
  package var received: [UInt8] = []
  /// The total number of bytes that have arrived.
  package private(set) var total = 0
  /// Called when bytes have arrived.
  package var onBytes: (MemoryPeer) -> Void = { _ in }
  /// Called when bytes were accepted, before they arrive.
  package var onAccepted: ([UInt8]) -> Void = { _ in }
  /// Called when the near end has closed.
  package var onClose: (MemoryPeer) -> Void = { _ in }
  /// The time that bytes take to arrive in this direction.
  package var latency = Duration.zero
  /// The maximum number of bytes that are accepted and have not arrived. The near end's writes wait for room.
  package var capacity = Int.max { didSet { near?.noteReadiness() } }
  /// Whether accepted bytes arrive and are acknowledged. If not, they fill the capacity.
  package var accepts = true {
    didSet {
      guard accepts, !held.isEmpty else { return }
      let bytes = held
      held = []
      arrived(bytes)
    }
  }
  /// The path of the bytes in both directions. Default `nil`: they arrive after the delays that the script names.
  package var path: (any MemoryPath)?
  /// Whether the delivery of bytes is reported.
  package var reportsDelivery = true
  package private(set) var isClosed = false
  /// The accepted bytes that wait for ``accepts``.
  private var held: [UInt8] = []
  private var queued = 0
  private var acknowledgedAt: Int64?

  init(_ host: any MemoryLinkHost, isTLS: Bool) {
    self.host = host
    self.isTLS = isTLS
  }

  /// The number of accepted bytes that have not arrived.
  package var heldCount: Int { held.count }

  /// Lets a number of the held bytes arrive.
  package func accept(_ count: Int) {
    let bytes = Array(held.prefix(count))
    held.removeFirst(bytes.count)
    take(bytes)
  }

  package var room: Int { isClosed ? 0 : max(0, capacity - queued) }

  var delivery: LinkDelivery? {
    guard reportsDelivery else { return nil }
    return LinkDelivery(acknowledged: UInt64(total), queued: UInt64(queued), acknowledgedAt: acknowledgedAt)
  }

  package func wasSent(_ bytes: [UInt8]) {
    onAccepted(bytes)
    queued += bytes.count
    carry(bytes.count, toPeer: true, after: latency) { [self] in arrived(bytes) }
  }

  private func arrived(_ bytes: [UInt8]) {
    guard accepts else { return held += bytes }
    take(bytes)
  }

  private func take(_ bytes: [UInt8]) {
    queued -= bytes.count
    total += bytes.count
    acknowledgedAt = host.now
    near?.noteReadiness()
    received += bytes
    onBytes(self)
  }

  package func forgetScript() {
    onBytes = { _ in }
    onAccepted = { _ in }
    onClose = { _ in }
  }

  func nearHasClosed() {
    isClosed = true
    carry(0, toPeer: true, after: latency) { [self] in onClose(self) }
  }

  /// Delivers bytes, or the end of a direction, after a delay and the time that the path takes.
  private func carry(_ count: Int, toPeer: Bool, after delay: Duration, _ arrive: @escaping () -> Void) {
    guard let path else { return host.after(delay, arrive) }
    if delay <= .zero { return path.carry(count, toPeer: toPeer, arrive) }
    host.after(delay) { path.carry(count, toPeer: toPeer, arrive) }
  }

  // MARK: Actions of a script

  package var now: Duration { .nanoseconds(host.now) }

  /// Performs an action later.
  package func later(_ delay: Duration, _ body: @escaping () -> Void) { host.after(delay, body) }

  /// Sends bytes.
  package func send(_ bytes: some Sequence<UInt8>, after delay: Duration = .zero) {
    let bytes = Array(bytes)
    carry(bytes.count, toPeer: false, after: delay) { [weak near = near] in near?.arrived(bytes) }
  }

  package func send(_ text: String, after delay: Duration = .zero) { send(text.utf8, after: delay) }

  /// Ends the peer's direction of the connection.
  package func end(isClean: Bool = true, after delay: Duration = .zero) {
    carry(0, toPeer: false, after: delay) { [weak near = near] in near?.ended(.end(isClean: isClean)) }
  }

  /// Resets the connection: unread bytes are lost.
  package func reset(after delay: Duration = .zero) {
    carry(0, toPeer: false, after: delay) { [weak near = near] in near?.ended(.failed) }
  }
}
