// SPDX-License-Identifier: Apache-2.0

import Foundation
import PeerSupport
import TestSupport
import Testing

@Suite("lastro batch", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct BatchTests {
  private func nginx(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }

  private func batch(_ lines: [String], _ flags: [String] = []) async throws -> [[String: Any]] {
    let result = try await Lastro.run(["batch"] + flags, input: lines.joined(separator: "\n") + "\n")
    #expect(result.status == 0, "\(result.errors)")
    return try result.jsonLines()
  }

  private func line(_ object: [String: Any]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
  }

  @Test("A thousand lines, fifty at a time, return every id once over few connections")
  func thousand() async throws {
    let url = try nginx("/connection")
    let lines = try (0..<1000).map { try line(["id": $0, "url": url, "include_body": true]) }
    let results = try await batch(lines, ["--concurrency", "50"])
    #expect(results.count == 1000)
    #expect(Set(results.compactMap { $0["id"] as? Int }) == Set(0..<1000))
    #expect(results.allSatisfy { $0.status == 200 && $0["error"] is NSNull })
    let connections = results.compactMap { ($0["body_base64"] as? String).flatMap { Data(base64Encoded: $0) } }
      .map { String(decoding: $0, as: UTF8.self).split(separator: " ")[0] }
    #expect(Set(connections).count <= 50)
  }

  @Test("Ids of every kind are returned, and a result without an id has none")
  func ids() async throws {
    let url = try nginx("/json")
    let results = try await batch(
      [#"{"id":"a","url":"\#(url)"}"#, #"{"id":7,"url":"\#(url)"}"#, #"{"id":null,"url":"\#(url)"}"#],
      ["--concurrency", "1"])
    #expect(results[0]["id"] as? String == "a")
    #expect(results[1]["id"] as? Int == 7)
    #expect(results.map(\.status) == [200, 200, 200])
  }

  @Test("Results are printed as each finishes, not in the order of the lines")
  func order() async throws {
    let results = try await batch(
      [
        line(["id": "slow", "url": nginx("/slow/1m"), "timeout": 10]),
        line(["id": "fast", "url": nginx("/json")]),
      ], ["--concurrency", "2"])
    #expect(results.map { $0["id"] as? String } == ["fast", "slow"])
    #expect(results[1].failureWords == "timeout/total_timeout")
  }

  @Test("An invalid line gets an error result, with its id if it has one, and the others continue")
  func misunderstood() async throws {
    let url = try nginx("/json")
    let lines = [
      "nonsense", "[]", #"{"id":1}"#, #"{"id":2,"url":"\#(url)","unknown":1}"#,
      #"{"id":3,"url":"\#(url)","max_body":"many"}"#, #"{"id":4,"url":"\#(url)","headers":[["a"]]}"#,
      #"{"id":5,"url":"\#(url)","body":"a","body_base64":"YQ=="}"#, #"{"id":6,"url":"\#(url)","backoff":"x"}"#,
      "", #"{"id":7,"url":"\#(url)"}"#,
    ]
    let results = try await batch(lines, ["--concurrency", "1"])
    #expect(results.count == 9)
    for result in results.dropLast() { #expect(result.failureWords == "request/invalid_batch_line") }
    #expect(results.dropFirst(2).map { $0["id"] as? Int } == Array(1...7))
    #expect(results.last?.status == 200)
  }

  @Test("An option of a line affects that request only")
  func options() async throws {
    let peer = try Peers.nginx
    let secure = "https://localhost:\(peer.ports.tls)/json"
    let authority = peer.certificates.authority
    let results = try await batch(
      [
        line(["id": 0, "url": secure, "cacert": authority]),
        line(["id": 1, "url": secure]),
        line(["id": 2, "url": secure, "cacert": authority, "http_version": "1.1"]),
        line(["id": 3, "url": nginx("/files/1k"), "max_body": 10]),
        line(["id": 4, "url": nginx("/files/1k")]),
        line(["id": 5, "url": nginx("/status/302"), "max_redirects": 0]),
        line(["id": 6, "url": nginx("/status/302")]),
        line(["id": 7, "url": "http://s.test/json", "unix_socket": peer.socketPath]),
        line([
          "id": 8, "url": "http://s.test:\(peer.ports.plain)/json", "resolve": "s.test:\(peer.ports.plain):127.0.0.1",
        ]),
        line(["id": 9, "url": "http://s.test:\(peer.ports.plain)/json"]),
        line(["id": 10, "url": nginx("/json"), "proxy": "http://127.0.0.1:\(Loopback.freePort())"]),
        line(["id": 11, "url": nginx("/status/503"), "retries": 1, "backoff": "constant:0"]),
        line(["id": 12, "url": nginx("/files/11m")]),
      ], ["--concurrency", "1"])
    let words = results.map { $0.failureWords ?? "\($0["http_version"] ?? "") \($0.status ?? 0)" }
    #expect(
      words == [
        "2 200", "tls/untrusted_certificate", "1.1 200", "limit/body_too_large", "1.1 200", "http/unexpected_status",
        "1.1 200", "1.1 200", "1.1 200", "resolve/host_not_found", "proxy/proxy_connect_failed",
        "http/unexpected_status", "limit/body_too_large",
      ])
    #expect(results[11].attempts.count == 2)
  }

  @Test("method, headers, body and body_base64 are sent, and include_body returns the response body")
  func bodies() async throws {
    let url = "http://127.0.0.1:\(try Peers.python.port)/echo"
    let results = try await batch(
      [
        line([
          "url": url, "method": "PUT", "headers": [["X-A", "1"], ["X-A", "2"]], "body": "héllo", "include_body": true,
        ]),
        line(["url": url, "body_base64": "AAH/", "include_body": true]),
        line(["url": url]),
      ], ["--concurrency", "1"])
    let echoes = try results.dropLast().map { result -> [String: Any] in
      let data = try #require((result["body_base64"] as? String).flatMap { Data(base64Encoded: $0) })
      #expect(result["body_bytes"] as? Int == data.count)
      return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
    #expect(echoes[0]["method"] as? String == "PUT")
    #expect(echoes[0]["body_base64"] as? String == Data("héllo".utf8).base64EncodedString())
    #expect((echoes[0]["headers"] as? [[String]])?.filter { $0[0] == "X-A" }.map { $0[1] } == ["1", "2"])
    #expect(echoes[1]["method"] as? String == "POST")
    #expect(echoes[1]["body_base64"] as? String == "AAH/")
    #expect(results[2]["body_base64"] == nil)
  }

  @Test("Empty input gives empty output")
  func nothing() async throws {
    let result = try await Lastro.run(["batch"])
    #expect(result.status == 0)
    #expect(result.output.isEmpty)
    #expect(try await Lastro.run(["batch", "--concurrency", "0"]).status == 64)
  }
}
