// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Uploads", .timeLimit(.minutes(15)))
struct UploadTests {
  @Test(
    "Tus: an upload is created, and its bytes follow in one request or in several",
    arguments: [nil, 1, 999, 10_000] as [Int64?])
  func tus(bytesPerAppend: Int64?) async throws {
    let origin = UploadOrigin(bytes: 3_000, .tus)
    let upload = try await origin.upload {
      $0.bytesPerAppend = bytesPerAppend.map { $0 == 1 ? 100 : $0 }
      $0.metadata = ["filename": "ä b", "empty": ""]
    }
    #expect(origin.received == origin.content && upload.length == 3_000)
    #expect(upload.url == "https://example.org/u/1" && upload.resumedFrom == 0)
    let first = try #require(origin.requests.first).head
    #expect(first.method == .post && first.headerFields[.uploadLength] == "3000")
    #expect(first.headerFields[HTTPField.Name("Upload-Metadata")!] == "empty,filename w6QgYg==")
    #expect(origin.requests.allSatisfy { $0.head.headerFields[HTTPField.Name("Tus-Resumable")!] == "1.0.0" })
    let second = try #require(origin.requests.dropFirst().first).head
    #expect(second.method == .patch && second.headerFields[.contentType] == "application/offset+octet-stream")
    #expect(second.headerFields[.uploadOffset] == "0")
  }

  @Test(
    "Draft protocol: the upload is created first or optimistically, and the response is the target's",
    arguments: [false, true])
  func draft(atOnce: Bool) async throws {
    let origin = UploadOrigin(bytes: 3_000, .draft)
    let upload = try await origin.upload { $0.sendsContentAtOnce = atOnce }
    #expect(origin.received == origin.content)
    #expect(upload.response.headerFields[HTTPField.Name("X-Target")!] == "done")
    #expect(origin.requests.map(\.head.method) == (atOnce ? [.post] : [.post, .patch]))
    #expect(origin.requests.allSatisfy { $0.head.headerFields[.interopVersion] == "8" })
    #expect(origin.requests.first?.head.headerFields[.uploadComplete] == (atOnce ? "?1" : "?0"))
  }

  @Test(
    "A connection that is lost after any number of bytes is resumed from the server's offset",
    arguments: [UploadProtocol.tus, .draft])
  func cuts(dialect: UploadProtocol) async throws {
    let every = 300
    let origin = UploadOrigin(bytes: 3_000, dialect, Array(repeating: .cut(after: every), count: 9))
    _ = try await origin.upload()
    #expect(origin.received == origin.content)
    // No HEAD is sent while an append is under way, and no append is sent after a loss without a HEAD first.
    let methods = origin.requests.map(\.head.method.rawValue)
    let expected = "POST " + String(repeating: "PATCH HEAD ", count: 9) + "PATCH"
    #expect(methods.joined(separator: " ") == expected)
  }

  @Test("Draft protocol, optimistic: an interim response gives the URL with which the upload is resumed")
  func named() async throws {
    let origin = UploadOrigin(bytes: 3_000, .draft, [.nameAndCut(after: 1_000)])
    let upload = try await origin.upload { $0.sendsContentAtOnce = true }
    #expect(origin.received == origin.content && upload.url == "https://example.org/u/1")
    #expect(origin.requests.map(\.head.method) == [.post, .head, .patch])
    #expect(origin.requests.last?.head.headerFields[.uploadOffset] == "1000")
  }

