// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Pings that wait for their pongs, oldest first.
struct WebSocketPings {
  typealias Answer = CheckedContinuation<Result<WebSocketPong, WebSocketError>, Never>

  struct Ping {
    var id: UInt64
    var payload: Data
    var sentAt: Duration
    var answer: Answer?
  }

  private(set) var waiting: [Ping] = []

  mutating func append(_ ping: Ping) { waiting.append(ping) }

  func contains(_ id: UInt64) -> Bool { waiting.contains { $0.id == id } }

  mutating func giveUp(_ id: UInt64) -> Answer? {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
    defer { waiting[index].answer = nil }
    return waiting[index].answer
  }

  /// Forgets those that nobody waits for, but for the latest, when there are too many.
  mutating func prune() {
    guard waiting.count > 64 else { return }
    let last = waiting[waiting.count - 1].id
    waiting.removeAll { $0.answer == nil && $0.id != last }
  }

  /// Those that a pong answers: the ping with its payload, and all before, which a peer need not answer any more
  /// (RFC 6455 §5.5.3). Of several with its payload, the first that somebody waits for.
  mutating func take(answeredBy payload: Data) -> [Ping] {
    let live = waiting.firstIndex { $0.payload == payload && $0.answer != nil }
    guard let index = live ?? waiting.firstIndex(where: { $0.payload == payload }) else { return [] }
    let answered = Array(waiting[...index])
    waiting.removeFirst(index + 1)
    return answered
  }

  mutating func takeAll() -> [Answer] {
    defer { waiting = [] }
    return waiting.compactMap(\.answer)
  }
}
