// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// HTTP/2 answers that are complete before the request's body is (RFC 9113 §8.1).
@Suite("Faults: early responses over HTTP/2", .overEachLink, .timeLimit(.minutes(15)))
struct HTTP2EarlyAnswerTests {
  /// The frames that follow a complete answer.
  enum Ending: String, CaseIterable, Sendable {
    case nothing, resetApart, resetInOneRecord
  }

  enum Upload: String, CaseIterable, Sendable {
    case memory, file, sequence, announcedSequence

    /// The size of the upload, which exceeds the windows of a stream and its connection.
    static let size = 1 << 20
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var status: Int
    var ending: Ending
    var upload: Upload
    var isStreamed: Bool
    var testDescription: String { "\(status) \(ending) \(upload) \(isStreamed ? "streamed" : "collected")" }
  }

  static let rows: [Row] = [200, 401, 413].flatMap { status in
    Ending.allCases.flatMap { ending in
      Upload.allCases.flatMap { upload in
        [false, true].map { Row(status: status, ending: ending, upload: upload, isStreamed: $0) }
      }
    }
  }

  /// Returns a server that answers `/ok`. It answers everything else before reading the body, for which it grants no
  /// credit.
  private func server(
    _ lab: HTTP2Servers, status: Int, hasLength: Bool = true, hasBody: Bool = true, ending: Ending
  ) throws -> LoopbackServer {
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    settings.replenishesWindows = false
    return try LoopbackServer.http2Script(tls: lab.tls(), settings: settings) { http2 in
      while let request = try http2.readRequest(), let stream = request.stream {
        if request.path == "/ok" {
          try http2.respond(to: request, with: .text("fine"))
          continue
        }
        let head = LoopbackHTTP2Frame.head(
          status, hasLength ? ["content-length": "5"] : [:], stream: stream, ends: !hasBody)
        let body = hasBody ? [LoopbackHTTP2Frame.data("early".utf8, stream: stream, ends: true)] : []
        let reset = LoopbackHTTP2Frame.resetStream(.noError, stream: stream)
        var records = [[head] + body]
        if ending == .resetApart { records.append([reset]) }
        if ending == .resetInOneRecord { records[0].append(reset) }
        for record in records { try http2.connection.write(record.flatMap(\.bytes)) }
      }
    }
  }

  private func body(_ upload: Upload, in folder: ScratchFolder) throws -> RequestBody {
    let content = Data(repeating: 1, count: Upload.size)
    switch upload {
    case .memory: return .raw(content)
    case .file: return try .file(path: folder.write(content))
    case .sequence: return .stream(Self.chunks())
    case .announcedSequence: return .stream(Self.chunks(), length: Int64(Upload.size))
    }
  }

  private static func chunks() -> AsyncStream<Data> {
    AsyncStream { continuation in
      for _ in 0..<16 { continuation.yield(Data(repeating: 1, count: Upload.size / 16)) }
      continuation.finish()
    }
  }

  private func post(
    _ lab: HTTP2Servers, _ server: LoopbackServer, _ body: RequestBody, isStreamed: Bool = false,
    idleTimeout: Duration = .seconds(60), endsWithResponse: Bool = false
  ) async -> (outcome: Outcome, status: Int?) {
    let head = HTTPRequest(method: .post, scheme: "https", authority: "localhost:\(server.port)", path: "/early")
    var request = TransferRequest(head: head, body: body, idleTimeout: idleTimeout, deadline: .seconds(200))
    request.trust(lab.authority)
    if isStreamed { request.delivery = .streamed(maximumBytes: nil) }
    request.endsWithResponse = endsWithResponse
    do throws(TransportError) {
      let response = try await lab.engine.execute(request)
      let text = String(decoding: try await response.body.collect(upTo: 1_000), as: UTF8.self)
      return (.answered(response.head.status.code, text), response.head.status.code)
    } catch {
      return (.failed(error.words), error.head?.status.code)
    }
  }

  @Test("A response that is complete by its length is returned, and the connection stays open", arguments: rows)
  func early(_ row: Row) async throws {
    let lab = try HTTP2Servers()
    let folder = try ScratchFolder()
    let server = try server(lab, status: row.status, ending: row.ending)
    let (outcome, status) = await post(lab, server, try body(row.upload, in: folder), isStreamed: row.isStreamed)
    #expect(status == row.status)
    if row.ending == .resetInOneRecord {
      // libcurl 7.88 drops the frames that arrive in one record with RST_STREAM, including the head.
      #expect(outcome == .answered(row.status, "early") || outcome == .failed("response/http2_failure"), "\(outcome)")
    } else {
      #expect(outcome == .answered(row.status, "early"))
    }
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
    #expect(server.requests.map(\.path) == ["/early", "/ok"], "nothing is sent twice")
    #expect(await eventually { lab.engine.activeTransfers == 0 })
  }

