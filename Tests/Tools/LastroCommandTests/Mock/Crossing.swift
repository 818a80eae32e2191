// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

/// A request of a browser, for a page of this machine or of another host.
enum Crossing: CaseIterable, CustomTestStringConvertible {
  case own, localhost, ipv6
  case rebound, below, two, none, foreign, opaque

  var isAllowed: Bool { [.own, .localhost, .ipv6].contains(self) }

  var testDescription: String { fields }

  private var fields: String {
    switch self {
    case .own: "Host: 127.0.0.1:8080\r\n"
    case .localhost: "Host: localhost:8080\r\nOrigin: http://localhost:3000\r\n"
    case .ipv6: "Host: [::1]:8080\r\nOrigin: https://127.0.0.1\r\n"
    case .rebound: "Host: attacker.example:8080\r\n"
    case .below: "Host: localhost.attacker.example\r\n"
    case .two: "Host: localhost\r\nHost: attacker.example\r\n"
    case .none: ""
    case .foreign: "Host: localhost:8080\r\nOrigin: https://attacker.example\r\n"
    case .opaque: "Host: localhost:8080\r\nOrigin: null\r\n"
    }
  }

  /// Sends the request, and returns the response.
  func send(to server: RunningServer) throws -> String {
    let client = try LoopbackClient(to: .port(server.port))
    try client.send("POST / HTTP/1.1\r\n\(fields)Content-Length: 1\r\nConnection: close\r\n\r\na")
    return client.receiveAll().text
  }
}
