// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

@Suite("Sockets of an engine in the poller", .timeLimit(.minutes(15)))
struct SocketTurnsTests {
  @Test("Requests on kept and closed connections alternate, and all are answered")
  func turns() async throws {
    let server = try LoopbackServer.http { request in
      LoopbackResponse(
        headers: request.path.hasSuffix("close") ? ["Connection": "close"] : [:], body: Array("fine".utf8))
    }
    let transport = try CurlTransport()
    let paths = (0..<120).map { $0 % 3 == 0 ? "/\($0)/close" : "/\($0)" }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for (index, path) in paths.enumerated() {
        if index >= 4 { #expect(try await group.next() == 200) }
        let head = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path)
        group.addTask { try await transport.execute(TransferRequest(head: head)).head.status.code }
      }
      for try await status in group { #expect(status == 200) }
    }
    #expect(Set(server.requests.map(\.path)) == Set(paths))
  }
}
