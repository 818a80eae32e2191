// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation

/// The figures of a simulated run, second by second.
struct Outcome {
  /// The number of requests that servers received.
  let load: [Int]
  /// The number of calls that succeeded.
  let goodput: [Int]
  /// The latencies of the calls that succeeded, in seconds.
  let latencyBySecond: [[Double]]

  /// - Parameters:
  ///   - server: the name of the server whose load counts; `nil` for all servers. Default `nil`.
  ///   - seconds: the number of seconds; what is later does not count.
  init(_ trace: SimulationTrace, server: String? = nil, seconds: Int) {
    var load = Array(repeating: 0, count: seconds), latencies = Array(repeating: [Double](), count: seconds)
    for request in trace.requests where server == nil || request.server == server {
      let second = Int(request.time.inSeconds)
      if second < seconds { load[second] += 1 }
    }
    for call in trace.calls where call.hasSucceeded {
      guard let end = call.end, Int(end.inSeconds) < seconds else { continue }
      latencies[Int(end.inSeconds)].append((end - call.start).inSeconds)
    }
    self.load = load
    goodput = latencies.map(\.count)
    latencyBySecond = latencies
  }

  /// Returns the number of successes per second in some seconds, as a share of a capacity per second.
  func share(of capacity: Double, in seconds: Range<Int>) -> Double {
    Double(goodput[seconds].reduce(0, +)) / Double(seconds.count) / capacity
  }

  /// Returns a percentile of the latencies, in seconds.
  func percentile(_ share: Double) -> Double { Self.percentile(share, of: latencyBySecond.flatMap(\.self)) }

  static func percentile(_ share: Double, of values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }
}
