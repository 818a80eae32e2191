// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A response to a user.
struct FrontAnswer: Sendable {
  var status = 200
  var type: String
  var body: String

  static func json(_ value: some Encodable) -> Self {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    do {
      return FrontAnswer(
        type: "application/json", body: String(decoding: try encoder.encode(value), as: UTF8.self))
    } catch {
      return FrontAnswer(status: 500, type: "text/plain", body: "\(error)\n")
    }
  }

  static func unavailable(_ why: String) -> Self { FrontAnswer(status: 503, type: "text/plain", body: "\(why)\n") }

  func bytes(isLast: Bool) -> [UInt8] {
    let end = isLast ? "Connection: close\r\n" : ""
    return Array(
      "HTTP/1.1 \(status) \r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\(end)\r\n\(body)".utf8)
  }
}
