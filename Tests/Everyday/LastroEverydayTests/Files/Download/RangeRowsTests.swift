// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

/// A server's response to every request with a `Range`, and its effect on a download.
struct RangeRow: CustomTestStringConvertible, Sendable {
  enum Outcome: Sendable {
    /// The rest is used.
    case resumes
    /// The file is requested as a whole.
    case startsOver
    /// The call fails and the part is kept, because the server would refuse any request.
    case fails(String)
  }

  var name: String
  var outcome: Outcome
  var deed: RangeOrigin.Deed
  /// Whether segments use the part anyway: they need neither the bytes before it nor those after it.
  var segmentsResume = false

  var testDescription: String { name }

  init(
    _ name: String, _ outcome: Outcome, segmentsResume: Bool = false,
    _ answer: @escaping @Sendable (TransferRequest, RangeOrigin) throws(TransportError) -> TransferResponse
  ) {
    (self.name, self.outcome, deed, self.segmentsResume) = (name, outcome, .answer(answer), segmentsResume)
  }

  /// Creates a row whose response is a proper part with other fields; `nil` removes a field.
  init(_ name: String, _ outcome: Outcome, part fields: [String: String?]) {
    self.init(name, outcome) { request, origin in
      origin.serve(request) { head in
        for (name, value) in fields { HTTPField.Name(name).map { head.headerFields[$0] = value } }
      }
    }
  }

  /// Creates a row whose response has a status instead of the part.
  init(_ status: Int, _ outcome: Outcome, range: String? = nil) {
    self.init("\(status)\(range.map { " with \($0)" } ?? "")", outcome) { _, _ in
      .answer(status, fields: range.map { [.contentRange: $0] } ?? [:])
    }
  }

  init(_ name: String, _ outcome: Outcome, error: TransportError) {
    self.init(name, outcome) { (_, _) throws(TransportError) in throw error }
  }
}

extension RangeRow {
  static let parts: [RangeRow] = [
    RangeRow("206 that begins at a block of 4096", .resumes) { request, origin in
      origin.serve(request.from { $0 / 4096 * 4096 })
    },
    RangeRow("206 that begins at 0", .resumes) { request, origin in origin.serve(request.from { _ in 0 }) },
    RangeRow("206 that begins one byte late", .startsOver) { request, origin in
      origin.serve(request.from { $0 + 1 })
    },
    RangeRow("206 whose repeated bytes differ", .startsOver, segmentsResume: true) { request, origin in
      guard request.start >= 4096 else { return origin.serve(request.withoutRange) }
      return origin.serve(request.from { $0 - 100 }, body: { $0[$0.startIndex] ^= 1 })
    },
    RangeRow("206 that ends before the range", .startsOver) { request, origin in
      origin.serve(request.from(through: "\(request.start - 1)") { _ in 0 })
    },
    RangeRow("206 that says it is the whole, and is the rest", .startsOver) { request, origin in
      origin.serve(request) { head in
        head.headerFields[.contentRange] = "bytes 0-9999/10000"
        head.headerFields[.contentLength] = nil
      }
    },
    RangeRow("206 with less than was asked for", .resumes) { request, origin in
      origin.serve(request.from(through: "\(request.start + 1_499)") { $0 })
    },
    RangeRow("206 with more bytes than announced", .startsOver, segmentsResume: true) { request, origin in
      origin.serve(request, edit: { $0.headerFields[.contentLength] = nil }, body: { $0 += [1, 2, 3] })
    },
    RangeRow("206 without Content-Range", .startsOver, part: ["Content-Range": nil]),
    RangeRow("206 with Content-Range: none", .startsOver, part: ["Content-Range": "none"]),
    RangeRow("206 of another unit", .startsOver, part: ["Content-Range": "items 6000-9999/10000"]),
    RangeRow("206 with a range beyond its total", .startsOver, part: ["Content-Range": "bytes 6000-10009/10000"]),
    RangeRow(
      "206 with a range beyond the file", .startsOver,
      part: [
        "Content-Range": "bytes 6000-10999/*", "Content-Length": nil,
      ]),
    RangeRow("206 with another total", .startsOver, part: ["Content-Range": "bytes 6000-9999/20000"]),
    RangeRow("206 with another length", .startsOver, part: ["Content-Length": "3999"]),
    RangeRow("206 without a total", .resumes) { request, origin in
      origin.serve(request) { head in
        head.headerFields[.contentRange]?.replace("/10000", with: "/*")
      }
    },
    RangeRow("206 without a tag", .resumes, part: ["ETag": nil]),
    RangeRow("206 with a weak tag", .startsOver, part: ["ETag": "W/\"v1\""]),
    RangeRow("206 with another tag", .startsOver, part: ["ETag": "\"v2\""]),
    RangeRow("206 in gzip", .startsOver, part: ["Content-Encoding": "gzip"]),
    RangeRow("206 of several parts", .startsOver, part: ["Content-Type": "multipart/byteranges; boundary=x"]),
  ]

