// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroCurl
import LastroEveryday
import LastroHAR
import LastroSupport
import PeerSupport
import TestSupport
import Testing

@testable import Lastro
@testable import LastroTesting

@Suite("Cassettes", .timeLimit(.minutes(15)))
struct CassetteTests {
  private let folder: PeerDirectory

  init() throws { folder = try PeerDirectory() }

  private var path: String { folder.file("tape/test.har") }

  /// Opens the cassette of the test for the exchanges of a script.
  private func recording(
    _ steps: ScriptedTransport.Step..., masking names: [String] = [], time: TimeSource = .continuous
  ) throws -> TransportNetworkStack {
    let script = ScriptedTransport(steps)
    let cassette = try Cassette(path, mode: .recordWhenMissing, masking: names, time: time) { script }
    #expect(cassette.isRecording && cassette.ageInDays == nil)
    return TransportNetworkStack(transport: cassette)
  }

  /// Opens the cassette of the test for a replay, which must not create an engine.
  private func replay(ignoresQueryOrder: Bool = false, comparesBodies: Bool = true) throws -> TransportNetworkStack {
    let cassette = try Cassette(
      path, mode: .replayOnly, ignoresQueryOrder: ignoresQueryOrder, comparesBodies: comparesBodies
    ) { () throws(ConfigurationError) -> any Transport in throw ConfigurationError("an engine was made") }
    #expect(!cassette.isRecording)
    return TransportNetworkStack(transport: cassette)
  }

  private func failure(
    _ stack: TransportNetworkStack, _ resource: RawHTTPResource
  ) async -> HTTPFetchError<any Error>? {
    do throws(HTTPFetchError<any Error>) {
      _ = try await stack.fetch(resource)
      return nil
    } catch {
      return error
    }
  }

  private func archive() throws -> HAR { try HAR(json: Data(contentsOf: URL(filePath: path))) }

