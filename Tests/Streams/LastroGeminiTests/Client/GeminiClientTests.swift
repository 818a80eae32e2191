// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini client", .timeLimit(.minutes(15)))
struct GeminiClientTests {
  static let start = "gemini://capsule.example/"

  /// Returns a client of a server that gives the same reply to all requests.
  static func client(
    _ reply: Capsule.Reply, longestRead: Int = .max, _ change: (inout GeminiConfiguration) -> Void = { _ in }
  ) -> GeminiClient { .trusting(Capsule(longestRead: longestRead) { _ in reply }, change) }

  @Test("A document is returned whole, streamed, and read one byte at a time", arguments: [1, 3, .max])
  func success(longestRead: Int) async throws {
    let capsule = Capsule(longestRead: longestRead) { _ in .text("20 text/gemini; lang=en\r\n# Hello\r\nbody") }
    let client = GeminiClient.trusting(capsule)
    let response = try await client.fetch("capsule.example").collected()
    #expect(response.status == .success && response.meta == "text/gemini; lang=en")
    #expect(response.text == "# Hello\r\nbody" && response.header.parsedMediaType?.parameters["lang"] == "en")
    #expect(capsule.requests == ["gemini://capsule.example/"])
    let request = try #require(capsule.dialed.first)
    #expect(request.host == "capsule.example" && request.port == 1965 && request.tls?.applicationProtocols == [])
    #expect(request.connection?.tls.minimumVersion == .v1_2 && request.connectTimeout == .seconds(10))
    var pieces = Data()
    for try await piece in try await client.fetch(Self.start).body { pieces += piece }
    #expect(pieces == response.data)
    var lines: [GemtextLine] = []
    for try await line in try await client.fetch(Self.start).gemtext { lines.append(line) }
    #expect(lines == [.heading(level: 1, text: "Hello"), .text("body")])
  }

  static let statuses: [(String, Int, String)] = [
    ("20\r\n", 20, ""), ("20 \r\n", 20, ""), ("29 x/y\r\n", 29, "x/y"), ("10 Name?\r\n", 10, "Name?"),
    ("11 Password?\r\n", 11, "Password?"), ("15 x\r\n", 15, "x"), ("40 busy\r\n", 40, "busy"), ("41\r\n", 41, ""),
    ("44 30\r\n", 44, "30"), ("49 ?\r\n", 49, "?"), ("51 no\r\n", 51, "no"), ("59 bad\r\n", 59, "bad"),
    ("60 who?\r\n", 60, "who?"), ("61\r\n", 61, ""), ("62 old\r\n", 62, "old"), ("67 x\r\n", 67, "x"),
  ]

  @Test(
    "Every status class, with unknown second digits, is a response, and only a 2x has a body",
    arguments: statuses)
  func everyStatus(header: String, status: Int, meta: String) async throws {
    for longestRead in [1, .max] {
      let client = Self.client(.text(header + "body"), longestRead: longestRead)
      let response = try await client.fetch(Self.start).collected()
      #expect(response.status.rawValue == status && response.meta == meta && response.redirects.isEmpty)
      #expect(response.status.category.rawValue == status / 10)
      #expect(response.data == (status < 30 && status >= 20 ? Data("body".utf8) : nil))
    }
  }

  static let brokenReplies: [(Capsule.Reply, FailureStage, FailureCode)] = [
    (.text(""), .response, .connectionLost), (.text("20 text"), .response, .connectionLost),
    (.text("20 text\n"), .response, .malformedResponse), (.text("99 x\r\n"), .response, .malformedResponse),
    (.text("2000\r\n"), .response, .malformedResponse), (.text("20 \u{1}\r\n"), .response, .malformedResponse),
    (.text("20 " + String(repeating: "x", count: 1025) + "\r\n"), .response, .headTooLarge),
    (.text("20 " + String(repeating: "x", count: 100_000)), .response, .headTooLarge),
    (.truncated("20 te"), .response, .truncatedStream), (.truncated(""), .response, .truncatedStream),
    (.truncated("20 text/plain\r\nhalf"), .response, .truncatedBody),
    (.text("30\r\n"), .redirect, .invalidRedirect), (.text("30 gemini://\r\n"), .redirect, .invalidRedirect),
    (.text("30 gemini://u@h.example/\r\n"), .redirect, .invalidRedirect),
    (.text("30 https://h.example/\r\n"), .redirect, .redirectRefused),
    (.text("31 //other.example/\r\n"), .redirect, .redirectRefused),
    (.text("31 gemini://capsule.example:1966/\r\n"), .redirect, .redirectRefused),
    (.text("30 /\r\n"), .redirect, .redirectLoop), (.text("30 #x\r\n"), .redirect, .redirectLoop),
  ]

