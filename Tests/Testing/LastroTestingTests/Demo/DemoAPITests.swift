// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@Suite("Demo API", .timeLimit(.minutes(15)))
struct DemoAPITests {
  let api: DemoAPI

  init() throws { api = try DemoAPI.start() }

  private func send(_ line: String, _ headers: String = "", body: String = "") throws -> String {
    let port = try #require(api.baseURL.split(separator: ":").last.flatMap { UInt16($0) })
    let client = try LoopbackClient(to: .port(port), trusting: api.caPEM)
    let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
    try client.send(
      "\(line) HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\(headers)\(length)\r\n\(body)")
    return client.receiveAll().text
  }

  @Test("The API serves users and repositories")
  func resources() throws {
    let user = try send("GET /users/octocat")
    #expect(user.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"))
    #expect(user.hasSuffix(#"{"id":583231,"login":"octocat","name":"The Octocat","public_repos":0}"#))
    let repository = try send("GET /repos/apple/swift")
    #expect(repository.contains(#""full_name":"apple/swift""#))
    #expect(repository.contains(#""owner":{"id":10639145,"login":"apple"}"#))
    let missing = try send("GET /users/nobody")
    #expect(missing.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    #expect(missing.hasSuffix(#"{"documentation_url":"https://docs.example.com/rest","message":"Not Found"}"#))
    #expect(api.requests.map(\.path) == ["/users/octocat", "/repos/apple/swift", "/users/nobody"])
  }

  @Test("Pages are linked until the last one")
  func pages() throws {
    let first = try send("GET /users/apple/repos?per_page=3")
    let base = "<\(api.baseURL)/users/apple/repos?page="
    #expect(first.contains("Link: \(base)2&per_page=3>; rel=\"next\", \(base)3&per_page=3>; rel=\"last\"\r\n"))
    #expect(first.split(separator: "full_name").count == 4)
    let last = try send("GET /users/apple/repos?page=3&per_page=3")
    #expect(!last.contains("Link:"))
    #expect(last.split(separator: "full_name").count == 2)
    #expect(try send("GET /users/apple/repos?page=\(Int.max)&per_page=100").hasSuffix("\r\n\r\n[]"))
    #expect(try send("GET /users/apple/repos?page=0").contains(#""errors":[{"code":"invalid","field":"page"}]"#))
    #expect(try send("GET /users/apple/repos?per_page=101").hasPrefix("HTTP/1.1 422 Unprocessable Content\r\n"))
  }

  @Test("An issue is created, or refused with the name of the field")
  func issues() throws {
    let path = "POST /repos/apple/swift/issues"
    let made = try send(path, body: #"{"title":"It crashes","labels":["bug"]}"#)
    #expect(made.hasPrefix("HTTP/1.1 201 Created\r\n"))
    #expect(made.hasSuffix(#"{"labels":["bug"],"number":1,"state":"open","title":"It crashes"}"#))
    #expect(try send(path, body: "{}").contains(#"[{"code":"missing_field","field":"title"}]"#))
    #expect(try send(path, body: "{").hasPrefix("HTTP/1.1 400 "))
    #expect(try send("POST /repos/apple/none/issues", body: "{}").hasPrefix("HTTP/1.1 404 "))
    #expect(try send("PATCH /repos/apple/swift/issues/1", body: "state=closed").hasPrefix("HTTP/1.1 204 "))
    #expect(try send("PATCH /repos/apple/swift/issues/+1", body: "state=closed").hasPrefix("HTTP/1.1 404 "))
    #expect(try send("PATCH /repos/apple/swift/issues/2", body: "state=closed").hasPrefix("HTTP/1.1 404 "))
    #expect(try send("PATCH /repos/apple/swift/issues/x", body: "state=closed").hasPrefix("HTTP/1.1 404 "))
  }

  @Test(
    "A number with a sign is invalid",
    arguments: [
      "GET /users/apple/repos?page=+1", "GET /users/apple/repos?per_page=+3",
      "GET /repos/apple/swift/archive?bytes=+1", "GET /limited/a?retry_after=-0", "POST /payments?failures=+0",
    ])
  func signs(line: String) throws {
    #expect(try send(line).hasPrefix("HTTP/1.1 422 "))
    #expect(try send("GET /flaky/a?failures=+0").hasPrefix("HTTP/1.1 503 "))
  }

  @Test("The API can impersonate another server: on a Unix socket, with that name in its certificate")
  func standsForAnother() throws {
    let path = "/tmp/lastro-demo-\(UInt64.random(in: 0...UInt64.max)).socket"
    let other = try DemoAPI.start(unixSocketPath: path, hosts: ["api.example"])
    defer { other.stop() }
    let client = try LoopbackClient(to: .unixSocket(path: path), host: "api.example", trusting: other.caPEM)
    try client.send("GET /users/octocat HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n")
    #expect(client.receiveAll().text.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(other.baseURL == "https://localhost")
  }

  @Test("flaky fails the given number of times for each key, private requires its token, and slow never responds")
  func onDemand() async throws {
    let statuses = try ["a", "a", "b", "a"].map { key in
      try send("GET /flaky/\(key)?failures=2").split(separator: " ")[1]
    }
    #expect(statuses == ["503", "503", "503", "200"])
    #expect(try send("GET /private").hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
    #expect(try send("GET /private", "Authorization: Bearer \(api.token)\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
    let api = self.api
    let port = try #require(api.baseURL.split(separator: ":").last.flatMap { UInt16($0) })
    let client = try LoopbackClient(to: .port(port), trusting: api.caPEM)
    try client.send("GET /slow HTTP/1.1\r\n\r\n")
    try await api.waitForRequests(count: 7)
    api.stop()
    #expect(client.receiveAll().text == "")
  }
}