  static let others: [RangeRow] = [
    RangeRow("200 with the whole", .startsOver) { request, origin in origin.serve(request.withoutRange) },
    RangeRow("200 with the whole under another tag", .startsOver) { request, origin in
      origin.serve(request.withoutRange) { $0.headerFields[.eTag] = "\"v2\"" }
    },
    RangeRow("203 with the whole", .startsOver) { request, origin in
      origin.serve(request.withoutRange) { $0.status = .init(code: 203) }
    },
    RangeRow(202, .startsOver), RangeRow(204, .startsOver), RangeRow(300, .startsOver), RangeRow(304, .startsOver),
    RangeRow(400, .startsOver), RangeRow(403, .startsOver), RangeRow(404, .startsOver), RangeRow(405, .startsOver),
    RangeRow(410, .startsOver), RangeRow(412, .startsOver), RangeRow(416, .startsOver),
    RangeRow(416, .startsOver, range: "bytes */6000"), RangeRow(416, .startsOver, range: "bytes */10000"),
    RangeRow(416, .startsOver, range: "bytes */20000"), RangeRow(416, .startsOver, range: "none"),
    RangeRow(417, .startsOver), RangeRow(500, .startsOver), RangeRow(501, .startsOver), RangeRow(505, .startsOver),
    RangeRow("a head that cannot be read", .startsOver, error: .response(.malformedResponse)),
    RangeRow("a coding that was not offered", .startsOver, error: .response(.badContentEncoding)),
    RangeRow(401, .fails("http/unexpected_status")), RangeRow(408, .fails("http/unexpected_status")),
    RangeRow(429, .fails("http/unexpected_status")), RangeRow(502, .fails("http/unexpected_status")),
    RangeRow(503, .fails("http/unexpected_status")), RangeRow(504, .fails("http/unexpected_status")),
    RangeRow(
      "a timeout", .fails("timeout/idle_timeout"),
      error: TransportError(stage: .timeout, code: .idleTimeout, message: "idle", requestSent: true)),
  ]

  static let all = parts + others
}

@Suite("Unusual responses to Range", .timeLimit(.minutes(15)))
struct RangeRowsTests {
  private static func segmented(_ count: Int) -> (inout DownloadOptions) -> Void {
    { options in
      (options.segments, options.leastSegmentBytes, options.retries) = (count, 1_000, .maxRetries(1))
    }
  }

  private static func words(_ operation: () async throws -> DownloadedFile) async -> String? {
    do {
      _ = try await operation()
      return nil
    } catch {
      return (error as? HTTPFetchError<any Error>)?.words ?? "\(error)"
    }
  }

