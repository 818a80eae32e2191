// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension DialerTransport: SnapshotSource {
  package func snapshotParts() -> [StackSnapshot.Part] { openedPort.map { PoolCounts.parts(of: [$0]) } ?? [] }
}