  @Test("A protocol violation is a typed error with its stage", arguments: brokenReplies)
  func broken(reply: Capsule.Reply, stage: FailureStage, code: FailureCode) async {
    for longestRead in [1, .max] {
      let client = Self.client(reply, longestRead: longestRead)
      let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start).collected() }
      #expect(error?.stage == stage && error?.code == code, "\(reply): \(String(describing: error))")
      #expect(error?.url?.text == Self.start && error?.message.isEmpty == false)
    }
  }

  @Test("A truncated body returns its bytes first, and is accepted if tolerated")
  func truncation() async throws {
    let reply = Capsule.Reply.truncated("20 text/plain\r\nhalf")
    let body = try await Self.client(reply).fetch(Self.start).body
    var bytes = Data()
    let error = await #expect(throws: GeminiError.self) { for try await piece in body { bytes += piece } }
    #expect(error?.code == .truncatedBody && error?.cause?.code == .truncatedStream && bytes == Data("half".utf8))
    let tolerant = try await Self.client(reply) { $0.toleratesTruncation = true }.fetch(Self.start).collected()
    #expect(tolerant.text == "half" && tolerant.isTruncated)
    let whole = try await Self.client(.text("20 text/plain\r\nhalf")) { $0.toleratesTruncation = true }
      .fetch(Self.start).collected()
    #expect(!whole.isTruncated)
  }

  @Test("A body larger than the limit is not collected")
  func bodyLimit() async throws {
    let client = Self.client(.text("20 x/y\r\n12345"), longestRead: 1)
    #expect(try await client.fetch(Self.start).collected(upTo: 5).data == Data("12345".utf8))
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start).collected(upTo: 4) }
    #expect(error?.stage == .limit && error?.code == .bodyTooLarge && error?.header?.status == .success)
  }

  @Test("An invalid URL fails before anything is dialed")
  func badURL() async {
    let capsule = Capsule { _ in .text("20\r\n") }
    let client = GeminiClient.trusting(capsule)
    for url in ["", "https://h.example/", "gemini://u@h.example/"] {
      let error = await #expect(throws: GeminiError.self) { try await client.fetch(url) }
      #expect(error?.stage == .request)
    }
    #expect(capsule.dialed.isEmpty)
  }

  // MARK: limits

  @Test("A silent peer, and one that never ends its header, are ended by a limit", arguments: ["", "2", "20 text\r"])
  func silence(said: String) async throws {
    let capsule = Capsule { _ in .stall(said) }
    let client = GeminiClient.trusting(capsule) { $0.headerTimeout = .milliseconds(20) }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start) }
    #expect(error?.stage == .timeout && error?.code == .headerTimeout)
    // The connection is closed, too.
    try await capsule.finished.waitForEvents(count: 1)
  }

  @Test("A header that arrives byte by byte ends at the limit for the whole header")
  func dripping() async {
    let clock = ManualClock(autoAdvance: true)
    let slow = MemoryDialer(shape: .init(longestRead: 1, capacity: 1)) { _, stream in
      while try await stream.read() != Data([10]) {}
      try await stream.write(Data("20 ".utf8))
      while true {
        clock.advance(by: .seconds(1))
        try await stream.write(Data("a".utf8))
      }
    }
    var configuration = GeminiConfiguration()
    configuration.trust = .authorities
    configuration.time = clock.timeSource
    let client = GeminiClient(dialer: slow, configuration: configuration)
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start) }
    #expect(error?.code == .headerTimeout)
  }

  @Test("A body that stalls ends at the idle limit or the total limit")
  func idle() async throws {
    let client = Self.client(.stall("20 x/y\r\nsome")) { $0.idleTimeout = .milliseconds(20) }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start).collected() }
    #expect(error?.stage == .timeout && error?.code == .idleTimeout && error?.header?.meta == "x/y")
    for said in ["", "20 x/y\r\nsome"] {
      let total = Self.client(.stall(said)) { $0.totalTimeout = .milliseconds(20) }
      let late = await #expect(throws: GeminiError.self) { try await total.fetch(Self.start).collected() }
      #expect(late?.stage == .timeout && late?.code == .totalTimeout)
    }
  }

  @Test("The total limit also ends a body that always has bytes ready, and its connection")
  func endless() async throws {
    let clock = ManualClock()
    let capsule = Capsule(longestRead: 1) { _ in .stall("20 x/y\r\nsome") }
    let client = GeminiClient.trusting(capsule) {
      $0.time = clock.timeSource
      $0.totalTimeout = .seconds(10)
    }
    let response = try await client.fetch(Self.start)
    var bytes = response.body.makeAsyncIterator()
    #expect(try await bytes.next() == Data("s".utf8))
    clock.advance(by: .seconds(10))
    for _ in 1...2 {
      let error = await #expect(throws: GeminiError.self) { try await bytes.next() }
      #expect(error?.stage == .timeout && error?.code == .totalTimeout && error?.header?.meta == "x/y")
    }
    try await capsule.finished.waitForEvents(count: 1)
  }

  @Test("The last line of truncated gemtext is returned before the error")
  func truncatedGemtext() async throws {
    let response = try await Self.client(.truncated("20 text/gemini\r\n# One\n```\ntw")).fetch(Self.start)
    var lines: [GemtextLine] = []
    var iterator = response.gemtext.makeAsyncIterator()
    for _ in 1...4 { if let line = try await iterator.next() { lines.append(line) } }
    #expect(
      lines == [.heading(level: 1, text: "One"), .preformatStart(alternative: nil), .preformatted("tw"), .preformatEnd])
    for _ in 1...2 {
      let error = await #expect(throws: GeminiError.self) { try await iterator.next() }
      #expect(error?.code == .truncatedBody)
    }
  }

  @Test("Cancelling the task ends a request and its connection")
  func cancellation() async throws {
    let arrived = EventRecorder<String>()
    let capsule = Capsule { request in
      arrived.record(request)
      return .stall("")
    }
    let client = GeminiClient.trusting(capsule)
    let work = Task { try await client.fetch(Self.start) }
    try await arrived.waitForEvents(count: 1)
    work.cancel()
    let result = await work.result
    guard case .failure(let error as GeminiError) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(error.stage == .cancelled)
    try await capsule.finished.waitForEvents(count: 1)
  }

  @Test("A body that is dropped or cancelled closes the connection")
  func dropping() async throws {
    let capsule = Capsule { _ in .stall("20 x/y\r\nsome") }
    let client = GeminiClient.trusting(capsule)
    _ = try await client.fetch(Self.start)
    try await capsule.finished.waitForEvents(count: 1)
    let body = try await client.fetch(Self.start).content
    body.cancel()
    try await capsule.finished.waitForEvents(count: 2)
    var bytes = body.makeAsyncIterator()
    let error = await #expect(throws: GeminiError.self) { while try await bytes.next() != nil {} }
    #expect(error?.stage == .cancelled)
  }
}

