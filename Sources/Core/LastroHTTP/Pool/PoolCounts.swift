// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The connections and requests of a host at one moment.
package struct PoolCounts: Hashable, Sendable {
  /// The connections that carry requests, or are new.
  var active = 0
  var idle = 0
  var dialing = 0
  /// The requests that are being performed.
  var requests = 0
  /// The requests that wait for a connection.
  var waiting = 0

  static func += (counts: inout Self, other: Self) {
    counts.active += other.active
    counts.idle += other.idle
    counts.dialing += other.dialing
    counts.requests += other.requests
    counts.waiting += other.waiting
  }

  private var values: [String: StackSnapshot.Value] {
    [
      "active": .count(active), "idle": .count(idle), "dialing": .count(dialing), "requests": .count(requests),
      "waiting": .count(waiting),
    ]
  }

  /// Returns the parts of a snapshot: one for each host, whose counts in several engines, and under several options, are
  /// added.
  package static func parts(of ports: [EnginePort]) -> [StackSnapshot.Part] {
    var hosts: [String: PoolCounts] = [:]
    for port in ports {
      for (host, counts) in port.poolCounts() { hosts[host, default: PoolCounts()] += counts }
    }
    return hosts.map { StackSnapshot.Part(kind: "pool", subject: $0.key, values: $0.value.values) }
  }
}
