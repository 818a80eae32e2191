// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension Resilience: SnapshotSource {
  package func snapshotParts() -> [StackSnapshot.Part] {
    var parts = breaker?.snapshotParts() ?? []
    parts += limiter?.snapshotParts() ?? []
    parts += pacer?.snapshotParts() ?? []
    for server in endpoints?.health() ?? [] {
      let state: StackSnapshot.Value = server.isDraining ? "draining" : server.isEjected ? "ejected" : "healthy"
      let (origin, address) = (server.endpoint.origin, server.endpoint.address)
      parts.append(
        StackSnapshot.Part(
          kind: "endpoint", subject: "\(origin)\(address.map { " at \($0)" } ?? "")",
          values: ["state": state, "inUse": .count(server.inUse)]))
    }
    if let quota = pacer?.shared {
      parts.append(.init(kind: "quota", subject: "shared", values: ["state": .text(quota.words())]))
    }
    return parts
  }
}
