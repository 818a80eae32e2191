// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro mock", .timeLimit(.minutes(15)))
struct MockTests {
  private let directory: PeerDirectory

  init() throws { directory = try PeerDirectory() }

  /// Returns the JSON of an archive with exchanges.
  private static func archive(_ entries: String...) -> String {
    #"{"log":{"version":"1.2","creator":{"name":"test","version":"1"},"entries":["# + entries.joined(separator: ",")
      + "]}}"
  }

  private static func entry(
    _ method: String, _ url: String, _ body: String, status: Int = 200, more: String = "", location: String = "/"
  ) -> String {
    #"{"startedDateTime":"2026-01-01T00:00:00Z","time":1,"cache":{},"timings":{"send":0,"wait":1,"receive":0},"#
      + #""request":{"method":"\#(method)","url":"\#(url)","httpVersion":"HTTP/2","cookies":[],"queryString":[],"#
      + #""headers":[],"headersSize":-1,"bodySize":0},"response":{"status":\#(status),"statusText":"","#
      + #""httpVersion":"HTTP/2","cookies":[],"redirectURL":"","headersSize":-1,"bodySize":1,"#
      + #""headers":[{"name":":status","value":"200"},{"name":"content-encoding","value":"br"},"#
      + #"{"name":"x-kept","value":"yes"},{"name":"location","value":"\#(location)"},{"name":"x-split","value":"a\r\nx-injected: b"}],"#
      + #""content":{"size":1,"mimeType":"text/plain","text":"\#(body)"\#(more)}}}"#
  }