  @Test(
    "A resumed download ends in the complete file, or in an error that the next call does not repeat",
    arguments: RangeRow.all, [1, 2])
  func resumed(row: RangeRow, segments: Int) async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await DownloadRowsTests.begun(origin, files)
    origin.answerRanges(by: row.deed)
    if case .fails(let words) = row.outcome {
      #expect(
        await Self.words { try await origin.download(to: "/d/file", in: files, Self.segmented(segments)) } == words)
      #expect(files.content("/d/file.part")?.prefix(6_000) == origin.content.prefix(6_000))
      origin.answerRanges(by: nil)
      let file = try await origin.download(to: "/d/file", in: files, Self.segmented(segments))
      #expect(file.resumedFrom == 6_000)
    } else {
      let before = origin.requests.count
      let file = try await origin.download(to: "/d/file", in: files, Self.segmented(segments))
      var resumes = segments > 1 && row.segmentsResume
      if case .resumes = row.outcome { resumes = true }
      if resumes {
        #expect(file.resumedFrom == 6_000 && file.restarts == 0)
      } else {
        #expect(file.resumedFrom == 0 && file.restarts == 1)
        #expect(origin.requests.count(where: { $0.head.headerFields[.range] == nil }) <= 2)
      }
      #expect(origin.requests.count - before <= 2 * segments + 2)
    }
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  @Test("A first request with a range, as for segments, is followed by one without", arguments: RangeRow.all)
  func probe(row: RangeRow) async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    origin.answerRanges(by: row.deed)
    if case .fails(let words) = row.outcome {
      #expect(await Self.words { try await origin.download(to: "/d/file", in: files, Self.segmented(2)) } == words)
      #expect(files.names.isEmpty)
      return
    }
    try await origin.download(to: "/d/file", in: files, Self.segmented(2))
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  @Test(
    "A part is kept until the server sends the whole, and a refusal of the whole is reported",
    arguments: [403, 404, 503],
    [1, 2])
  func wholeRefused(status: Int, segments: Int) async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await DownloadRowsTests.begun(origin, files)
    origin.answerRanges(
      by: .answer { request, _ in
        // Segments are requested at the same time. None of them may receive the response that is meant for the whole.
        .answer(400)
      })
    let asked = origin.requests.count
    let refusing = RangeOrigin.Deed.answer { request, origin in
      request.head.headerFields[.range] == nil ? .answer(status) : .answer(400)
    }
    for _ in 0..<6 { origin.script(refusing) }
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await origin.download(to: "/d/file", in: files) {
        Self.segmented(segments)(&$0)
        $0.retries = .maxRetries(0)
      }
    }
    #expect(error?.statusCode?.code == status && origin.requests.count - asked <= 3)
    #expect(files.content("/d/file.part")?.prefix(6_000) == origin.content.prefix(6_000))
    origin.skipScript()
    origin.answerRanges(by: nil)
    let file = try await origin.download(to: "/d/file", in: files, Self.segmented(segments))
    #expect(file.resumedFrom == 6_000 && files.content("/d/file") == origin.content)
  }

  @Test(
    "A download that may not start over fails once, and the next call begins from the first byte", arguments: [1, 2])
  func mayNotStartOver(segments: Int) async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await DownloadRowsTests.begun(origin, files)
    origin.answerRanges(by: .answer { _, _ in .answer(400) })
    let edit: (inout DownloadOptions) -> Void = {
      Self.segmented(segments)(&$0)
      $0.maximumRestarts = 0
    }
    #expect(
      await Self.words { try await origin.download(to: "/d/file", in: files, edit) } == "response/resume_mismatch")
    try await origin.download(to: "/d/file", in: files, edit)
    #expect(files.content("/d/file") == origin.content)
  }

  @Test("A call starts over once: a second unusable part is an error, and the next call starts over again")
  func once() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await DownloadRowsTests.begun(origin, files)
    origin.answerRanges(
      by: .answer { request, origin in
        origin.serve(request) { $0.headerFields[.contentRange] = nil }
      })
    let odd = RangeOrigin.Deed.answer { request, origin in
      origin.serve(request) { $0.headerFields[.contentRange] = nil }
    }
    origin.script(odd, .cut(after: 3_000))
    #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "response/resume_mismatch")
    try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content)
  }

  @Test("A 206 with every byte is accepted if no range was requested")
  func unaskedWhole() async throws {
    let origin = RangeOrigin(
      bytes: 10_000,
      [
        .answer { request, origin in
          origin.serve(request) { head in
            head.status = .partialContent
            head.headerFields[.contentRange] = "bytes 0-9999/10000"
          }
        }
      ])
    let files = SimulatedFiles()
    try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content)
  }
}

extension TransferRequest {
  fileprivate var start: Int {
    let range = head.headerFields[.range] ?? ""
    return Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }) ?? 0
  }

  fileprivate var withoutRange: TransferRequest {
    var request = self
    request.head.headerFields[.range] = nil
    return request
  }

  /// Returns the request with a range that begins elsewhere.
  fileprivate func from(through end: String? = nil, _ begin: (Int) -> Int) -> TransferRequest {
    var request = self
    let range = head.headerFields[.range] ?? ""
    let last = end ?? String(range.drop { $0 != "-" }.dropFirst())
    request.head.headerFields[.range] = "bytes=\(begin(start))-\(last)"
    return request
  }
}

extension TransportError {
  fileprivate static func response(_ code: FailureCode) -> TransportError {
    TransportError(stage: .response, code: code, message: "cannot be read", requestSent: true)
  }
}