  @Test("The first run records a server's responses, and the second run sends nothing")
  func recordsAndReplays() async throws {
    let server = try LoopbackServer.http { request in
      request.method == "POST"
        ? .json(#"{"access_token":"issued-secret","user":"octocat"}"#)
        : LoopbackResponse(headers: ["Set-Cookie": "sid=cookie-secret"], body: [0, 255, 1])
    }
    var seen: [[Data]] = []
    for run in 1...2 {
      let cassette = try Cassette(path, mode: .recordWhenMissing) { () throws(ConfigurationError) in
        var engine = CurlConfiguration()
        engine.connection.proxy = .none
        return try CurlNetworkStack(engine).engine
      }
      #expect(cassette.isRecording == (run == 1) && cassette.ageInDays == (run == 1 ? nil : 0))
      let stack = TransportNetworkStack(transport: cassette)
      let form = RequestBody.form(["grant_type": "password", "password": "typed-secret"])
      seen.append([
        try await stack.fetch(.test(.post, url: server.baseURL + "/token", body: form)).value,
        try await stack.fetch(
          .test(url: server.baseURL + "/me?api_key=key-secret", fields: [.authorization: "Bearer header-secret"])
        ).value,
      ])
      #expect(server.requests.count == 2)
    }
    #expect(seen[0][1] == Data([0, 255, 1]) && seen[1][1] == seen[0][1])
    #expect(seen[1][0] == Data(#"{"access_token":"***","user":"octocat"}"#.utf8))
    let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
    #expect(!text.contains("-secret") && text.contains("octocat"))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("tape")) == ["test.har"])
  }

  @Test("Equal requests get their responses in the recorded order, each once")
  func inOrder() async throws {
    let live = try recording(
      .respond(status: 200, body: "1"), .respond(status: 200, body: "2"), .respond(status: 404, body: "other"))
    for path in ["/a", "/a", "/b"] { _ = try? await live.fetch(.test(url: "https://example.com" + path)) }
    let stack = try replay()
    let other = await failure(stack, try .test(url: "https://example.com/b"))
    #expect(other?.response?.status == .notFound)
    for expected in ["1", "2"] {
      let value = try await stack.fetch(.test(url: "https://example.com/a")).value
      #expect(value == Data(expected.utf8))
    }
    let third = await failure(stack, try .test(url: "https://example.com/a"))
    #expect(third?.code == .notRecorded && third?.stage == .request)
    #expect(third?.description.contains("GET https://example.com/a, which was replayed already") == true)
  }

  @Test("A request that was not recorded fails with the nearest recorded one and the remedy")
  func notRecorded() async throws {
    let live = try recording(.respond(status: 200, body: "1"), .respond(status: 200, body: "2"))
    _ = try await live.fetch(.test(url: "https://example.com/users/7?page=1"))
    _ = try await live.fetch(.test(.put, url: "https://example.com/users/7", body: "new"))
    let error = await failure(try replay(), try .test(url: "https://example.com/users/7?page=2&token=hidden"))
    #expect(error?.code == .notRecorded && error?.transportError?.requestSent == false)
    let text = try #require(error?.description)
    #expect(text.contains("no exchange like GET https://example.com/users/7?page=2&token=***"), "\(text)")
    #expect(text.contains("the nearest is #1, GET https://example.com/users/7?page=1, which differs in the query"))
    #expect(text.contains("delete the file to record it again"))
    #expect(!text.contains("hidden"))
  }

  @Test("The order of a query and the body of a request are compared by choice", arguments: [false, true])
  func choices(isLenient: Bool) async throws {
    let live = try recording(.respond(status: 200, body: "1"))
    _ = try await live.fetch(.test(.post, url: "https://example.com/?a=1&b=2&a=3", body: "recorded"))
    func stack() throws -> TransportNetworkStack {
      try replay(ignoresQueryOrder: isLenient, comparesBodies: !isLenient)
    }
    let reordered = try RawHTTPResource.test(.post, url: "https://example.com/?b=2&a=1&a=3", body: "recorded")
    let expected: FailureCode? = isLenient ? nil : .notRecorded
    var seen = await failure(try stack(), reordered)
    #expect(seen?.code == expected)
    let changed = try RawHTTPResource.test(.post, url: "https://example.com/?a=1&b=2&a=3", body: "changed")
    seen = await failure(try stack(), changed)
    #expect(seen?.code == expected)
    // Items of one name keep their order.
    let swapped = try RawHTTPResource.test(.post, url: "https://example.com/?a=3&b=2&a=1", body: "recorded")
    seen = await failure(try stack(), swapped)
    #expect(seen?.code == .notRecorded)
  }

  @Test("Without a file, a cassette that only replays is an error with the remedy")
  func missing() throws {
    let error = #expect(throws: ConfigurationError.self) { _ = try replay() }
    #expect(error?.message == "the cassette \(path) does not exist, and nothing is recorded here")
    #expect(error?.hint == "run the test where the environment variable CI is not set, and commit the file")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(
    "The variable CI turns recording off",
    arguments: [(nil, false), ("", false), ("0", false), ("False", false), ("true", true), ("1", true)])
  func environment(value: String?, isReplayOnly: Bool) {
    #expect(Cassette.Mode(variable: value) == (isReplayOnly ? .replayOnly : .recordWhenMissing))
  }

  @Test("An expired file is recorded again, and is an error if nothing may be recorded")
  func expiry() async throws {
    let clock = ManualClock()
    let live = try recording(.respond(status: 200, body: "old"), time: clock.timeSource)
    _ = try await live.fetch(.test())
    func open(_ mode: Cassette.Mode, _ engine: any Transport = ScriptedTransport()) throws -> Cassette {
      try Cassette(path, mode: mode, expiresAfterDays: 30, time: clock.timeSource) { engine }
    }
    clock.advance(by: .seconds(30 * 86_400))
    #expect(try open(.replayOnly).ageInDays == 30)
    clock.advance(by: .seconds(86_400))
    let error = #expect(throws: ConfigurationError.self) { _ = try open(.replayOnly) }
    #expect(error?.message.contains("was recorded 31 days ago, which is more than 30") == true)
    let script = ScriptedTransport([.fail(.timeout, .idleTimeout), .respond(status: 200, body: "new")])
    let again = TransportNetworkStack(transport: try open(.recordWhenMissing, script))
    // The old file stays until there is a new response.
    let failed = await failure(again, try .test())
    #expect(failed?.stage == .timeout)
    #expect(try archive().log.entries.first?.response.content.text == "old")
    _ = try await again.fetch(.test())
    let replayed = try await TransportNetworkStack(transport: open(.replayOnly)).fetch(.test()).value
    #expect(replayed == Data("new".utf8))
  }

  @Test("A stream of events is replayed as far as its reader read")
  func events() async throws {
    let chunks = AsyncStream<Data> { continuation in
      for number in 1...3 { continuation.yield(Data("data: \(number)\n\n".utf8)) }
    }
    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"])
    let live = try recording(.reply(TransferResponse(head: head, body: ResponseBody(chunks))))
    let resource = try RawHTTPResource.test(url: "https://example.com/events")
    func read(_ stack: TransportNetworkStack) async throws -> [String] {
      var events: [String] = []
      for try await event in stack.events(resource, maximumReconnections: 0) {
        events.append(event.data)
        if events.count == 2 { break }
      }
      return events
    }
    #expect(try await read(live) == ["1", "2"])
    #expect(await eventually { FileManager.default.fileExists(atPath: path) })
    #expect(try await read(replay()) == ["1", "2"])
  }

  @Test("A response that fails, at its head or within its body, is not recorded")
  func failures() async throws {
    let chunks = AsyncThrowingStream<Data, any Error> { continuation in
      continuation.yield(Data("half".utf8))
      continuation.finish(throwing: TransportError(stage: .response, code: .truncatedBody, message: "cut"))
    }
    let live = try recording(
      .fail(.timeout, .idleTimeout),
      .reply(TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks))),
      .respond(status: 200, body: "whole"))
    for _ in 1...2 {
      let failed = await failure(live, try .test())
      #expect(failed?.stage == .timeout || failed?.code == .truncatedBody)
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    _ = try await live.fetch(.test())
    #expect(try archive().log.entries.map(\.response.content.text) == ["whole"])
  }

