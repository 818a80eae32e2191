// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Decides which steps of a transfer are worth telling: one for every 64 KiB, and where less comes, one every 50 ms.
package struct ProgressMeter {
  /// The progress reported of one direction.
  private struct Pace {
    private static let bytes: Int64 = 64 << 10
    private static let nanoseconds: Int64 = 50_000_000
    private var count: Int64 = 0
    private var time: Int64 = 0

    mutating func isDue(_ count: Int64, at time: Int64) -> Bool {
      guard count - self.count >= Self.bytes || time - self.time >= Self.nanoseconds || count < self.count else {
        return false
      }
      self.count = count
      self.time = time
      return true
    }
  }

  package let transfer: TransferProgressReporter.Transfer
  private var sending = Pace()
  private var receiving = Pace()

  package init?(_ transfer: TransferProgressReporter.Transfer?) {
    guard let transfer else { return nil }
    self.transfer = transfer
  }

  package mutating func sent(_ count: Int64, at time: Int64) {
    if sending.isDue(count, at: time) { transfer.report(sent: count) }
  }

  /// - Parameters:
  ///   - decoded: bytes handed on, by which the pace is kept.
  ///   - wire: bytes that came over the wire, read when they are reported.
  package mutating func received(decoded: Int64, at time: Int64, wire: () -> Int64, of total: Int64?) {
    if receiving.isDue(decoded, at: time) { transfer.report(received: wire(), of: total) }
  }
}
