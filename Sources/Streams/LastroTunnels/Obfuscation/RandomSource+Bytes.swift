// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension RandomSource {
  /// Returns random bytes, from each number the lowest first.
  package func bytes(_ count: Int) -> [UInt8] {
    let words = (0..<(count + 7) / 8).map { _ in next().littleEndian }
    return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
  }

  /// Returns a number of the range, all with equal probability.
  package func number(in range: ClosedRange<Int>) -> Int {
    let count = UInt64(range.count)
    let least = (0 &- count) % count
    var drawn = next()
    // Values below `least` would make the first numbers of the range more likely.
    while drawn < least { drawn = next() }
    return range.lowerBound + Int(drawn % count)
  }
}
