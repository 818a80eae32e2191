// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting

/// The environment of every step: the stack, the server that records the requests it received, and functions to print.
struct Stage: Sendable {
  let stack: CurlNetworkStack
  let server: LoopbackServer

  func say(_ text: String) { print("   " + text) }
  func asked(_ text: String) { print("   → " + text) }
  func came(_ text: String) { print("   ← " + text) }

  /// Prints a claim of the demo. The step fails if the claim does not hold.
  func check(_ claim: String, _ holds: Bool) throws(StepFailure) {
    print("   \(holds ? "✓" : "✗") \(claim)")
    if !holds { throw StepFailure(claim: claim) }
  }

  /// Returns the requests that the server has read after the first `count`.
  func requests(since count: Int) -> [String] {
    server.requests.dropFirst(count).map { "\($0.method) \($0.target)" }
  }
}

struct StepFailure: Error, CustomStringConvertible {
  let claim: String
  var description: String { "does not hold: \(claim)" }
}

extension Duration {
  /// The duration as text, such as `0.20 s`.
  var readable: String {
    let hundredths = (self / .milliseconds(10)).rounded()
    let fraction = Int(hundredths) % 100
    return "\(Int(hundredths) / 100).\(fraction < 10 ? "0" : "")\(fraction) s"
  }
}
