// SPDX-License-Identifier: Apache-2.0

extension TransferFacts {
  struct ConnectionSummary: Encodable {
    var id: Int64?
    var reused: Bool
    var remote: String?
    var httpVersion: String?
    var trust: TrustVerdict?

    enum CodingKeys: String, CodingKey { case id, reused, remote, httpVersion = "http_version", trust }
  }

  var connectionSummary: ConnectionSummary {
    ConnectionSummary(
      id: connectionID, reused: connectionReused, remote: remote, httpVersion: httpVersion, trust: trust)
  }

  private var remote: String? {
    remoteAddress.map { address in
      let host = address.bracketedHost
      return remotePort.map { "\(host):\($0)" } ?? host
    }
  }

  /// The connection, the protocol, the trust verdict and the times on one line.
  var summary: String {
    var parts: [String] = []
    if connectionID != nil || remote != nil {
      let port = connectionID.map { " from port \($0)" } ?? ""
      parts.append("connection \(connectionReused ? "reused" : "new")\(port)")
    }
    if let remote { parts.append("to \(remote)") }
    if let httpVersion { parts.append("HTTP/\(httpVersion)") }
    if let trust { parts.append("trust \(trust.rawValue)") }
    if resends > 0 { parts.append("\(resends) resends by the engine") }
    for (name, time) in timings.phases { parts.append("\(name) \(time.brief)") }
    return parts.joined(separator: " ")
  }
}

extension TransferFacts.Timings {
  /// The times in seconds, in the JSON of a ledger. Phases that did not happen are left out.
  var record: [String: Double] {
    let all: [String: Duration?] = [
      "queued_s": queued, "name_lookup_s": nameLookup, "connect_s": connect, "tls_s": tls,
      "request_start_s": requestStart, "first_byte_s": firstByte, "total_s": total,
    ]
    return all.compactMapValues { $0?.inRoundedSeconds }
  }

  /// The phases that took any time, in chronological order.
  fileprivate var phases: [(String, Duration)] {
    let all: [(String, Duration?)] = [
      ("queued", queued), ("looked up", nameLookup), ("connected", connect), ("secured", tls),
      ("first byte", firstByte),
      ("done", total),
    ]
    return all.compactMap { name, time in time.flatMap { $0 > .zero ? (name, $0) : nil } }
  }
}
