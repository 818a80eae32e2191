// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHAR
@testable import LastroObservability

@Suite("Replay of HTTP archives", .timeLimit(.minutes(15)))
struct HARReplayTests {
  private static let binary = Data([0, 1, 2, 0xFF, 0xFE, 0x80])

  /// The outcome of a call, as its caller sees it.
  private struct Seen: Equatable {
    var value: Data?
    var error: String?
    var url: String?
    var attempts: [String]

    init(_ stack: TransportNetworkStack, _ resource: RawHTTPResource) async {
      var ledger = AttemptLedger()
      do throws(HTTPFetchError<any Error>) {
        let answer = try await stack.fetch(resource)
        value = answer.value
        url = answer.response.url
        ledger = answer.response.ledger
      } catch {
        self.error = "\(error) \(error.response.map { "\($0.headerFields)" } ?? "") \(error.body.map(Array.init) ?? [])"
        ledger = error.ledger
      }
      attempts = ledger.attempts.map {
        "\($0.number) \($0.outcome) \($0.status?.code ?? 0) \($0.error.map { "\($0)" } ?? "") \($0.requestSent) "
          + "\($0.delay) \($0.delaySource) \($0.reason) \($0.redirects) \($0.facts?.httpVersion ?? "") "
          + "\($0.facts?.connectionID ?? 0) \($0.facts?.trust?.rawValue ?? "")"
      }
    }
  }

  private static func resources() throws -> [RawHTTPResource] {
    let json = try RequestBody.json(["a": "1", "password": "hunter2", "z": "9"])
    return [
      try .test(url: "https://example.com/start?token=abc&page=1", fields: [.authorization: "Bearer abc"]),
      try .test(.put, url: "https://example.com/json", body: json),
      try .test(.post, url: "https://example.com/binary", body: .raw(binary)),
      try .test(url: "https://example.com/never"),
      try .test(.put, url: "https://example.com/stream", body: .stream(AsyncStream { $0.finish() })),
    ]
  }