  @Test("Draft protocol, optimistic: an upload lost without a URL is not sent again")
  func unnamed() async throws {
    let origin = UploadOrigin(bytes: 3_000, .draft, [.cut(after: 1_000)])
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await origin.upload { $0.sendsContentAtOnce = true }
    }
    #expect(error?.words == "response/connection_lost" && origin.requests.count == 1)
  }

  @Test(
    "A response lost after everything was received is recovered by a query", arguments: [UploadProtocol.tus, .draft])
  func lostAnswer(dialect: UploadProtocol) async throws {
    let origin = UploadOrigin(bytes: 3_000, dialect, [.cut(after: 3_000)])
    _ = try await origin.upload()
    #expect(origin.received == origin.content && origin.requests.map(\.head.method) == [.post, .patch, .head])
  }

  @Test("After a partial write with 409, 423 or 500 the rest is sent", arguments: [409, 423, 500])
  func refused(status: Int) async throws {
    let origin = UploadOrigin(bytes: 3_000, .tus, [.keep(700), .refuse(status), .serve])
    _ = try await origin.upload()
    #expect(origin.received == origin.content)
    #expect(origin.requests.map(\.head.method) == [.post, .patch, .patch, .head, .patch])
    #expect(origin.requests.last?.head.headerFields[.uploadOffset] == "700")
  }

  @Test("After a 413 less is sent at once")
  func tooLarge() async throws {
    let origin = UploadOrigin(bytes: 3_000, .tus, mostAtOnce: 1_000)
    _ = try await origin.upload()
    #expect(origin.received == origin.content)
    let lengths = origin.requests.filter { $0.head.method == .patch }.map { $0.body.length ?? 0 }
    #expect(lengths == [3_000, 1_500, 750, 750, 750, 750])
  }

  @Test("A server without progress ends the upload")
  func noProgress() async throws {
    let origin = UploadOrigin(bytes: 3_000, .tus, Array(repeating: .keep(0), count: 20))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload() }
    #expect(error != nil && origin.requests.filter { $0.head.method == .patch }.count == 3)
  }

  @Test("A refusal ends the upload with its status")
  func forbidden() async throws {
    let origin = UploadOrigin(bytes: 3_000, .tus, [.refuse(403)])
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload() }
    #expect(error?.statusCode == .forbidden && origin.requests.count == 2)
  }

  @Test("A token lets another process resume, and a changed file is refused", arguments: [UploadProtocol.tus, .draft])
  func token(dialect: UploadProtocol) async throws {
    let origin = UploadOrigin(bytes: 3_000, dialect, [.cut(after: 1_200)])
    let kept = Lock<UploadToken?>(nil)
    _ = try? await origin.upload {
      $0.retries = .maxRetries(0)
      $0.onToken = { token in kept.withLock { $0 = token } }
    }
    let token = try #require(kept.withLock { $0 })
    let coded = try JSONDecoder().decode(UploadToken.self, from: JSONEncoder().encode(token))
    let other = UploadToken(
      url: coded.url, uploadProtocol: dialect, length: coded.length, modified: coded.modified + 1)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload(other) }
    #expect(error?.words == "request/upload_changed")
    let upload = try await origin.upload(coded)
    #expect(origin.received == origin.content && upload.resumedFrom == 1_200)
  }

  @Test("Draft protocol: digests of the whole and of each request are sent if configured")
  func digests() async throws {
    func field(_ bytes: Data) throws -> String {
      DigestField.field(Digest(algorithm: .sha256, value: try MessageDigest(of: bytes)))
    }
    let origin = UploadOrigin(bytes: 3_000, .draft)
    _ = try await origin.upload {
      $0.sendsDigests = true
      $0.bytesPerAppend = 2_000
    }
    #expect(
      try origin.requests.map { $0.head.headerFields[.reprDigest] } == [field(origin.content), nil, nil])
    #expect(
      try origin.requests.map { $0.head.headerFields[.contentDigest] }
        == [nil, field(origin.content[..<2_000]), field(origin.content[2_000...])])
    let plain = UploadOrigin(bytes: 3_000, .draft)
    _ = try await plain.upload { $0.sendsContentAtOnce = true }
    #expect(plain.requests.first?.head.headerFields[.reprDigest] == nil)
  }

  @Test("An upload is cancelled by DELETE, and a missing one is not a failure")
  func cancelled() async throws {
    let requests = Lock<[TransferRequest]>([])
    let answers = Lock([
      TransferResponse.redirect(308, to: "https://store.example.net/u/1"), .answer(204), .answer(410), .answer(405),
    ])
    let transport = ScriptedTransport { (request, _) throws(TransportError) in
      requests.withLock { $0.append(request) }
      return answers.withLock { $0.removeFirst() }
    }
    let stack = TransportNetworkStack(transport)
    let resource = RawHTTPResource.raw(
      try ResourceRequest(
        method: .post, url: "https://example.org/files", headers: ["Authorization": "Bearer t0ken"], body: .raw("x")))
    let token = UploadToken(url: "https://example.org/u/1", uploadProtocol: .tus, length: 10, modified: 0)
    try await stack.cancelUpload(token, as: resource)
    try await stack.cancelUpload(token, as: resource)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await stack.cancelUpload(token, as: resource)
    }
    #expect(error?.statusCode?.code == 405)
    let heads = requests.withLock { $0 }.map(\.head)
    #expect(heads.allSatisfy { $0.method == .delete && $0.path == "/u/1" && $0.headerFields[.contentType] == nil })
    #expect(heads.map { $0.headerFields[.authorization] != nil } == [true, false, true, true])
    #expect(heads.allSatisfy { $0.headerFields[HTTPField.Name("Tus-Resumable")!] == "1.0.0" })
    #expect(requests.withLock { $0 }.allSatisfy { ($0.body.length ?? 0) == 0 })
  }

  @Test("An upload at another origin gets no credentials, unless that origin is declared", arguments: [false, true])
  func otherOrigin(isNamed: Bool) async throws {
    let origin = UploadOrigin(bytes: 100, .tus, location: "https://store.example.net/u/1")
    origin.edit { options in
      var connection = ConnectionOptions()
      connection.tls.identity = .init(certificate: .file("/ann.pem"))
      options.connection = connection
    }
    _ = try await origin.upload {
      if isNamed, let named = try? Origin("https://store.example.net") { $0.credentialOrigins = [named] }
    }
    let (first, second) = (try #require(origin.requests.first), try #require(origin.requests.last))
    #expect(first.head.headerFields[.authorization] == "Bearer t0ken" && first.head.headerFields[.xKey] == "k3y")
    #expect(second.head.authority == "store.example.net")
    #expect(second.head.headerFields[.authorization] == (isNamed ? "Bearer t0ken" : nil))
    #expect(second.head.headerFields[.xKey] == (isNamed ? "k3y" : nil))
    #expect(second.head.headerFields[HTTPField.Name("X-Plain")!] == "1")
    #expect(first.connection?.tls.identity != nil && (second.connection?.tls.identity != nil) == isNamed)
  }

  @Test(
    "A location that is not a URL, or leads from https to http, is refused",
    arguments: ["http://example.org/u", "ftp://x/", "https://"])
  func location(text: String) async throws {
    let origin = UploadOrigin(bytes: 100, .tus, location: text)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload() }
    #expect(error?.words == "response/upload_mismatch" && origin.requests.count == 1)
  }

  @Test("The resource's options override no rule of an upload, and its observer sees interim responses")
  func ownOptions() async throws {
    let told = Lock(0)
    let origin = UploadOrigin(bytes: 3_000, .draft, [.nameAndCut(after: 1_000), .refuse(307)])
    origin.edit { options in
      options.redirects = .follow()
      options.idempotency = .key("k3y")
      options.requiresBody = true
      options.onInterimResponse = { _ in told.withLock { $0 += 1 } }
    }
    let upload = try await origin.upload { $0.sendsContentAtOnce = true }
    #expect(upload.url == "https://example.org/moved" && origin.received == origin.content)
    // If the stack had followed the redirect, the content would have been sent twice in a row.
    #expect(origin.requests.map(\.head.method) == [.post, .head, .patch, .head, .patch])
    #expect(origin.requests.allSatisfy { $0.head.headerFields[.idempotencyKey] == nil })
    #expect(told.withLock { $0 } == 2)
  }

  @Test(
    "An upload is created at the target of a 307 or 308, and its location is relative to that", arguments: [307, 308])
  func madeElsewhere(status: Int) async throws {
    let origin = UploadOrigin(bytes: 100, .tus, location: "u/1")
    origin.redirect(status, "/v2/", "https://store.example.net/a/b")
    let upload = try await origin.upload { $0.metadata = ["a": ""] }
    #expect(upload.url == "https://store.example.net/a/u/1" && origin.received == origin.content)
    #expect(origin.requests.map(\.head.method) == [.post, .post, .post, .patch])
    #expect(origin.requests.prefix(3).allSatisfy { $0.head.headerFields[HTTPField.Name("Upload-Metadata")!] == "a" })
    #expect(origin.requests.map { $0.head.headerFields[.authorization] != nil } == [true, true, false, false])
  }

  @Test(
    "A redirect back from another origin carries no credentials, unless that origin is declared",
    arguments: [false, true])
  func backAgain(isNamed: Bool) async throws {
    let origin = UploadOrigin(bytes: 100, .tus)
    origin.redirect(307, "https://store.example.net/", "https://example.org/again")
    _ = try await origin.upload {
      if isNamed, let named = try? Origin("https://store.example.net") { $0.credentialOrigins = [named] }
    }
    #expect(origin.requests.last?.head.authority == "example.org")
    #expect(origin.requests.map { $0.head.headerFields[.authorization] != nil } == [true, isNamed, isNamed, isNamed])
  }

  @Test("An upload is not created at the target of a 302, nor at http, and endless redirects fail")
  func notMadeElsewhere() async throws {
    for (status, location) in [(302, "/v2"), (307, "http://example.org/"), (308, "mailto:a@example.org")] {
      let origin = UploadOrigin(bytes: 100, .tus)
      origin.redirect(status, location)
      let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload() }
      #expect(error?.statusCode?.code == status && origin.requests.count == 1)
    }
    let origin = UploadOrigin(bytes: 100, .tus)
    for _ in 0..<30 { origin.redirect(307, "/files") }
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload() }
    #expect(error?.words == "response/upload_mismatch" && origin.requests.count == 21)
  }

  @Test("307 and 308 are followed with the method, and 301 and 302 are not", arguments: [301, 302, 307, 308])
  func redirects(status: Int) async throws {
    let origin = UploadOrigin(bytes: 100, .tus, [.refuse(status)])
    let upload = try? await origin.upload()
    #expect((upload != nil) == (status >= 307))
    if status >= 307 { #expect(origin.requests.last?.head.path == "/moved") }
  }

  @Test("An empty file is uploaded", arguments: [UploadProtocol.tus, .draft])
  func empty(dialect: UploadProtocol) async throws {
    let origin = UploadOrigin(bytes: 0, dialect)
    #expect(try await origin.upload().length == 0)
    #expect(origin.requests.map(\.head.method) == (dialect == .tus ? [.post] : [.post, .patch]))
  }

  @Test("A missing file, a size of zero and a name with a comma are refused before anything is sent")
  func refusals() async throws {
    let origin = UploadOrigin(bytes: 10, .tus)
    for edit: (inout UploadOptions) -> Void in [
      { $0.bytesPerAppend = 0 }, { $0.metadata = ["a,b": ""] }, { $0.sendsDigests = true },
      { $0.files = SimulatedFiles() },
    ] {
      await #expect(throws: HTTPFetchError<any Error>.self) { try await origin.upload(edit: edit) }
    }
    #expect(origin.requests.isEmpty)
  }

  @Test("Progress counts the bytes handed over, and ends")
  func progress() async throws {
    let reporter = TransferProgressReporter()
    let origin = UploadOrigin(bytes: 3_000, .tus, [.cut(after: 1_000)])
    _ = try await origin.upload { $0.progress = reporter }
    #expect(reporter.current.bytesSent == 3_000 && reporter.current.totalBytesToSend == 3_000)
    for await _ in reporter.updates {}
  }
}

