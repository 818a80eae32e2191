// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension Resilience: SnapshotSource {
  package func snapshotParts() -> [StackSnapshot.Part] {
    var parts = breaker?.snapshotParts() ?? []
    parts += limiter?.snapshotParts() ?? []
    parts += pacer?.snapshotParts() ?? []
    for server in endpoints?.health() ?? [] {
      parts.append(
        StackSnapshot.Part(
          kind: "endpoint", subject: "\(server.endpoint.origin)",
          values: ["state": server.isEjected ? "ejected" : "healthy", "inUse": .count(server.inUse)]))
    }
    return parts
  }
}
