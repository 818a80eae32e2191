// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Multipart responses", .timeLimit(.minutes(15)))
struct MultipartPartsTests {
  /// A body that records whether it was cancelled, and how often it was read.
  private final class Source: ResponseBodySource {
    private let chunks: Lock<ArraySlice<Data>>
    private let failure: TransportError?
    let isCancelled = Lock(false)
    let asked = Lock(0)

    init(_ text: String, size: Int = 7, failure: TransportError? = nil) {
      var rest = Data(text.utf8)
      var chunks: [Data] = []
      while !rest.isEmpty {
        chunks.append(Data(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      self.chunks = Lock(chunks[...])
      self.failure = failure
    }

    func next() async throws(TransportError) -> Data? {
      asked.withLock { $0 += 1 }
      guard let chunk = chunks.withLock({ $0.popFirst() }) else {
        if let failure { throw failure }
        return nil
      }
      return chunk
    }

    func cancel() { isCancelled.withLock { $0 = true } }

    var finalFacts: TransferFacts? { nil }
  }

  private static let message =
    "--b\r\nContent-Type: text/plain\r\n\r\nfirst part\r\n--b\r\nX-A: 1\r\n\r\nsecond part\r\n--b\r\n\r\nthird\r\n--b--\r\n"

  private func parts(
    _ source: Source, type: String = "multipart/mixed; boundary=b", maximumParts: Int? = nil,
    maximumHeadBytes: Int = 16 * 1024, maximumFields: Int = 32
  ) throws -> some AsyncSequence<MultipartPart, TransportError> & Sendable {
    try ResponseBody(source: source).parts(
      contentType: type, maximumParts: maximumParts, maximumHeadBytes: maximumHeadBytes, maximumFields: maximumFields)
  }

  @Test("Parts arrive one by one, with heads and bodies")
  func all() async throws {
    for size in [1, 3, 7, 1000] {
      var read: [String] = []
      for try await part in try parts(Source(Self.message, size: size)) {
        let text = String(decoding: try await part.body.collect(upTo: 100), as: UTF8.self)
        read.append("\(part.fields.map { "\($0.name)=\($0.value)" }) \(text)")
      }
      #expect(read == ["[\"Content-Type=text/plain\"] first part", "[\"X-A=1\"] second part", "[] third"])
    }
  }

  @Test("Unread and half-read bodies are skipped")
  func skipped() async throws {
    var iterator = try parts(Source(Self.message)).makeAsyncIterator()
    _ = try await iterator.next()
    let second = try #require(try await iterator.next())
    var body = second.body.makeAsyncIterator()
    #expect(try await body.next() != nil)
    let third = try #require(try await iterator.next())
    #expect(await words { () throws(TransportError) in try await body.next() as Data? } == "request/invalid_body")
    #expect(try await third.body.collect(upTo: 100) == Data("third".utf8))
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test("A body kept unread after the loop fails and does not look empty; one that was read stays readable")
  func kept() async throws {
    var read: [MultipartPart] = []
    var unread: [MultipartPart] = []
    for try await part in try parts(Source(Self.message)) {
      if read.isEmpty {
        _ = try await part.body.collect(upTo: 100)
        read.append(part)
      } else {
        unread.append(part)
      }
    }
    #expect(unread.count == 2)
    for part in unread {
      #expect(
        await words { () throws(TransportError) in try await part.body.collect(upTo: 100) } == "request/invalid_body")
    }
    #expect(try await read.first?.body.collect(upTo: 100) == Data())
  }

  @Test("A part body over its reader's limit leaves the other parts readable")
  func limited() async throws {
    var iterator = try parts(Source(Self.message)).makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(
      await words { () throws(TransportError) in try await first.body.collect(upTo: 3) } == "limit/body_too_large")
    #expect(try await iterator.next()?.body.collect(upTo: 100) == Data("second part".utf8))
  }

  @Test("No more is read than requested")
  func backPressure() async throws {
    let source = Source(Self.message, size: 1)
    var iterator = try parts(source).makeAsyncIterator()
    _ = try await iterator.next()
    #expect(source.asked.withLock { $0 } == "--b\r\nContent-Type: text/plain\r\n\r\n".utf8.count)
  }

  @Test("Dropping the sequence ends the transfer, and nothing else does before")
  func dropped() async throws {
    let source = Source(Self.message)
    do {
      var iterator = try parts(source).makeAsyncIterator()
      do { _ = try await iterator.next() }
      #expect(!source.isCancelled.withLock { $0 })
      _ = try await iterator.next()
    }
    #expect(source.isCancelled.withLock { $0 })
  }

  @Test("A message truncated in a body or between parts is an error")
  func truncated() async throws {
    for text in ["--b\r\n\r\nfirst", "--b\r\n\r\nfirst\r\n--b\r\n", "", "--b\r\n\r\nfirst\r\n--b"] {
      let failed = await words {
        for try await part in try parts(Source(text)) { _ = try await part.body.collect(upTo: 100) }
      }
      #expect(failed == "response/truncated_body", "\(text.debugDescription)")
    }
    let lost = TransportError(stage: .response, code: .receiveFailed, message: "lost")
    let source = Source("--b\r\n\r\nfir", failure: lost)
    var iterator = try parts(source).makeAsyncIterator()
    let part = try #require(try await iterator.next())
    #expect(
      await words { () throws(TransportError) in try await part.body.collect(upTo: 100) } == "response/receive_failed")
    // The iterator does not end cleanly afterwards.
    #expect(
      await words { () throws(TransportError) in try await iterator.next(isolation: #isolation)?.name }
        == "response/receive_failed")
    #expect(source.isCancelled.withLock { $0 })
  }

  @Test("Complete parts do not fail because of trailing bytes")
  func epilogue() async throws {
    let lost = TransportError(stage: .response, code: .receiveFailed, message: "lost")
    let short = Source("--b--epilogue", failure: lost)
    var iterator = try parts(short).makeAsyncIterator()
    #expect(try await iterator.next() == nil)
    let long = Source("--b--" + String(repeating: "x", count: 200_000), size: 1000)
    iterator = try parts(long).makeAsyncIterator()
    #expect(try await iterator.next() == nil)
    #expect(long.isCancelled.withLock { $0 } && long.asked.withLock { $0 } < 80)
  }

  @Test("Complete parts are returned although the response does not end")
  func openEnd() async throws {
    for text in ["--b--", "--b--\r\nepilogue"] {
      let source = OpenBody(text)
      let isEnded = Lock(false)
      let head = HTTPResponse(status: .ok, headerFields: [.contentType: "multipart/mixed; boundary=b"])
      let parts = try ResponseBody(source: source).parts(of: head.headerFields)
      let reading = Task {
        for try await _ in parts {}
        isEnded.withLock { $0 = true }
      }
      #expect(await eventually { isEnded.withLock { $0 } })
      #expect(source.isCancelled.read { $0 })
      source.cancel()
      try await reading.value
    }
  }

  @Test("If the response ends after its parts the transfer is not cancelled, so its connection is reusable")
  func ended() async throws {
    for text in [Self.message, Self.message + "epilogue"] {
      let source = Source(text)
      let parts = try parts(source)
      for try await _ in parts {}
      withExtendedLifetime(parts) { #expect(!source.isCancelled.withLock { $0 }) }
    }
  }

  @Test("Limits are enforced, and invalid limits refused")
  func limits() async throws {
    let counted = await words { for try await _ in try parts(Source(Self.message), maximumParts: 2) {} }
    #expect(counted == "limit/too_many_parts")
    let large = await words { for try await _ in try parts(Source(Self.message), maximumHeadBytes: 10) {} }
    #expect(large == "limit/head_too_large")
    #expect(throws: TransportError.self) { try parts(Source(""), maximumFields: -1) }
    let fields: HTTPFields = [.contentType: "multipart/mixed; boundary=b"]
    let body = Data(Self.message.utf8)
    let chosen = [
      await words { for try await _ in try ResponseBody(body).parts(of: fields, maximumParts: 2) {} },
      await words { for try await _ in try ResponseBody(body).parts(of: fields, maximumHeadBytes: 10) {} },
      await words { for try await _ in try ResponseBody(body).parts(of: fields, maximumFields: 0) {} },
    ]
    #expect(chosen == ["limit/too_many_parts", "limit/head_too_large", "limit/head_too_large"])
  }

  @Test(
    "A response of another type has no parts",
    arguments: [
      ("text/plain", "response/unexpected_content_type"), ("multipart/mixed", "response/malformed_response"),
      ("multipart/mixed; boundary=a; boundary=b", "response/malformed_response"),
      ("junk junk", "response/unexpected_content_type"),
      ("multipart/mixed; boundary=\"\"", "response/malformed_response"),
    ])
  func types(type: String, failure: String) async throws {
    #expect(await words { try parts(Source(Self.message), type: type) } == failure)
    #expect(await words { try ResponseBody(Data()).parts(of: [:]) } == "response/unexpected_content_type")
  }

  @Test("Names and file names are read as written by browsers and by RFC 6266")
  func names() async throws {
    let dispositions = [
      #"form-data; name="a%22%0D%0Ab\"; filename="c:\d%41.txt""#,
      #"attachment; filename="a\"b"; filename*=UTF-8''%C3%BC.txt"#,
      #"attachment; filename="a\"b""#, "attachment; filename*=latin1''x", "attachment; filename=\"",
      "attachment; filename=plain; filename*=UTF-8''a%00b", "attachment; filename*=UTF-8''a%0D%0Ab",
    ]
    let text = dispositions.map { "--b\r\nContent-Disposition: \($0)\r\n\r\n\r\n" }.joined() + "--b--"
    var names: [[String?]] = []
    for try await part in try parts(Source(text)) { names.append([part.name, part.filename]) }
    #expect(
      names == [
        ["a\"\r\nb\\", #"c:\d%41.txt"#], [nil, "ü.txt"], [nil, "a\"b"], [nil, nil], [nil, nil], [nil, "plain"],
        [nil, nil],
      ])
  }

  @Test("Parts of byteranges have their ranges, in any order and up to 10,000")
  func byteRanges() async throws {
    let type = "multipart/byteranges; boundary=b"
    let text =
      "--b\r\nContent-Range: bytes 5-9/20\r\n\r\n56789\r\n--b\r\nContent-Range: bytes 0-6/*\r\n\r\n0123456\r\n--b--"
    var ranges: [ClosedRange<Int64>?] = []
    for try await part in try parts(Source(text), type: type) { ranges.append(part.byteRange) }
    #expect(ranges == [5...9, 0...6])
    for field in ["", "Content-Range: bytes 9-5/20\r\n", "Content-Range: bytes\r\n"] {
      let failed = await words { for try await _ in try parts(Source("--b\r\n\(field)\r\n\r\n--b--"), type: type) {} }
      #expect(failed == "response/malformed_response")
    }
    let many = String(repeating: "--b\r\nContent-Range: bytes 0-0/1\r\n\r\n0\r\n", count: 10_000)
    var count = 0
    for try await _ in try parts(Source(many + "--b--", size: 10_000), type: type) { count += 1 }
    #expect(count == 10_000)
    let counted = await words { for try await _ in try parts(Source(many + many, size: 10_000), type: type) {} }
    #expect(counted == "limit/too_many_parts")
  }

  @Test("Concurrent readers get an error")
  func twoReaders() async throws {
    let gate = Watched(false)
    let source = ScriptedBody { _ = await gate.wait(until: { $0 }) }
    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "multipart/mixed; boundary=b"])
    let parts = try ResponseBody(source: source).parts(of: head.headerFields)
    let first = Task { () throws(TransportError) in
      var iterator = parts.makeAsyncIterator()
      return try await iterator.next(isolation: #isolation)?.name
    }
    #expect(await eventually { source.isAsked.withLock { $0 } })
    var iterator = parts.makeAsyncIterator()
    #expect(
      await words { () throws(TransportError) in try await iterator.next(isolation: #isolation)?.name }
        == "request/invalid_body")
    gate.change { $0 = true }
    #expect(await words { try await first.value } == "response/truncated_body")
  }
}

/// A body that waits and then ends.
private final class ScriptedBody: ResponseBodySource {
  let isAsked = Lock(false)
  private let wait: @Sendable () async -> Void

  init(wait: @escaping @Sendable () async -> Void) { self.wait = wait }

  func next() async throws(TransportError) -> Data? {
    isAsked.withLock { $0 = true }
    await wait()
    return nil
  }

  func cancel() {}

  var finalFacts: TransferFacts? { nil }
}

/// A body whose text arrives at once, and that ends only when it is cancelled.
private final class OpenBody: ResponseBodySource {
  private let text: Lock<Data?>
  let isCancelled = Watched(false)

  init(_ text: String) { self.text = Lock(Data(text.utf8)) }

  func next() async throws(TransportError) -> Data? {
    if let text = text.withLock({ $0.take() }) { return text }
    _ = await isCancelled.wait(until: { $0 })
    throw .cancelled()
  }

  func cancel() { isCancelled.change { $0 = true } }

  var finalFacts: TransferFacts? { nil }
}