/// A Gemini server in memory, with a certificate for clients that check one.
final class Capsule: Dialer {
  /// The server's handling of a request.
  enum Reply: Sendable {
    /// The server sends this text, then closes the stream properly.
    case text(String)
    /// The server sends this text, then cuts the connection.
    case truncated(String)
    /// The server sends this text, then stays silent.
    case stall(String)
  }

  private struct State {
    var dialed: [DialRequest] = []
    var requests: [String] = []
    var certificate: MintedCertificate?
    var closed = 0
  }

  private let state: Lock<State>
  private let shape: MemoryStream.Shape
  private let facts: StreamFacts
  private let reply: @Sendable (String) async -> Reply
  let finished = EventRecorder<String>()

  init(
    certificate: MintedCertificate? = nil, longestRead: Int = .max, facts: StreamFacts = StreamFacts(),
    reply: @escaping @Sendable (String) async -> Reply
  ) {
    state = Lock(State(certificate: certificate))
    shape = MemoryStream.Shape(longestRead: longestRead)
    self.facts = facts
    self.reply = reply
  }

  /// The dial requests that were received.
  var dialed: [DialRequest] { state.withLock { $0.dialed } }
  /// The request lines that arrived.
  var requests: [String] { state.withLock { $0.requests } }
  /// Presents another certificate from now on.
  func show(_ certificate: MintedCertificate) { state.withLock { $0.certificate = certificate } }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let certificate = state.withLock { state in
      state.dialed.append(request)
      return state.certificate
    }
    if let judge = request.tls?.soleJudge, let certificate {
      guard let host = try? HostName(request.host),
        let chain = try? PeerCertificate.certificates(pem: certificate.certificatePEM)
      else { throw .refused(.invalidOption, "a certificate that cannot be read") }
      let trust = ServerTrust(host: host, port: request.port, chain: chain)
      if case .failure(let failure) = judge.decision(on: trust) { throw .refusedTrust(failure) }
    }
    let dialer = MemoryDialer(shape: shape, facts: facts) { [self] _, stream in
      var line = Data()
      while !line.suffix(2).elementsEqual([13, 10]) {
        guard let more = try await stream.read() else { return }
        line += more
      }
      let text = String(decoding: line.dropLast(2), as: UTF8.self)
      state.withLock { $0.requests.append(text) }
      switch await reply(text) {
      case .text(let text): try await stream.write(Data(text.utf8))
      case .truncated(let text):
        try await stream.write(Data(text.utf8))
        stream.truncate()
      case .stall(let text):
        try await stream.write(Data(text.utf8))
        _ = try? await stream.read()
        finished.record(text)
      }
    }
    return try await dialer.dial(request)
  }
}

extension GeminiClient {
  /// Returns a client that trusts every server, so that tests need no certificates.
  static func trusting(_ capsule: Capsule, _ change: (inout GeminiConfiguration) -> Void = { _ in }) -> GeminiClient {
    var configuration = GeminiConfiguration()
    configuration.trust = .authorities
    change(&configuration)
    return GeminiClient(dialer: capsule, configuration: configuration)
  }
}