extension HTTPField.Name {
  // Forced: letters and a hyphen are a field name.
  // swift-format-ignore: NeverForceUnwrap
  fileprivate static let xKey = HTTPField.Name("X-Key")!
}

/// A server of uploads in either protocol that follows a script.
final class UploadOrigin: Sendable {
  /// The server's handling of a request with content.
  enum Deed: Sendable {
    case serve
    /// The connection is lost after this many bytes of the content.
    case cut(after: Int)
    /// The connection is lost after this many bytes of the content, and after an interim response with the upload's
    /// URL.
    case nameAndCut(after: Int)
    /// The server keeps this many bytes, and reports the resulting offset.
    case keep(Int)
    case refuse(Int)
  }

  private struct State {
    var received = Data()
    var requests: [TransferRequest] = []
    var deeds: ArraySlice<Deed>
    /// Responses that are sent first to requests that create an upload.
    var redirects: [TransferResponse] = []
    var options = RequestOptions()
  }

  let content: Data
  private let dialect: UploadProtocol
  private let location: String
  private let mostAtOnce: Int?
  let files = SimulatedFiles()
  private let state: Lock<State>

  init(bytes: Int, _ dialect: UploadProtocol, _ deeds: [Deed] = [], location: String = "/u/1", mostAtOnce: Int? = nil) {
    content = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    self.dialect = dialect
    self.location = location
    self.mostAtOnce = mostAtOnce
    state = Lock(State(deeds: deeds[...]))
    files.put(content, at: "/f")
  }

