// SPDX-License-Identifier: Apache-2.0

/// The result of a run, printed as one line of JSON.
struct Measurement: CustomStringConvertible {
  var client: String
  var scenario: Scenario
  var requests: Int
  var bytes: Int
  var used: Usage
  var peakKiB: Int
  var idleKiB: Int

  var description: String {
    """
    {"client":"\(client)","scenario":"\(scenario.rawValue)","requests":\(requests),"bytes":\(bytes),\
    "wall_ns":\(used.wallNanoseconds),"user_us":\(used.userMicroseconds),"system_us":\(used.systemMicroseconds),\
    "peak_rss_kib":\(peakKiB),"idle_rss_kib":\(idleKiB)}
    """
  }
}
