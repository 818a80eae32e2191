// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Downloads", .timeLimit(.minutes(15)))
struct DownloadTests {
  @Test("A download asks for no coding and for a digest, and its complete file has its final name")
  func plain() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content)
    #expect(file.length == 10_000 && file.requests == 1 && file.resumedFrom == 0 && file.restarts == 0)
    #expect(file.entityTag == "\"v1\"")
    let fields = try #require(origin.requests.first).head.headerFields
    #expect(fields[.acceptEncoding] == "identity")
    #expect(fields[.wantReprDigest] == "sha-256=10, sha-512=5")
    #expect(fields[.range] == nil && fields[.ifRange] == nil)
    #expect(files.names == ["/d/file"])
  }

  @Test(
    "After a loss at any byte the download resumes there, on condition that nothing changed",
    arguments: [1, 500, 9_999, 10_000])
  func cut(after count: Int) async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: count)])
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content)
    #expect(file.restarts == 0 && files.names == ["/d/file"])
    // All bytes arrived, but not the end of the body: a second request asks the server whether the file is complete.
    #expect(file.requests == 2)
    let second = try #require(origin.requests.last).head.headerFields
    #expect(second[.range] == "bytes=\(count)-" && second[.ifRange] == "\"v1\"")
  }

  @Test("After a loss before the first byte the whole is requested again")
  func cutAtOnce() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 0)])
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content && file.requests == 2)
    #expect(origin.requests.allSatisfy { $0.head.headerFields[.range] == nil })
  }

  @Test("Another process resumes a download that was killed")
  func resumedElsewhere() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
    let files = SimulatedFiles()
    await #expect(throws: (any Error).self) {
      try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
    }
    #expect(files.content("/d/file") == nil)
    let state = try #require(files.content("/d/file.part.json"))
    #expect(!String(decoding: state, as: UTF8.self).contains("s3cr3t"))
    files.restart(afterLossOfPower: true)
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content)
    #expect(file.resumedFrom == 6_000 && file.requests == 1 && files.names == ["/d/file"])
  }

  @Test(
    "Losses without a byte are followed by as many requests as the policy allows", arguments: [0, 1, 2], [1, 2])
  func fruitless(retries: Int, segments: Int) async throws {
    // An earlier download leaves one segment to be downloaded.
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 9_000)])
    let files = SimulatedFiles()
    await #expect(throws: (any Error).self) {
      try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
    }
    for _ in 0..<10 { origin.script(.cut(after: 0)) }
    await #expect(throws: (any Error).self) {
      try await origin.download(to: "/d/file", in: files) {
        $0.retries = .maxRetries(retries)
        ($0.segments, $0.leastSegmentBytes) = (segments, 1_000)
      }
    }
    #expect(origin.requests.count == 1 + 1 + retries)
  }

  /// A response that announces the requested range, contains no byte of it, and ends properly.
  private static let empty = RangeOrigin.Deed.answer { request, origin in
    let head = origin.serve(request) { $0.headerFields[.contentLength] = nil }.head
    return TransferResponse(head: head, body: ResponseBody(Data()))
  }

  @Test("A body that ends cleanly but early is reported as truncated, whatever was lost before")
  func endedEarly() async throws {
    for retries in [0, 2] {
      let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
      let files = SimulatedFiles()
      await #expect(throws: (any Error).self) {
        try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
      }
      if retries > 0 { origin.script(.cut(after: 0)) }
      origin.script(Self.empty, Self.empty)
      let error = try await #require(throws: HTTPFetchError<any Error>.self) {
        try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(retries) }
      }
      #expect(error.words == "response/truncated_body" && !error.isCancelled)
      #expect(error.transportError?.message == "the part ended before the end of the requested range")
      #expect(files.names == ["/d/file.part", "/d/file.part.json"])
    }
  }
}

/// A server of one file that supports ranges and follows a script.
final class RangeOrigin: Sendable {
  enum Deed: Sendable {
    case serve
    /// The connection is lost after this many bytes of the body.
    case cut(after: Int)
    case answer(@Sendable (TransferRequest, RangeOrigin) throws(TransportError) -> TransferResponse)
  }

  private struct State {
    var content: Data
    var tag: String?
    var deeds: ArraySlice<Deed>
    /// The response to each request with a `Range` once the script is used up.
    var rangeDeed: Deed?
    var requests: [TransferRequest] = []
    var sent = 0
    var extra: HTTPFields = [:]
  }

  private let state: Lock<State>
  let chunk: Int

