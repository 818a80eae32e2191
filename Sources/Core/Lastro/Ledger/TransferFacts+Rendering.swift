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

extension TransferFacts.Timings: Encodable {
  enum CodingKeys: String, CodingKey {
    case queued = "queued_s", nameLookup = "name_lookup_s", connect = "connect_s", tls = "tls_s"
    case requestStart = "request_start_s", firstByte = "first_byte_s", total = "total_s"
  }

  /// Writes times in seconds. Phases that did not happen are left out.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(queued.inRoundedSeconds, forKey: .queued)
    try container.encodeIfPresent(nameLookup?.inRoundedSeconds, forKey: .nameLookup)
    try container.encodeIfPresent(connect?.inRoundedSeconds, forKey: .connect)
    try container.encodeIfPresent(tls?.inRoundedSeconds, forKey: .tls)
    try container.encodeIfPresent(requestStart?.inRoundedSeconds, forKey: .requestStart)
    try container.encodeIfPresent(firstByte?.inRoundedSeconds, forKey: .firstByte)
    try container.encode(total.inRoundedSeconds, forKey: .total)
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