  @Test("curl gets the recorded response of its method and path, with the query that is most like its own")
  func archive() async throws {
    let file = try directory.write(
      Self.archive(
        Self.entry("GET", "https://api.example.org/items?page=1&size=5", "first"),
        Self.entry("GET", "https://api.example.org/items?page=2&size=5", "second"),
        Self.entry("GET", "https://api.example.org/again", "one"),
        Self.entry("GET", "https://api.example.org/again", "two"),
        Self.entry("POST", "https://api.example.org/items", "AAEC", status: 201, more: #","encoding":"base64""#),
        Self.entry("GET", "https://api.example.org/failed", "", status: 0),
        Self.entry("GET", "https://api.example.org/cut", "half", more: #","_truncated":true"#)), to: "test.har")
    let neighbor = try directory.write("mine", to: "test.har.new")
    let server = try await RunningServer(["mock", file])
    #expect(try String(contentsOfFile: neighbor, encoding: .utf8) == "mine")
    func body(_ target: String) async throws -> String { try await server.curl(server.url + target).text }
    #expect(try await body("/items?size=5&page=2") == "second")
    #expect(try await body("/items?page=1") == "first")
    #expect(try await [body("/again"), body("/again"), body("/again")] == ["one", "two", "two"])
    let created = try await server.curl("-i", "-d", "name=a", server.url + "/items")
    #expect(created.output.suffix(3) == Data([0, 1, 2]))
    let head = String(decoding: created.output, as: UTF8.self).lowercased()
    #expect(head.hasPrefix("http/1.1 201") && head.contains("x-kept: yes"))
    #expect(!head.contains("content-encoding") && !head.contains("x-injected") && !head.contains(":status"))
    let heads = try await server.curl("-I", server.url + "/items?page=2&size=5")
    #expect(heads.text.contains("Content-Length: 6"))
    #expect(try await body("/failed").contains("no exchange was recorded for GET /failed"))
    #expect(try await body("/cut").contains("was not recorded"))
    #expect(try await server.stop() == 0)
  }

  @Test("A recorded redirect leads to this machine if its target was recorded, and elsewhere unchanged")
  func redirects() async throws {
    let recorded = [
      "https://api.example.org/new?page=1#top", "//login.example.org/", "/new",
      "https://api.example.org//evil.example/",
      "https://other.example/new",
    ]
    let entries = recorded.enumerated().map {
      Self.entry("GET", "https://api.example.org/\($0)", "", status: 302, location: $1)
    }
    let login = Self.entry("GET", "https://login.example.org/", "login")
    let file = try directory.write(
      #"{"log":{"version":"1.2","creator":{"name":"test","version":"1"},"entries":["#
        + (entries + [login]).joined(separator: ",") + "]}}", to: "test.har")
    let server = try await RunningServer(["mock", file])
    var seen: [String] = []
    for number in recorded.indices { seen.append(try await server.location("/\(number)")) }
    #expect(seen == ["/new?page=1#top", "/", "/new", "/.//evil.example/", "https://other.example/new"])
    #expect(try await server.stop() == 0)
  }

  @Test("Requests of browsers for pages of other hosts are refused", arguments: Crossing.allCases)
  func crossing(_ crossing: Crossing) async throws {
    let file = try directory.write(Self.archive(Self.entry("POST", "https://a.example/", "fine")), to: "test.har")
    let server = try await RunningServer(["mock", file])
    let text = try crossing.send(to: server)
    #expect(text.hasPrefix(crossing.isAllowed ? "HTTP/1.1 200 " : "HTTP/1.1 403 "), "\(text)")
    #expect(try await server.stop() == 0)
  }

  private static let document = #"""
    {"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"servers":[{"url":"https://shop.example/v1"}],
     "paths":{
      "/orders/{id}":{
       "get":{"responses":{"200":{"headers":{"X-Limit":{"schema":{"type":"integer"},"example":7}},
        "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Order"}}}},"404":{}}},
       "delete":{"responses":{"204":{"description":"gone"}}}},
      "/orders/latest":{"get":{"responses":{"default":{"content":{"application/json":{
       "examples":{"b":{"value":{"id":2}},"a":{"value":{"id":1}}}}}}}}},
      "/reports/{name}.txt":{"get":{"responses":{"2XX":{"content":{"text/plain":{"example":"report"}}}}}},
      "/encoded":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{
       "$ref":"#/paths/~1orders~1%7Bid%7D/get/responses/200/content/application~1json/schema"}}}}}}},
      "/index":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{
       "$ref":"#/components/schemas/Line/allOf/0"}}}}}}},
      "/described":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"allOf":[
       {"description":"A line"},{"$ref":"#/components/schemas/Line"},{"required":["sku"]}]}}}}}}},
      "/wide":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Wide"}}}}}}},
      "/huge":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Huge"}}}}}}},
      "/loop":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}}}}},
     "components":{"schemas":{
      "Order":{"type":"object","properties":{"id":{"type":"string","format":"uuid"},"total":{"type":"number","minimum":1},
       "state":{"enum":["open","paid"]},"lines":{"type":"array","items":{"$ref":"#/components/schemas/Line"}},
       "note":{"type":["string","null"]},"parent":{"$ref":"#/components/schemas/Order"}}},
      "Line":{"allOf":[{"type":"object","properties":{"sku":{"default":"A-1"}}},
       {"type":"object","properties":{"gift":{"type":"boolean"}}}]},
      "Huge":{"type":"array","minItems":100000000,"items":{"$ref":"#/components/schemas/Huge"}},
      "Wide":{"type":"array","minItems":10,"items":{"type":"array","minItems":10,"items":{"type":"array","minItems":10,
       "items":{"default":"LONG"}}}},
      "A":{"$ref":"#/components/schemas/A"}}}}
    """#.replacing("LONG", with: String(repeating: "x", count: 10_000))

  @Test("Python gets examples and values of the schemas of an OpenAPI document")
  func description() async throws {
    let file = try directory.write(Self.document, to: "openapi.json")
    let server = try await RunningServer(["mock", file])
    let program = """
      import json, sys, urllib.request, urllib.error
      def get(path, method="GET"):
        try:
          with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, method=method), timeout=60) as answer:
            return answer.status, answer.headers.get("X-Limit"), answer.read().decode()
        except urllib.error.HTTPError as error:
          return error.code, error.headers.get("Allow"), ""
      status, limit, text = get("/v1/orders/7")
      order = json.loads(text)
      assert (status, limit) == (200, "7"), (status, limit)
      assert order["id"] == "00000000-0000-4000-8000-000000000000" and order["total"] == 1, order
      assert order["state"] == "open" and order["note"] == "string", order
      assert order["lines"] == [{"sku": "A-1", "gift": True}], order
      assert order["parent"]["parent"]["state"] == "open", order
      assert get("/orders/7") == (200, "7", text)
      assert get("/orders/latest") == (200, None, '{"id":1}'), get("/orders/latest")
      assert get("/orders/7", "DELETE") == (204, None, "")
      assert get("/reports/june.txt")[2] == "report"
      assert get("/orders/7", "POST") == (405, "GET, DELETE", ""), get("/orders/7", "POST")
      assert get("/nowhere")[0] == 404
      assert len(get("/huge")[2]) < 100000
      assert get("/loop")[2] == "null"
      assert json.loads(get("/encoded")[2]) == order, get("/encoded")
      assert json.loads(get("/index")[2]) == {"sku": "A-1"}, get("/index")
      assert json.loads(get("/described")[2]) == {"sku": "A-1", "gift": True}, get("/described")
      assert 1 << 20 < len(get("/wide")[2]) < 1100000, len(get("/wide")[2])
      print("fine")
      """
    let result = try await Lastro.run(["-c", program, server.url], program: "/usr/bin/python3")
    #expect(result.text == "fine\n", "\(result.errors)")
    #expect(try await server.stop(SIGTERM) == 0)
  }

  @Test("Faults apply by method, path and number, in the way the rules say")
  func faults() async throws {
    let file = try directory.write(
      Self.archive(Self.entry("GET", "https://a.example/orders/1", "0123456789")), to: "test.har")
    let rules = [
      "GET /orders/*: 503 every 3", "PUT *: reset", "* /orders/1: delay 1ms", "HEAD *: 418 first 1",
      "GET /orders/1: cut 4 0%", "POST /orders/1: cut 0",
    ]
    let server = try await RunningServer(["mock", file] + rules.flatMap { ["--fault", $0] })
    func status(_ flags: String...) async throws -> String {
      try await Lastro.run(
        ["-sS", "-o", "/dev/null", "-w", "%{http_code}/%{exitcode}"] + flags + [server.url + "/orders/1"],
        program: "/usr/bin/curl"
      ).text
    }
    var seen: [String] = []
    for _ in 1...6 { seen.append(try await status()) }
    #expect(seen == ["200/0", "200/0", "503/0", "200/0", "200/0", "503/0"])
    #expect(try await status("-X", "PUT").hasPrefix("000/"))
    #expect(try await [status("-I"), status("-I")] == ["418/0", "200/0"])
    #expect(try await server.stop() == 0)
    let cut = try await RunningServer(["mock", file, "--fault", "* *: cut 4"])
    let part = try await cut.curl(cut.url + "/orders/1")
    // curl's status 18: a part of the body is missing.
    #expect(part.status == 18 && part.text == "0123")
    let client = try LoopbackClient(to: .port(cut.port))
    try client.send("HEAD /orders/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    let head = client.receiveAll().text
    #expect(head.contains("Content-Length: 10\r\n") && head.hasSuffix("\r\n\r\n"), "\(head)")
    #expect(try await cut.stop() == 0)
  }

  @Test("A fault by percentage with one seed is the same in every run")
  func seeded() async throws {
    let file = try directory.write(Self.archive(Self.entry("GET", "https://a.example/", "1")), to: "test.har")
    var runs: [String] = []
    for _ in 1...2 {
      let server = try await RunningServer(["mock", file, "--seed", "7", "--fault", "* *: 500 50%"])
      let urls = [String](repeating: server.url + "/", count: 20)
      runs.append(
        try await Lastro.run(
          ["-sS", "-o", "/dev/null", "-w", "%{http_code} "] + urls.flatMap { [$0, "-o", "/dev/null"] }.dropLast(2),
          program: "/usr/bin/curl"
        ).text)
      #expect(try await server.stop() == 0)
    }
    #expect(runs[0] == runs[1] && runs[0].contains("500") && runs[0].contains("200"))
  }

  @Test("Hostile clients are refused within limits, and others are served meanwhile")
  func hostile() async throws {
    let file = try directory.write(Self.archive(Self.entry("GET", "https://a.example/", "fine")), to: "test.har")
    let server = try await RunningServer(["mock", file])
    let requests = [
      "POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7FFFFFFFFFFFFFFF\r\n",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET\r\n\r\n",
      "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 70_000),
      "GET / HTTP/1.1\r\n" + String(repeating: "X: a\r\n", count: 20_000),
    ]
    var answers: [String] = []
    for request in requests {
      let client = try LoopbackClient(to: .port(server.port))
      try? client.send(request)
      answers.append(client.receiveAll().text)
    }
    #expect(answers[0].hasPrefix("HTTP/1.1 413 ") && answers[1].hasPrefix("HTTP/1.1 413 "))
    #expect(answers[2].hasPrefix("HTTP/1.1 400 ") && answers[3].hasPrefix("HTTP/1.1 400 "))
    #expect(!answers[4].contains("200") && !answers[5].contains("200"))
    // 63 connections that send half a head leave one for others; the next ones are closed.
    var slow: [LoopbackClient] = []
    for _ in 1...63 {
      let client = try LoopbackClient(to: .port(server.port))
      try client.send("GET / HTTP/1.1\r\nX")
      slow.append(client)
    }
    #expect(await eventually { (try? await server.curl(server.url + "/").text) == "fine" })
    slow = []
    #expect(await eventually { (try? await server.curl(server.url + "/").text) == "fine" })
    #expect(try await server.stop() == 0)
  }

  @Test(
    "A file that cannot be served is refused with a hint",
    arguments: [
      ("openapi: 3.0.0\npaths: {}\n", "convert YAML"), ("{\"openapi\":", "not valid JSON"),
      ("{\"swagger\":\"2.0\"}", "OpenAPI 3"), ("{\"log\":{}}", "HAR 1.2"), ("[]", "OpenAPI 3"),
    ])
  func refused(text: String, words: String) async throws {
    let file = try directory.write(text, to: "file")
    let result = try await Lastro.run(["mock", file])
    #expect(result.status == 1 && result.errors.contains(words) && result.errors.contains(file), "\(result.errors)")
  }

  @Test("A missing file and a port in use have exit status 1, and a rule that cannot be parsed has 64")
  func otherRefusals() async throws {
    let missing = try await Lastro.run(["mock", "/nowhere/file.har"])
    #expect(missing.status == 1 && missing.errors.contains("does not exist"))
    let other = try LoopbackServer.http { _ in .text("") }
    let file = try directory.write(Self.archive(), to: "empty.har")
    let taken = try await Lastro.run(["mock", file, "--port", "\(other.port)"])
    #expect(taken.status == 1 && taken.errors.contains("cannot listen on port \(other.port) of 127.0.0.1"))
    for rule in [
      "", "GET /", "GET /: soon", "GET orders: 503", "GET /: 503 every 0", "GET /: delay", "GET /: 503 5", "GET /: 99",
    ] {
      let result = try await Lastro.run(["mock", file, "--fault", rule])
      #expect(result.status == 64 && result.errors.contains("write it like"), "\(rule) \(result.errors)")
    }
  }
}
