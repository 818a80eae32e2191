// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Limits how often progress is reported: once for every 64 KiB, or every 50 ms if fewer bytes are transferred.
package struct ProgressMeter {
  /// The last reported progress of one direction.
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
  ///   - decoded: the number of decoded bytes that were delivered. It determines when a report is due.
  ///   - wire: returns the number of bytes received over the wire; called only for a report.
  package mutating func received(decoded: Int64, at time: Int64, wire: () -> Int64, of total: Int64?) {
    if receiving.isDue(decoded, at: time) { transfer.report(received: wire(), of: total) }
  }
}
