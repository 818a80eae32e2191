// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What the keep-alive goes by.
struct WebSocketPulse {
  /// The keep-alive ping that no pong has answered.
  var awaited: UInt64?
  /// Whether the reader waits, or has waited since the last ping, for observers: a pong may lie unread then.
  var isHeldUp = false
  var wasHeldUp = false
  /// Whether a frame has begun whose end has not come, which no pong can overtake.
  var isInsideFrame = false
  var hasReceived = false
  /// Whether something was written since the last ping: one that was not waits behind that.
  var hasWritten = false
  var isPingWritten = false
  /// Whether the ping was not written yet when this interval began, so that its pong has less than an interval.
  var wasPingLate = false

  /// Whether silence since the last ping means that nobody is there.
  var isDead: Bool {
    guard awaited != nil, !isHeldUp, !wasHeldUp else { return false }
    if isInsideFrame, hasReceived { return false }
    if isPingWritten { return !wasPingLate }
    // It waits behind other bytes, on a line that is slow as long as either direction moves.
    return !hasWritten && !hasReceived
  }

  mutating func begin(_ ping: UInt64) {
    self = WebSocketPulse(awaited: ping, isHeldUp: isHeldUp, wasHeldUp: isHeldUp, isInsideFrame: isInsideFrame)
  }

  /// Begins another interval for the same ping.
  mutating func goOn() {
    wasPingLate = !isPingWritten
    wasHeldUp = isHeldUp
    hasReceived = false
    hasWritten = false
  }
}

/// The latest elements of a sequence, by number.
struct RecentElements<Element> {
  private let capacity: Int
  private var elements: [Element] = []
  private(set) var end: UInt64 = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func append(_ element: Element) {
    if elements.count == capacity { elements.removeFirst() }
    elements.append(element)
    end += 1
  }

  /// The element with this number, or the oldest that is left after it, and its number.
  func element(from number: UInt64) -> (element: Element, number: UInt64)? {
    let number = max(number, end - UInt64(elements.count))
    guard number < end else { return nil }
    return (elements[elements.count - Int(end - number)], number)
  }
}
