// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// The state of an open stream.
struct HTTP2StreamState {
  /// The stream's number; 0 for an unused slot, since stream numbers begin with 1.
  var number: Int32 = 0
  var request = HTTP2RequestPhase.queued
  var answer = HTTP2AnswerPhase.waiting
  /// The number of body bytes of the request that have been sent.
  var sentBytes: Int64 = 0
  /// The time at which the head, or the latest part of the body, was sent.
  var sentAt: UInt64?
  var interims = InterimBudget()
  /// The budget for empty DATA frames.
  var emptyData = PeerBudget()
  /// The size of the head that is being received, or of the final head and the trailers together.
  var headBytes = 0
  /// The number of body bytes that the reader has not taken.
  var unread = 0
  /// The part of the request's body that is to be sent; `nil` if there is no body, or if no more of it is to be sent.
  var outbox: HTTP2Outbox?
}

/// The open streams, each in a reusable slot.
///
/// The table manages its own memory, where states are read and changed in place. The overhead of an array for each
/// access would cost more than the session's own work.
final class HTTP2StreamTable {
  private var slots = UnsafeMutablePointer<HTTP2StreamState>.allocate(capacity: 4)
  private var capacity = 4
  /// The number of initialized slots.
  private var used = 0
  private var free: ContiguousArray<Int> = []
  private(set) var count = 0

  deinit {
    slots.deinitialize(count: used)
    slots.deallocate()
  }

  /// Reserves a slot for the next stream.
  func reserve() -> Int {
    if let slot = free.popLast() { return slot }
    if used == capacity { grow() }
    (slots + used).initialize(to: HTTP2StreamState())
    used += 1
    return used - 1
  }

  private func grow() {
    let larger = UnsafeMutablePointer<HTTP2StreamState>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: slots, count: used)
    slots.deallocate()
    (slots, capacity) = (larger, capacity * 2)
  }

  /// Releases a reserved slot that no stream uses.
  func giveBack(_ slot: Int) { free.append(slot) }

  func open(_ number: Int32, _ outbox: HTTP2Outbox?, in slot: Int) {
    slots[slot] = HTTP2StreamState(number: number, outbox: outbox)
    count += 1
  }

  func close(_ stream: HTTP2Stream) {
    guard contains(stream) else { return }
    slots[stream.slot] = HTTP2StreamState()
    free.append(stream.slot)
    count -= 1
  }

  func contains(_ stream: HTTP2Stream) -> Bool {
    stream.slot >= 0 && stream.slot < used && stream.number > 0 && slots[stream.slot].number == stream.number
  }

  /// The state of an open stream. The address is valid until the next stream is opened.
  subscript(_ stream: HTTP2Stream) -> HTTP2StreamState {
    unsafeAddress { UnsafePointer(slots + stream.slot) }
    unsafeMutableAddress { slots + stream.slot }
  }

  var all: [HTTP2Stream] {
    (0..<used).filter { slots[$0].number != 0 }.map { HTTP2Stream(number: slots[$0].number, slot: $0) }
  }
}
