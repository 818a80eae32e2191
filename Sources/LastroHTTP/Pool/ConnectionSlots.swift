// SPDX-License-Identifier: Apache-2.0

/// The connections of an engine by small numbers, which are given out again.
struct ConnectionSlots {
  private var connections: [HTTPConnection?] = []
  private var free: [Int32] = []

  /// The number of slots, free ones included.
  var count: Int { connections.count }

  subscript(slot: Int32) -> HTTPConnection? { slot < connections.count ? connections[Int(slot)] : nil }

  mutating func add(_ connection: HTTPConnection) -> Int32 {
    if let slot = free.popLast() {
      connections[Int(slot)] = connection
      return slot
    }
    connections.append(connection)
    return Int32(connections.count - 1)
  }

  mutating func remove(_ connection: HTTPConnection) {
    let slot = Int(connection.slot)
    guard slot >= 0, slot < connections.count, connections[slot] === connection else { return }
    connections[slot] = nil
    free.append(connection.slot)
  }
}