  init(bytes: Int, tag: String? = "\"v1\"", chunk: Int = 1_000, _ deeds: [Deed] = []) {
    var generator = SeededGenerator(seed: UInt64(bytes))
    let content = Data((0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    state = Lock(State(content: content, tag: tag, deeds: deeds[...]))
    self.chunk = chunk
  }

  var content: Data { state.withLock { $0.content } }
  var requests: [TransferRequest] { state.withLock { $0.requests } }
  /// The number of body bytes that were read.
  var sent: Int { state.withLock { $0.sent } }

  func change(to content: Data, tag: String?) { state.withLock { ($0.content, $0.tag) = (content, tag) } }
  func replace(by content: Data) { state.withLock { ($0.content, $0.tag, $0.extra) = (content, "\"v2\"", [:]) } }
  func add(_ fields: HTTPFields) { state.withLock { $0.extra.append(contentsOf: fields) } }
  func skipScript() { state.withLock { $0.deeds = [] } }
  func answerRanges(by deed: Deed?) { state.withLock { $0.rangeDeed = deed } }
  func script(_ deeds: Deed...) { state.withLock { $0.deeds += deeds } }
  fileprivate func count(_ bytes: Int) { state.withLock { $0.sent += bytes } }

  var transport: ScriptedTransport {
    ScriptedTransport { (request, _) throws(TransportError) in try self.answer(request) }
  }

  func answer(_ request: TransferRequest) throws(TransportError) -> TransferResponse {
    let deed = state.withLock { state in
      state.requests.append(request)
      if let deed = state.deeds.popFirst() { return deed }
      return request.head.headerFields[.range] == nil ? .serve : state.rangeDeed ?? .serve
    }
    switch deed {
    case .serve: return serve(request)
    case .cut(let count): return serve(request, cut: count)
    case .answer(let make): return try make(request, self)
    }
  }

  /// Serves a range if it can be satisfied and the validator matches, as a conforming server does (RFC 9110 §14.2).
  func serve(
    _ request: TransferRequest, cut: Int? = nil, hangs: Int? = nil, edit: (inout HTTPResponse) -> Void = { _ in },
    body editBody: (inout Data) -> Void = { _ in }
  ) -> TransferResponse {
    let (content, tag, extra) = state.withLock { ($0.content, $0.tag, $0.extra) }
    var head = HTTPResponse(status: .ok)
    head.headerFields = extra
    head.headerFields[.eTag] = tag
    head.headerFields[.acceptRanges] = "bytes"
    head.headerFields[.date] = "Wed, 25 Nov 2026 08:00:00 GMT"
    var body = content
    let asked = request.head.headerFields[.range].flatMap { Self.range($0, of: content.count) }
    let condition = request.head.headerFields[.ifRange]
    if let asked, condition == nil || condition == tag || condition == head.headerFields[.lastModified] {
      if asked.lowerBound >= content.count {
        head.status = .init(code: 416)
        head.headerFields[.contentRange] = "bytes */\(content.count)"
        body = Data()
      } else {
        head.status = .partialContent
        head.headerFields[.contentRange] = "bytes \(asked.lowerBound)-\(asked.upperBound - 1)/\(content.count)"
        body = content[asked]
      }
    }
    head.headerFields[.contentLength] = "\(body.count)"
    edit(&head)
    editBody(&body)
    guard head.status.kind == .successful else { return TransferResponse(head: head, body: ResponseBody(body)) }
    return TransferResponse(
      head: head, body: ResponseBody(source: OriginBody(self, body, cut: cut ?? hangs, hangs: hangs != nil)))
  }

  private static func range(_ text: String, of length: Int) -> Range<Int>? {
    let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard text.hasPrefix("bytes="), ends.count == 2, let first = Int(ends[0]) else { return nil }
    return first..<max(first, min(length, Int(ends[1]).map { $0 + 1 } ?? length))
  }

  /// Downloads through a stack whose clock advances automatically.
  @discardableResult
  func download(
    to path: String, in files: any FileLayer, url: String = "https://example.org/file?token=s3cr3t",
    _ edit: (inout DownloadOptions) -> Void = { _ in }
  ) async throws -> DownloadedFile {
    let clock = ManualClock(autoAdvance: true)
    var options = DownloadOptions()
    options.files = files
    edit(&options)
    return try await TransportNetworkStack(transport, time: clock.timeSource).download(
      .get(url), to: path, options: options)
  }
}

/// A body that counts the bytes that are read, and may be truncated.
private final class OriginBody: ResponseBodySource {
  private let rest: Lock<Data>
  private let origin: RangeOrigin
  private let isCut: Bool
  private let hangs: Bool

  init(_ origin: RangeOrigin, _ body: Data, cut: Int?, hangs: Bool) {
    self.hangs = hangs
    self.origin = origin
    rest = Lock(cut.map { Data(body.prefix($0)) } ?? Data(body))
    isCut = cut != nil
  }

  var finalFacts: TransferFacts? { nil }

  func next() async throws(TransportError) -> Data? {
    if Task.isCancelled { throw .cancelled(requestSent: true) }
    let piece = rest.withLock { rest in
      let piece = Data(rest.prefix(origin.chunk))
      rest = Data(rest.dropFirst(piece.count))
      return piece
    }
    origin.count(piece.count)
    if !piece.isEmpty { return piece }
    guard isCut else { return nil }
    if hangs {
      try? await Task.sleep(for: .seconds(3_600))
      throw .cancelled(requestSent: true)
    }
    throw TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
  }

  func cancel() {}
}

extension SimulatedFiles {
  var names: [String] { state.withLock { $0.names.keys.sorted() } }
}