  var received: Data { state.withLock { $0.received } }
  var requests: [TransferRequest] { state.withLock { $0.requests } }
  func edit(_ edit: (inout RequestOptions) -> Void) { state.withLock { edit(&$0.options) } }
  func redirect(_ status: Int, _ locations: String...) {
    state.withLock { $0.redirects += locations.map { .redirect(status, to: $0) } }
  }

  @discardableResult
  func upload(_ token: UploadToken? = nil, edit: (inout UploadOptions) -> Void = { _ in }) async throws
    -> UploadedFile
  {
    let clock = ManualClock(autoAdvance: true)
    var options = UploadOptions(dialect)
    options.files = files
    edit(&options)
    var request = try ResourceRequest(
      url: "https://example.org/files", headers: ["Authorization": "Bearer t0ken", "X-Key": "k3y", "X-Plain": "1"])
    if let key = HTTPField.Name("X-Key") { request.options.sensitiveHeaders = [key] }
    let transport = ScriptedTransport { (request, _) throws(TransportError) in try await self.answer(request) }
    let stack = TransportNetworkStack(transport, time: clock.timeSource)
    let resource = RawHTTPResource.raw(request, options: state.withLock { $0.options })
    return try await stack.uploadFile("/f", to: resource, resuming: token, options: options)
  }

