// SPDX-License-Identifier: Apache-2.0

/// The addresses that could not be connected to recently. They are tried last, but not excluded, because all of them
/// may be dead.
package struct DeadAddresses<Address: Hashable & Sendable>: Sendable {
  /// The lifetime of an entry: 10 minutes, in nanoseconds.
  package static var lifetime: Int64 { 600_000_000_000 }
  /// The maximum number of entries. The oldest entry is replaced.
  package static var most: Int { 1_024 }

  private var times: [Address: Int64] = [:]

  package init() {}

  package var count: Int { times.count }

  /// Records that connecting failed, or that another address was faster by more than the delay between two attempts.
  package mutating func note(_ address: Address, now: Int64) {
    if times[address] == nil, times.count >= Self.most {
      times = times.filter { now - $0.value < Self.lifetime }
      if times.count >= Self.most, let oldest = times.min(by: { $0.value < $1.value })?.key { times[oldest] = nil }
    }
    times[address] = now
  }

  /// Records that the address was connected to.
  package mutating func forget(_ address: Address) { if !times.isEmpty { times[address] = nil } }

  package func contains(_ address: Address, now: Int64) -> Bool {
    times[address].map { now - $0 < Self.lifetime } ?? false
  }
}
