// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import Testing

@Suite("lastro fetch: truncated bodies", .timeLimit(.minutes(15)))
struct FetchCutTests {
  private static func server() throws -> LoopbackServer {
    try .http { request in
      let body = Array(repeating: UInt8(ascii: "x"), count: request.path == "/long" ? 2 << 20 : 5)
      return LoopbackResponse(status: 404, body: body, fault: request.path == "/cut" ? .truncateBody(after: 3) : nil)
    }
  }

  @Test(
    "Standard error reports the truncation",
    arguments: [("/long", 1 << 20, "limit/body_too_large"), ("/cut", 3, "response/truncated_body"), ("/", 5, nil)]
      as [(String, Int, String?)])
  func told(path: String, count: Int, cut: String?) async throws {
    let server = try Self.server()
    let result = try await Lastro.run(["fetch", server.baseURL + path])
    #expect(result.status == 22 && result.output.count == count)
    #expect(result.errors.contains("incomplete body") == (cut != nil))
    #expect(cut.map(result.errors.contains) != false, "\(result.errors)")
  }

  @Test("--report has the reason in the attempt")
  func json() async throws {
    let server = try Self.server()
    let json = try await Lastro.run(["fetch", "--report", server.baseURL + "/cut"]).json()
    let cut = try #require(json.attempts.first?["body_cut"] as? [String: Any])
    #expect(cut["stage"] as? String == "response" && cut["code"] as? String == "truncated_body")
    #expect(json.failureWords == "http/unexpected_status" && json["body_bytes"] as? Int == 3)
  }
}
