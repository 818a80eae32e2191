// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// The answers of an HTTP proxy to CONNECT, as far as libcurl reads them.
@Suite("Faults: responses to CONNECT", .replayed, .timeLimit(.minutes(15)))
struct ConnectAnswerTests {
  @Test("An interim response to CONNECT is treated as a refusal (libcurl 7.88), and nothing is sent")
  func interim() async throws {
    let proxy = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\n\r\n")
      connection.stall()
    }
    var request = TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "host.example", path: "/"))
    request.connection = ConnectionOptions()
    request.connection?.proxy = .url(proxy.baseURL)
    request.deadline = .seconds(60)
    let engine = try LinkKind.current.engine()
    let asked = request
    let error = try await #require(throws: TransportError.self) { try await engine.execute(asked) }
    #expect(error.words == "proxy/proxy_refused" && !error.requestSent)
    #expect(error.message.contains("100"))
    #expect(proxy.requests.map(\.method) == ["CONNECT"])
  }
}
