// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("lastro explain", .timeLimit(.minutes(15)))
struct ExplainTests {
  @Test("The page shows URL, limits, proxy and verdicts, and nothing is sent")
  func page() async throws {
    let result = try await Lastro.run([
      "explain", "http://127.0.0.1:9/a?token=hush", "--retries", "2", "--timeout", "7", "--proxy",
      "http://user:hush@127.0.0.1:9",
    ])
    #expect(result.status == 0)
    for part in [
      "GET http://127.0.0.1:9/a?token=***", "total: 7 s", "proxy: url(http://***@127.0.0.1:9",
      "trust: none: plain http",
      "no connection", "retry: ",
    ] { #expect(result.text.contains(part), "\(part)") }
    #expect(!result.text.contains("hush"))
  }

  @Test("Reasons name flags of the command line, and no properties in Swift")
  func words() async throws {
    let result = try await Lastro.run(["explain", "http://127.0.0.1:9/a", "-X", "POST", "--retries", "2"])
    #expect(result.text.contains("only with an Idempotency-Key, or with --retry-all"), "\(result.text)")
    #expect(!result.text.contains(".idempotent"))
  }

  @Test("--report is one object, and a request that would be refused has the exit status of a refusal")
  func json() async throws {
    let result = try await Lastro.run(["explain", "https://localhost/", "--report"])
    let object = try result.json()
    #expect(object["request"] as? String == "GET https://localhost/")
    #expect((object["retries"] as? [[String: Any]])?.isEmpty == false)
    #expect(try await Lastro.run(["explain", "ftp://localhost/"]).status == 3)
  }
}