  func answer(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let isContent = request.head.method == .patch || request.head.headerFields[.uploadComplete] == "?1"
    let (deed, redirect) = state.withLock { state in
      state.requests.append(request)
      let redirect = request.head.method == .post && !state.redirects.isEmpty ? state.redirects.removeFirst() : nil
      return (isContent ? state.deeds.popFirst() ?? .serve : .serve, redirect)
    }
    if let redirect { return redirect }
    guard isContent else { return request.head.method == .head ? offset(200) : created() }
    if let mostAtOnce, request.body.length ?? 0 > Int64(mostAtOnce) { return .answer(413) }
    switch deed {
    case .refuse(let status): return .answer(status, fields: [.location: "/moved"])
    case .serve: try await take(request, .max)
    case .keep(let count): try await take(request, count)
    case .cut(let count): throw try await lost(after: count, of: request)
    case .nameAndCut(let count):
      for version in ["7", "8"] {
        var head = HTTPResponse(status: .init(code: 104))
        head.headerFields = [.interopVersion: version, .location: version == "8" ? location : "/wrong"]
        request.onInterimResponse?(head)
      }
      throw try await lost(after: count, of: request)
    }
    return offset(received.count == content.count ? 200 : 204)
  }

  private func lost(after count: Int, of request: TransferRequest) async throws(TransportError) -> TransportError {
    try await take(request, count)
    return TransportError(stage: .response, code: .connectionLost, message: "lost", requestSent: true)
  }

  /// Receives at most `most` bytes of the content if the request's offset is the right one.
  private func take(_ request: TransferRequest, _ most: Int) async throws(TransportError) {
    let offset = request.head.headerFields[.uploadOffset].flatMap { Int($0) } ?? 0
    guard offset == received.count else { return }
    var bytes = Data()
    do {
      if case .stream(_, _, let open) = request.body.source {
        let next = open()
        while let chunk = try await next() { bytes += chunk }
      }
    } catch {
      throw TransportError(stage: .send, code: .sendFailed, message: "\(error)", requestSent: true)
    }
    state.withLock { $0.received += bytes.prefix(most) }
  }

  private func created() -> TransferResponse {
    var fields: HTTPFields = [.location: location]
    if dialect == .draft { fields[.uploadComplete] = "?0" }
    return .answer(201, fields: fields)
  }

  private func offset(_ status: Int) -> TransferResponse {
    var fields: HTTPFields = [.uploadOffset: "\(received.count)"]
    let isAll = received.count == content.count
    if dialect == .draft { fields[.uploadComplete] = isAll && (status == 200) ? "?1" : "?0" }
    if isAll, let name = HTTPField.Name("X-Target") { fields[name] = "done" }
    return .answer(status, fields: fields)
  }
}