  private static func script() -> ScriptedTransport {
    let facts = TransferFacts(
      httpVersion: "2", remoteAddress: "192.0.2.7", remotePort: 443, connectionID: 99, trust: .validated)
    return ScriptedTransport([
      .redirect(to: "/next?code=xyz"), .respond(status: 503, headers: [.retryAfter: "3"], body: "busy"),
      .fail(TransportError(stage: .connect, code: .connectFailed, message: "no", hint: "knock", engineCode: 7)),
      .reply(
        TransferResponse(
          head: HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]),
          body: ResponseBody(Data(#"{"name":"é"}"#.utf8)), facts: facts)),
      .respond(status: 200, headers: [.contentType: "application/json"], body: "[1,2]"),
      .respond(status: 200, body: binary),
      .fail(
        TransportError(
          stage: .response, code: .truncatedBody, message: "cut", requestSent: true,
          head: HTTPResponse(status: .partialContent))),
      .fail(.timeout, .idleTimeout, sent: true), .respond(status: 418, body: "short and stout"),
      .respond(status: 200, body: "taken"),
    ])
  }

  private static func stack(_ transport: any Transport, _ observers: [any FetchObserver] = []) -> TransportNetworkStack
  {
    var configuration = StackConfiguration()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    configuration.randomSource = .seeded(7)
    configuration.observers = observers
    configuration.interceptors = [
      Hooks(failed: { $0.response?.status.code == 418 ? .none : .retryAfter(.milliseconds(500)) })
    ]
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  @Test("A recorded session is replayed with the same results")
  func whatWasRecordedIsReplayed() async throws {
    let recorder = HARRecorder()
    let live = Self.stack(Self.script(), [recorder])
    var expected: [Seen] = []
    for resource in try Self.resources() { expected.append(await Seen(live, resource)) }
    #expect(expected.map { $0.attempts.count } == [3, 1, 1, 3, 1])

    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).har").path()
    try recorder.har().write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let transport = try HARReplayTransport(
      contentsOfFile: path, headers: [.authorization, .contentType])
    let replayed = Self.stack(transport)
    var seen: [Seen] = []
    for resource in try Self.resources() { seen.append(await Seen(replayed, resource)) }
    for index in expected.indices {
      var expected = expected[index]
      // The URL in the redirect was masked.
      expected.attempts = expected.attempts.map { $0.replacing("code=xyz", with: "code=***") }
      #expect(seen[index] == expected)
    }
    #expect(transport.remainingEntries == 0)
    #expect(transport.requests.count == 10)
  }

  @Test("A masked secret in a binary body matches any bytes, and other bytes match themselves")
  func maskedBinaryBodies() async throws {
    func body(_ secret: String, _ first: UInt8 = 0xFF) -> RequestBody {
      .raw(Data([first, 0, 0xFE, 0x0D, 0x0A]) + Data("password=\(secret)&a=\u{E9}&pin=\(secret)".utf8))
    }
    let url = "https://example.com/binary"
    let recorder = HARRecorder()
    let live = Self.stack(ScriptedTransport([.respond(status: 200, body: "ok")]), [recorder])
    _ = try await live.fetch(.test(.post, url: url, body: body("hunter2")))
    let data = try #require(recorder.archive().log.entries.first?.request.postData)
    #expect(data.encoding == "base64")
    for secret in ["hunter2", "another", ""] {
      let transport = HARReplayTransport(recorder.archive(), matching: .strict)
      #expect(try await text(transport, Self.request(url, .post, body: body(secret))) == "ok")
    }
    let transport = HARReplayTransport(recorder.archive(), matching: .strict)
    let error = await #expect(throws: TransportError.self) {
      try await transport.execute(Self.request(url, .post, body: body("hunter2", 0xFD)))
    }
    #expect(error?.code == .notRecorded && error?.message.hasSuffix("which differs in the body") == true)
  }

  private static func entry(
    _ url: String, method: String = "GET", status: Int = 200, text: String? = nil, post: String? = nil
  ) -> HAR.Entry {
    HAR.Entry(
      startedDateTime: "", time: 0,
      request: .init(
        method: method, url: url, headers: [.init(name: "x-a", value: "1")],
        postData: post.map { .init(mimeType: "", text: $0) }),
      response: .init(status: status, content: .init(text: text)), timings: .init())
  }

  private static func request(
    _ url: String, _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: RequestBody = .empty
  ) throws -> TransferRequest {
    let request = try ResourceRequest.test(method, url: url, fields: fields, body: body)
    return TransferRequest(head: request.head, body: request.body)
  }

  private func text(_ transport: HARReplayTransport, _ request: TransferRequest) async throws -> String {
    String(decoding: try #require(try await transport.execute(request).body.bytes), as: UTF8.self)
  }

  @Test("Loose matching accepts any order and repeats the last response")
  func looseMatchingTakesAnyOrderAndRepeatsTheLast() async throws {
    let transport = HARReplayTransport(
      HAR(entries: [
        Self.entry("https://a.example/1", text: "one"), Self.entry("https://a.example/2", text: "two"),
        Self.entry("https://a.example/1", text: "three"),
      ]), matching: .loose)
    var texts: [String] = []
    for path in ["2", "1", "1", "1", "2"] {
      texts.append(try await text(transport, try Self.request("https://a.example:443/\(path)")))
    }
    #expect(texts == ["two", "one", "three", "three", "two"])
    #expect(transport.remainingEntries == 0)
  }

  @Test(
    "Strict matching reports the difference",
    arguments: [
      ("https://a.example/p?q=1", "POST", "x", "1", "the method"),
      ("https://b.example/p?q=1", "PUT", "x", "1", "the host"),
      ("https://a.example/o?q=1", "PUT", "x", "1", "the path"),
      ("https://a.example/p?q=2", "PUT", "x", "1", "the query"),
      ("https://a.example/p?q=1", "PUT", "y", "1", "the body"),
      ("https://a.example/p?q=1", "PUT", "x", "2", "the header fields"),
    ])
  func strictMatchingSaysWhatDiffers(
    url: String, method: String, body: String, field: String, difference: String
  ) async throws {
    let name = try #require(HTTPField.Name("X-A"))
    let transport = HARReplayTransport(
      HAR(entries: [Self.entry("https://a.example/p?q=1", method: "PUT", post: "x")]), headers: [name])
    let request = try Self.request(url, try #require(.init(method)), fields: [name: field], body: .raw(body))
    let error = try await #require(throws: TransportError.self) { try await transport.execute(request) }
    #expect(error.code == .notRecorded)
    #expect(error.message.hasSuffix("the next is #1, PUT https://a.example/p?q=1, which differs in \(difference)"))
    let right = try Self.request("https://a.example/p?q=1", .put, fields: [name: "1"], body: .raw("x"))
    #expect(try await transport.execute(right).head.status == .ok)
    let last = try await #require(throws: TransportError.self) { try await transport.execute(right) }
    #expect(last.message.hasSuffix("all 1 were replayed"))
  }

  @Test("Loose matching names the nearest exchange if none matches")
  func looseMatchingNamesTheNearest() async throws {
    let transport = HARReplayTransport(
      HAR(entries: [Self.entry("https://a.example/x"), Self.entry("https://a.example/p?token=s")]), matching: .loose)
    let error = try await #require(throws: TransportError.self) {
      try await transport.execute(try Self.request("https://a.example/p?token=t"))
    }
    #expect(
      error.message == "the archive has no exchange like GET https://a.example/p?token=***; "
        + "the nearest is #2, GET https://a.example/p?token=***, which differs in the query")
  }

  @Test(
    "Masks are wildcards",
    arguments: [
      ("a***c", "abc", true), ("a***c", "ac", true), ("a***c", "ab", false), ("***", "", true),
      ("a***b***c", "a1b2c", true),
      ("a***b***c", "a1c2b", false), ("abc", "abd", false), ("ab***ba", "aba", false),
    ])
  func masksAreWildcards(recorded: String, text: String, matches: Bool) async throws {
    #expect(try await isReplayed(recorded, to: text) == matches)
  }

  @Test(
    "JSON is compared by value, including masks",
    arguments: [
      (#"{"a":1,"b":[true,null,"x"]}"#, #"{"b":[true,null,"x"],"a":1.0}"#, true),
      (#"{"a":"***","pin":***}"#, #"{"pin":1234,"a":"secret"}"#, true),
      (#"{"u":"https://***@x/","b":1}"#, #"{"b":1,"u":"https://me:pw@x/"}"#, true),
      (#"{"a":1}"#, #"{"a":1,"b":2}"#, false), (#"[1,2]"#, #"[2,1]"#, false),
    ])
  func jsonIsComparedByValue(recorded: String, text: String, matches: Bool) async throws {
    #expect(try await isReplayed(recorded, to: text) == matches)
  }

  /// Returns whether the exchange with the recorded body answers a request whose body is `text`.
  private func isReplayed(_ recorded: String, to text: String) async throws -> Bool {
    let transport = HARReplayTransport(
      HAR(entries: [Self.entry("https://a.example/", method: "PUT", post: recorded)]))
    let request = try Self.request("https://a.example/", .put, body: .raw(text))
    return (try? await transport.execute(request)) != nil
  }

  @Test("An incompletely recorded exchange is not replayed")
  func whatWasNotRecordedInFullIsNotReplayed() async throws {
    var cut = Self.entry("https://a.example/", text: "abc")
    cut.response.content.isTruncated = true
    var broken = Self.entry("https://a.example/", text: "%%%")
    broken.response.content.encoding = "base64"
    // Browsers leave the text out, for example of a body that they no longer have.
    var missing = Self.entry("https://a.example/")
    missing.response.content.size = 7
    let transport = HARReplayTransport(
      HAR(entries: [cut, broken, missing, Self.entry("https://a.example/", status: 0)]))
    for code in [FailureCode.incompleteRecording, .incompleteRecording, .incompleteRecording, .connectionLost] {
      let error = await #expect(throws: TransportError.self) {
        try await transport.execute(try Self.request("https://a.example/"))
      }
      #expect(error?.code == code)
    }
  }

  @Test("Missing files, and files that are not archives, are refused by name")
  func filesThatAreNoArchivesAreRefused() throws {
    let missing = #expect(throws: ConfigurationError.self) {
      try HARReplayTransport(contentsOfFile: "/nowhere/at.har")
    }
    #expect(missing?.message == "the HTTP archive /nowhere/at.har cannot be read")
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).har").path()
    try Data("{".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let malformed = #expect(throws: ConfigurationError.self) { try HARReplayTransport(contentsOfFile: path) }
    #expect(malformed?.message.hasPrefix("\(path): the data is not an HTTP archive") == true)
  }

  @Test("An archive that a browser wrote is read")
  func anArchiveOfABrowserIsRead() async throws {
    let har = try HAR(
      json: Data(
        #"""
        {"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537"},"pages":[],"entries":[{
        "_initiator":{"type":"other"},"_priority":"High","_resourceType":"document","cache":{"x":1},"connection":"12",
        "pageref":"page_1","request":{"method":"GET","url":"https://a.example/","httpVersion":"http/2.0","headers":[
        {"name":":authority","value":"a.example"}],"queryString":[],"cookies":[{"name":"a","value":"b",
        "expires":"2030-01-01T00:00:00.000Z","sameSite":"Lax"}],"headersSize":-1,"bodySize":0},"response":{"status":200,
        "statusText":"","httpVersion":"http/2.0","headers":[{"name":":status","value":"200"},
        {"name":"content-type","value":"text/html"}],"cookies":[],"content":{"size":2,"mimeType":"text/html",
        "compression":0,"text":"ok"},"redirectURL":"","headersSize":-1,"bodySize":-1,"_transferSize":5,"_error":null},
        "serverIPAddress":"192.0.2.1","startedDateTime":"2024-01-01T00:00:00.000Z","time":12.5,"timings":{
        "blocked":1.5,"dns":-1,"ssl":-1,"connect":-1,"send":0.1,"wait":10,"receive":1,"_blocked_queueing":1}}]}}
        """#.utf8))
    let answer = try await HARReplayTransport(har).execute(try Self.request("https://a.example/"))
    #expect(answer.body.bytes == Data("ok".utf8))
    #expect(answer.head.headerFields.count == 1)
    #expect(answer.facts.httpVersion == "2")
  }
}
