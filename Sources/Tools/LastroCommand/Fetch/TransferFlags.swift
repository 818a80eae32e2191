// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro

/// The flags for a command line with several URLs, and for the speed of a transfer.
struct TransferFlags: ParsableArguments {
  @Flag(name: [.customShort(":"), .customLong("next")], help: "Begin another request with its own options.")
  var next = false
  @Flag(
    name: [.customShort("Z"), .customLong("parallel")],
    help: "Fetch all URLs at the same time. Bodies for standard output are kept in memory, and printed whole.")
  var parallel = false
  @Option(name: .customLong("parallel-max"), help: "With -Z: maximum number of transfers at the same time. Default 50.")
  var parallelMax: Int?
  @Flag(name: .customLong("fail-early"), help: "End at the first URL that fails.")
  var failEarly = false
  @Option(
    name: .customLong("limit-rate"),
    help: "Maximum number of bytes of a response's body per second; K, M and G after it mean powers of 1024.")
  var limitRate: String?

  func validate() throws {
    if let parallelMax, parallelMax < 1 {
      throw ValidationError("--parallel-max \(parallelMax) is out of range; give 1 or more.")
    }
    if let limitRate, Self.rate(limitRate) == nil {
      throw ValidationError("--limit-rate \(limitRate.onOneLine) cannot be parsed; write bytes a second, such as 200K.")
    }
  }

  /// The maximum number of bytes in a second; `nil` for no limit.
  var rate: Int? { limitRate.flatMap(Self.rate) }

  /// Parses a number of bytes, such as `100`, `1.5M` or `2k`.
  static func rate(_ text: String) -> Int? {
    let units: [Character: Double] = ["b": 1, "k": 1024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = text.lowercased().last.flatMap { units[$0] }
    guard text.first != "+", let number = Double(unit == nil ? text[...] : text.dropLast()), number.isFinite else {
      return nil
    }
    let bytes = number * (unit ?? 1)
    return bytes >= 1 && bytes < 1e15 ? Int(bytes) : nil
  }
}