  @Test("Exchanges are recorded in the order in which they began")
  func concurrent() async throws {
    let gate = OneAnswer<Void>()
    let script = ScriptedTransport { (_, number) throws(TransportError) in
      if number == 0 { await gate.value() } else { gate.give(()) }
      return TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data("\(number)".utf8)))
    }
    let cassette = try Cassette(path, mode: .recordWhenMissing) { script }
    let stack = TransportNetworkStack(transport: cassette)
    async let first = stack.fetch(.test()).value
    _ = try await script.waitForRequests(count: 1)
    let second = try await stack.fetch(.test()).value
    #expect(try await first == Data("0".utf8) && second == Data("1".utf8))
    #expect(try archive().log.entries.map(\.response.content.text) == ["0", "1"])
  }

  @Test("Further names are masked in fields, queries and bodies")
  func masking() async throws {
    let field = try #require(HTTPField.Name("X-Customer"))
    let live = try recording(
      .respond(status: 200, headers: [field: "ann"], body: #"{"Customer-Number":"ann","b":"shown"}"#),
      masking: ["X-Customer", "customer_number"])
    _ = try await live.fetch(.test(url: "https://example.com/?customer_number=ann"))
    let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
    #expect(!text.contains("ann") && text.contains("shown"), "\(text)")
  }

  @Test("A masked response remains JSON with its counts, and a refusal masks further names too")
  func json() async throws {
    let live = try recording(
      .respond(
        status: 200, body: #"{"access_token":"PLANTED","usage":{"total_tokens":46},"nextPageToken":null,"pin":7}"#),
      masking: ["customer"])
    _ = try await live.fetch(.test(url: "https://example.com/?customer=ann"))
    let stack = TransportNetworkStack(
      transport: try Cassette(path, mode: .replayOnly, masking: ["customer"]) { ScriptedTransport() })
    let error = await failure(stack, try .test(url: "https://example.com/other?customer=bob"))
    #expect(error?.code == .notRecorded && error?.description.contains("/other?customer=***") == true)
    let value = try await stack.fetch(.test(url: "https://example.com/?customer=bob")).value
    #expect(
      String(decoding: value, as: UTF8.self)
        == #"{"access_token":"***","usage":{"total_tokens":46},"nextPageToken":null,"pin":"***"}"#)
  }

  @Test("A compressed request is recorded as before its compression, and matches")
  func compressed() async throws {
    let script = ScriptedTransport([.respond(status: 200, body: "ok")])
    let note = String(repeating: "long enough to compress ", count: 20)
    let body = try RequestBody.json(["password": "PLANTED", "user": "octocat", "note": note])
    let resource = try RawHTTPResource.test(.post, body: body)
    var configuration = StackConfiguration()
    configuration.interceptors = [.compressing(.gzip, from: 0)]
    for isRecording in [true, false] {
      let cassette = try Cassette(path, mode: .recordWhenMissing) { script }
      #expect(cassette.isRecording == isRecording)
      let stack = TransportNetworkStack(transport: cassette, configuration: configuration)
      #expect(try await stack.fetch(resource).value == Data("ok".utf8))
    }
    let sent = try #require(script.requests.first)
    #expect(sent.head.headerFields[.contentEncoding] == "gzip")
    let text = try #require(try archive().log.entries.first?.request.postData?.text)
    #expect(text.contains("octocat") && !text.contains("PLANTED"), "\(text)")
  }

  @Test("Bytes with a coding are not recorded, in a request or a response")
  func coded() async throws {
    let bytes = Data([0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3])
    let live = try recording(.respond(status: 200, headers: [.contentEncoding: "gzip"], body: bytes))
    let resource = try RawHTTPResource.test(.post, fields: [.contentEncoding: "gzip"], body: .raw(bytes))
    _ = try await live.fetch(resource)
    let entry = try #require(try archive().log.entries.first)
    #expect(entry.request.postData?.text == nil && entry.request.postData?.isTruncated == true)
    #expect(entry.response.content.text == nil && entry.response.content.isTruncated == true)
    let error = await failure(try replay(), resource)
    #expect(error?.code == .incompleteRecording)
  }

  @Test("A stream that its reader abandons is not replayed as a whole one")
  func abandoned() async throws {
    let chunks = AsyncStream<Data> { continuation in
      for _ in 1...3 { continuation.yield(Data("part".utf8)) }
    }
    let live = try recording(.reply(TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks))))
    var body: ResponseBody? = try await live.stream(.test()).value
    for try await _ in try #require(body) { break }
    body?.cancel()
    body = nil
    #expect(await eventually { FileManager.default.fileExists(atPath: path) })
    let error = await failure(try replay(), try .test())
    #expect(error?.code == .incompleteRecording)
    #expect(error?.description.contains("its reader stopped after 4 bytes") == true)
  }

  @Test("A new priority reaches the server while its stream is recorded")
  func priority() async throws {
    let source = PrioritySource()
    let live = try recording(
      .reply(TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(source: source))))
    let body = try await live.stream(.test()).value
    try body.setPriority(RequestPriority(urgency: 1))
    #expect(source.seen.withLock { $0 } == [RequestPriority(urgency: 1)])
  }

  @Test("Opening a cassette leaves a file beside it alone")
  func neighbor() async throws {
    let live = try recording(.respond(status: 200, body: "1"))
    _ = try await live.fetch(.test())
    try folder.write("mine", to: "tape/test.har.new")
    _ = try replay()
    #expect(try String(contentsOfFile: path + ".new", encoding: .utf8) == "mine")
  }

  @Test("A body above the limit is not replayed, and the error says so")
  func largeBody() async throws {
    let live = try recording(.respond(status: 200, body: Data(repeating: 65, count: (1 << 20) + 1)))
    _ = try await live.fetch(.test())
    let error = await failure(try replay(), try .test())
    #expect(error?.code == .incompleteRecording)
    #expect(error?.description.contains("cut off after 1048576 of 1048577 bytes") == true)
  }

  @Test("A file that cannot be written fails the exchange")
  func unwritable() async throws {
    let live = try recording(.respond(status: 200, body: "1"))
    // A file has the name of the folder.
    try folder.write("", to: "tape")
    let error = await failure(live, try .test())
    #expect(error?.code == .incompleteRecording && error?.transportError?.requestSent == true)
    #expect(error?.description.contains("the cassette \(path) cannot be written") == true)
  }

  @Test(
    "A file that is not an archive is an error that names it",
    arguments: [("{", "not an HTTP archive"), ("[1]", "not an HTTP archive"), ("\u{0}", "not an HTTP archive")])
  func damaged(text: String, words: String) throws {
    try folder.write(text, to: "tape/test.har")
    let error = #expect(throws: ConfigurationError.self) { _ = try recording() }
    #expect(error?.message.contains(path) == true && error?.message.contains(words) == true)
    #expect(error?.hint == "delete the file to record it again")
  }

  @Test("A directory, bytes that are not UTF-8, and a file of more than 16 MiB are refused")
  func unfit() throws {
    try folder.write("", to: "tape/test.har/inside")
    let directory = #expect(throws: ConfigurationError.self) { _ = try recording() }
    #expect(directory?.message.hasPrefix("the cassette \(path) cannot be read") == true)
    try FileManager.default.removeItem(atPath: path)
    try Data([0xFF]).write(to: URL(filePath: path))
    let bytes = #expect(throws: ConfigurationError.self) { _ = try recording() }
    #expect(bytes?.message.contains("it is not UTF-8") == true)
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.truncate(atOffset: 16 << 20 + 1)
    try file.close()
    let large = #expect(throws: ConfigurationError.self) { _ = try recording() }
    #expect(large?.message.contains("not a regular file of at most 16 MiB") == true)
  }

  @Test("A relative path begins at the folder of the test's source file")
  func relative() async throws {
    let cassette = try Cassette(
      "tape/test.har", mode: .recordWhenMissing, sourceFile: folder.file("Some.swift")
    ) { ScriptedTransport([.respond(status: 200, body: "1")]) }
    _ = try await TransportNetworkStack(transport: cassette).fetch(.test())
    #expect(try archive().count == 1)
  }
}

/// A body that notes the priorities that it is given.
private final class PrioritySource: ResponseBodySource {
  let seen = Lock<[RequestPriority]>([])

  var finalFacts: TransferFacts? { nil }
  func next() async throws(TransportError) -> Data? { nil }
  func cancel() {}
  func setPriority(_ priority: RequestPriority) { seen.withLock { $0.append(priority) } }
}
