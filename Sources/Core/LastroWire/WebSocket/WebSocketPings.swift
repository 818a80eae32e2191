// SPDX-License-Identifier: Apache-2.0

/// The pings that wait for their pongs, oldest first.
struct WebSocketPings {
  struct Ping {
    var id: UInt64
    var payload: [UInt8]
    var sentAt: Duration
    /// Whether the sender still waits for the pong.
    var isAwaited = true
  }

  private static let maximumUnawaited = 64

  private var waiting: [Ping] = []

  mutating func append(_ ping: Ping) {
    waiting.append(ping)
    guard waiting.count > Self.maximumUnawaited else { return }
    // Keep the latest ping: its pong also answers all earlier ones.
    let last = ping.id
    waiting.removeAll { !$0.isAwaited && $0.id != last }
  }

  mutating func giveUp(_ id: UInt64) {
    if let index = waiting.firstIndex(where: { $0.id == id }) { waiting[index].isAwaited = false }
  }

  /// Removes the pings that a pong answers: the ping with its payload and all earlier ones, which a peer need not
  /// answer any more (RFC 6455 §5.5.3). If several pings have the payload, the first with a waiting sender is used.
  mutating func removeAnswered(by payload: [UInt8]) -> [Ping] {
    let live = waiting.firstIndex { $0.payload == payload && $0.isAwaited }
    guard let index = live ?? waiting.firstIndex(where: { $0.payload == payload }) else { return [] }
    let answered = Array(waiting[...index])
    waiting.removeFirst(index + 1)
    return answered
  }

  /// Removes all pings. Returns those with a waiting sender.
  mutating func clear() -> [UInt64] {
    defer { waiting = [] }
    return waiting.filter(\.isAwaited).map(\.id)
  }
}
