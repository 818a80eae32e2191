// SPDX-License-Identifier: Apache-2.0

/// Which addresses could not be connected to lately. They are tried last, not left out: all of them may be.
package struct DeadAddresses<Address: Hashable & Sendable>: Sendable {
  /// 10 minutes, in nanoseconds.
  package static var lifetime: Int64 { 600_000_000_000 }
  /// Most that are remembered; beyond these the oldest is forgotten.
  package static var most: Int { 1_024 }

  private var times: [Address: Int64] = [:]

  package init() {}

  package var count: Int { times.count }

  /// Connecting failed, or another address was quicker by more than the time between two attempts.
  package mutating func note(_ address: Address, now: Int64) {
    if times[address] == nil, times.count >= Self.most {
      times = times.filter { now - $0.value < Self.lifetime }
      if times.count >= Self.most, let oldest = times.min(by: { $0.value < $1.value })?.key { times[oldest] = nil }
    }
    times[address] = now
  }

  /// It was connected to.
  package mutating func forget(_ address: Address) { if !times.isEmpty { times[address] = nil } }

  package func contains(_ address: Address, now: Int64) -> Bool {
    times[address].map { now - $0 < Self.lifetime } ?? false
  }
}
