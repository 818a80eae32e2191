// SPDX-License-Identifier: Apache-2.0

/// The budget for coded input that produces no data: names in headers of gzip, empty members and frames, skippable
/// frames, metadata, and empty blocks from flushes without data.
package struct CodingWaste: Sendable {
  private static let rule = PeerBudget.Rule(burst: 1 << 20, perSecond: 65_536)
  /// The number of input bytes that each byte of output pays for. A flush after each byte costs seven.
  private static let perByte = (count: 32, advance: 1 << 50)

  private var budget = PeerBudget()

  package init() {}

  /// Accounts for a call of a decoder.
  ///
  /// - Parameter now: in nanoseconds; 0 if there is no clock, and only output refills the budget.
  /// - Throws: ``CodingViolation`` of kind `wasteful`.
  package mutating func spend(_ progress: CodingProgress, now: UInt64) throws(CodingViolation) {
    budget.earn(Self.perByte.count * progress.produced, upTo: Self.perByte.advance)
    guard budget.spend(progress.consumed, of: Self.rule, now: now) else {
      throw CodingViolation(.wasteful, "the compressed body is far longer than its decompressed data")
    }
  }
}