  @Test(
    "A response that ends the request is returned while the source of the body stays open", arguments: Ending.allCases,
    [false, true])
  func endsRequest(ending: Ending, isStreamed: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try server(lab, status: 200, ending: ending)
    let (chunks, source) = AsyncStream<Data>.makeStream()
    source.yield(Data([1]))
    let (outcome, _) = await post(lab, server, .stream(chunks), isStreamed: isStreamed, endsWithResponse: true)
    source.finish()
    #expect(
      outcome == .answered(200, "early")
        || (ending == .resetInOneRecord && outcome == .failed("response/http2_failure")), "\(outcome)")
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
    #expect(await eventually { lab.engine.activeTransfers == 0 })
  }

  @Test("A response that cannot have a body is complete with its head", arguments: [204, 304], Ending.allCases)
  func noBody(status: Int, ending: Ending) async throws {
    let lab = try HTTP2Servers()
    let server = try server(lab, status: status, hasLength: false, hasBody: false, ending: ending)
    let (outcome, told) = await post(lab, server, .raw(Data(repeating: 1, count: Upload.size)))
    #expect(told == status)
    #expect(
      outcome == .answered(status, "")
        || (ending == .resetInOneRecord && outcome == .failed("response/http2_failure")), "\(outcome)")
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
  }

  @Test(
    "A response without a length that is followed by a reset ends the transfer and reports its status",
    arguments: [200, 413], [false, true])
  func noLength(status: Int, isInOneRecord: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try server(
      lab, status: status, hasLength: false, ending: isInOneRecord ? .resetInOneRecord : .resetApart)
    let (outcome, told) = await post(lab, server, .raw(Data(repeating: 1, count: Upload.size)))
    #expect(told == status)
    #expect(outcome == .answered(status, "early") || outcome == .failed("response/http2_failure"), "\(outcome)")
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
  }

  @Test("A response without length or reset cannot be complete, and its status is reported", arguments: [200, 413])
  func noEnd(status: Int) async throws {
    let lab = try HTTP2Servers()
    let server = try server(lab, status: status, hasLength: false, ending: .nothing)
    // This request opens the connection, because the next request's idle limit would include the dial.
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    let body = RequestBody.raw(Data(repeating: 1, count: Upload.size))
    let (outcome, told) = await post(lab, server, body, idleTimeout: .seconds(5))
    #expect(told == status)
    #expect(outcome == .answered(status, "early") || outcome == .failed("timeout/idle_timeout"), "\(outcome)")
  }

  @Test("The upload's source is cancelled at the response if the server wants no more of it", arguments: [200, 413])
  func sourceEnds(status: Int) async throws {
    let lab = try HTTP2Servers()
    // A server that answers below 300 may still read the body. If it does not, it resets the stream.
    let server = try server(lab, status: status, ending: status == 200 ? .resetApart : .nothing)
    let ended = EventRecorder<String>()
    // The source never ends, and waits after its first bytes.
    let (source, continuation) = AsyncStream<Data>.makeStream()
    continuation.onTermination = { _ in ended.record("ended") }
    continuation.yield(Data(repeating: 1, count: 1_000))
    #expect(await post(lab, server, .stream(source)).outcome == .answered(status, "early"))
    try await ended.waitForEvents(count: 1)
  }

  @Test("A body that is read slowly arrives complete although the upload was abandoned")
  func slowReader() async throws {
    let lab = try HTTP2Servers()
    let size = 8 << 20
    let server = try LoopbackServer.http2(tls: lab.tls(), settings: Self.early) { _ in
      LoopbackResponse(body: [UInt8](repeating: 7, count: size))
    }
    var request = TransferRequest.to(server, method: .post)
    request.trust(lab.authority)
    request.body = .raw(Data(repeating: 1, count: Upload.size))
    request.delivery = .streamed(maximumBytes: nil)
    request.deadline = .seconds(200)
    let response = try await lab.engine.execute(request)
    var count = 0
    for try await chunk in response.body {
      count += chunk.count
      await Task.yield()
    }
    #expect(count == size)
    #expect(response.body.finalFacts?.bytesReceived == Int64(size))
  }

  @Test("A compressed response is complete by its length on the wire")
  func compressed() async throws {
    let lab = try HTTP2Servers()
    // `printf hello | gzip -n`
    let packed: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
    ]
    let server = try LoopbackServer.http2(tls: lab.tls(), settings: Self.early) { _ in
      LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: packed)
    }
    #expect(
      await post(lab, server, .raw(Data(repeating: 1, count: Upload.size))).outcome == .answered(200, "hello"))
  }

  @Test("Many uploads over one connection are answered early without disturbing each other")
  func together() async throws {
    let lab = try HTTP2Servers()
    let server = try server(lab, status: 413, ending: .nothing)
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<20 {
        group.addTask { await post(lab, server, .raw(Data(repeating: 1, count: Upload.size))).outcome }
      }
      for await outcome in group { #expect(outcome == .answered(413, "early")) }
    }
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
  }

  private static var early: LoopbackHTTP2Settings {
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    settings.replenishesWindows = false
    return settings
  }
}

/// A temporary folder for one test, with a file for uploads.
private final class ScratchFolder {
  private let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ content: Data) throws -> String {
    let file = "\(path)/body"
    try content.write(to: URL(filePath: file))
    return file
  }
}
