// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Downloads from servers that have changed or are faulty", .timeLimit(.minutes(15)))
struct DownloadRowsTests {
  /// Leaves a part of 6,000 of 10,000 bytes, as an earlier process would.
  static func begun(_ origin: RangeOrigin, _ files: SimulatedFiles) async throws {
    origin.script(.cut(after: 6_000))
    await #expect(throws: (any Error).self) {
      try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
    }
    #expect(files.content("/d/file.part")?.count == 6_000)
  }

  private static func words(_ operation: () async throws -> DownloadedFile) async -> String {
    do {
      _ = try await operation()
      return "no error"
    } catch let error as HTTPFetchError<any Error> {
      return error.words
    } catch {
      return "\(error)"
    }
  }

  @Test("A changed representation is downloaded again, without any old byte")
  func changed() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    let other = RangeOrigin(bytes: 4_321).content
    origin.change(to: other, tag: "\"v2\"")
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == other)
    #expect(file.restarts == 1 && file.resumedFrom == 0 && file.requests == 1 && file.entityTag == "\"v2\"")
  }

  @Test("A changed representation fails the download if configured")
  func changedAndRefused() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    origin.change(to: Data("other".utf8), tag: "\"v2\"")
    #expect(
      await Self.words { try await origin.download(to: "/d/file", in: files) { $0.maximumRestarts = 0 } }
        == "response/resume_mismatch")
    #expect(files.names.isEmpty)
  }

  @Test(
    "An unusable part is not used: the whole file is downloaded",
    arguments: [
      ["Content-Range": "bytes 6001-9999/10000"], ["Content-Range": "bytes 0-9999/10000"],
      ["Content-Range": "bytes 6000-9999/20000"], ["Content-Range": "none"], ["ETag": "\"v2\""], ["ETag": "W/\"v1\""],
      ["Content-Type": "multipart/byteranges; boundary=x"], ["Content-Encoding": "gzip"], ["Content-Length": "3999"],
    ])
  func misfit(fields: [String: String]) async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    origin.script(
      .answer { request, origin in
        origin.serve(request) { head in
          for (name, value) in fields { HTTPField.Name(name).map { head.headerFields[$0] = value } }
        }
      })
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.resumedFrom == 0 && file.restarts == 1 && file.requests == 2)
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  @Test("A part from the first byte on is not the requested rest, also if several parts are allowed")
  func otherPart() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    origin.script(
      // Without its length, the remainder cannot be divided, so it is downloaded in one part.
      .answer { request, origin in origin.serve(request, cut: 6_000) { $0.headerFields[.contentLength] = nil } })
    _ = await Self.words { try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) } }
    origin.script(
      .answer { request, origin in
        origin.serve(request) { head in
          head.headerFields[.contentRange] = "bytes 0-9999/10000"
          head.headerFields[.contentLength] = nil
        }
      })
    let file = try await origin.download(to: "/d/file", in: files) {
      ($0.segments, $0.leastSegmentBytes) = (2, 1_000)
    }
    #expect(file.restarts == 1 && files.content("/d/file") == origin.content)
  }

  @Test("A finished download releases its files, though other references keep them open")
  func lockGivenBack() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    files.holdOpened(true)
    defer { files.holdOpened(false) }
    try await Self.begun(origin, files)
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.resumedFrom == 6_000 && files.content("/d/file") == origin.content)
  }

  @Test("A server without ranges sends the whole file, which is read as it arrives")
  func noRanges() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    origin.script(
      .answer { request, origin in
        var request = request
        request.head.headerFields[.range] = nil
        return origin.serve(request)
      })
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content && file.restarts == 1 && file.resumedFrom == 0)
  }

  @Test(
    "Without a validator, ranges or an uncoded body nothing is kept, and a loss starts over",
    arguments: [["ETag": "W/\"v1\""], ["ETag": "unquoted"], ["Accept-Ranges": "none"], ["Content-Encoding": "gzip"]])
  func notResumable(fields: [String: String]) async throws {
    let edit: @Sendable (inout HTTPResponse) -> Void = { head in
      for (name, value) in fields { HTTPField.Name(name).map { head.headerFields[$0] = value } }
    }
    let origin = RangeOrigin(
      bytes: 10_000,
      [
        .answer { request, origin in origin.serve(request, cut: 6_000, edit: edit) },
        .answer { request, origin in origin.serve(request, edit: edit) },
      ])
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content && file.restarts == 0 && file.requests == 2)
    #expect(origin.requests.allSatisfy { $0.head.headerFields[.range] == nil })
    #expect(file.contentEncoding == fields["Content-Encoding"] && file.resumeObstacle != nil)
    origin.script(.answer { request, origin in origin.serve(request, cut: 6_000, edit: edit) })
    _ = await Self.words {
      try await origin.download(to: "/d/other", in: files) { $0.retries = .maxRetries(0) }
    }
    #expect(files.names == ["/d/file"])
  }

  @Test("The error of a loss after which nothing is kept gives the reason in its hint")
  func hintOfLoss() async throws {
    let origin = RangeOrigin(
      bytes: 10_000,
      [.answer { request, origin in origin.serve(request, cut: 6_000) { $0.headerFields[.eTag] = "W/\"v1\"" } }])
    let files = SimulatedFiles()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
    }
    #expect(error?.hint?.hasSuffix("a later call cannot resume the download: the server's ETag is weak") == true)
    #expect(files.names.isEmpty)
  }

  @Test("A download from a server without Date is resumed if its Last-Modified is old enough")
  func noDate() async throws {
    let undated: @Sendable (inout HTTPResponse) -> Void = { head in
      head.headerFields[.date] = nil
      head.headerFields[.eTag] = nil
      head.headerFields[.lastModified] = "Thu, 01 Jan 1970 00:00:00 GMT"
    }
    let origin = RangeOrigin(
      bytes: 10_000, tag: nil,
      [.answer { request, origin in origin.serve(request, cut: 6_000, edit: undated) }])
    origin.add([.lastModified: "Thu, 01 Jan 1970 00:00:00 GMT"])
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.requests == 2 && file.restarts == 0 && files.content("/d/file") == origin.content)
    #expect(origin.requests.last?.head.headerFields[.ifRange] == "Thu, 01 Jan 1970 00:00:00 GMT")
  }

  @Test("Two consecutive losses without a byte end the download, and the received bytes are kept")
  func noProgress() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 3_000), .cut(after: 0), .cut(after: 0)])
    let files = SimulatedFiles()
    #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "response/truncated_body")
    #expect(origin.requests.count == 3 && files.content("/d/file.part")?.count == 3_000)
  }

  @Test("Each new byte resets the count of losses")
  func slowProgress() async throws {
    let origin = RangeOrigin(bytes: 2_000, chunk: 10, Array(repeating: .cut(after: 10), count: 150))
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.requests == 151 && files.content("/d/file") == origin.content)
  }

  @Test(
    "A refusal of the rest and of the whole fails with its status and keeps the existing bytes",
    arguments: [404, 410, 403, 500])
  func refused(status: Int) async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    origin.script(.answer { _, _ in .answer(status) }, .answer { _, _ in .answer(status) })
    #expect(
      await Self.words { try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) } }
        == "http/unexpected_status")
    #expect(origin.requests.suffix(2).map { $0.head.headerFields[.range] } == ["bytes=6000-", nil])
    #expect(files.content("/d/file.part")?.count == 6_000 && files.content("/d/file.part.json") != nil)
  }

  @Test("A retryable status is retried; one that brings no file fails and leaves nothing")
  func statuses() async throws {
    let origin = RangeOrigin(bytes: 100, [.answer { _, _ in .answer(503) }, .answer { _, _ in .answer(429) }])
    let files = SimulatedFiles()
    #expect(try await origin.download(to: "/d/file", in: files).length == 100)
    origin.script(.answer { _, _ in .answer(204) })
    #expect(await Self.words { try await origin.download(to: "/d/none", in: files) } == "http/unexpected_status")
    #expect(files.names == ["/d/file"])
  }

  @Test("412 counts as a change")
  func preconditionFailed() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    origin.script(.answer { _, _ in .answer(412) })
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.restarts == 1 && files.content("/d/file") == origin.content)
  }

  @Test("An unknown length is determined at the end")
  func unknownLength() async throws {
    let origin = RangeOrigin(
      bytes: 10_000,
      [
        .answer { request, origin in
          origin.serve(request, cut: 6_000) { $0.headerFields[.contentLength] = nil }
        }
      ])
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.length == 10_000 && file.requests == 2 && files.content("/d/file") == origin.content)
  }

  @Test("An empty file is downloaded")
  func empty() async throws {
    let origin = RangeOrigin(bytes: 0)
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.length == 0 && files.content("/d/file") == Data() && files.names == ["/d/file"])
  }

  @Test("Another URL to the same path starts over, unless the caller declares it the same")
  func anotherSource() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles()
    try await Self.begun(origin, files)
    let url = "https://example.org/file?token=0ther"
    let file = try await origin.download(to: "/d/file", in: files, url: url)
    #expect(file.resumedFrom == 0 && file.restarts == 0)
    origin.script(.cut(after: 6_000))
    _ = await Self.words {
      try await origin.download(to: "/d/named", in: files) {
        $0.identity = "report 7"
        $0.retries = .maxRetries(0)
      }
    }
    let named = try await origin.download(to: "/d/named", in: files, url: url) { $0.identity = "report 7" }
    #expect(named.resumedFrom == 6_000)
  }

  @Test("A full disk is reported as such, and the synced bytes are resumed from")
  func fullDisk() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    let files = SimulatedFiles(capacity: 7_500)
    let words = await Self.words {
      try await origin.download(to: "/d/file", in: files) { $0.bytesPerSync = 2_000 }
    }
    #expect(words == "response/disk_full")
    #expect(files.content("/d/file") == nil)
    files.state.withLock { $0.capacity = .max }
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.resumedFrom == 6_000 && files.content("/d/file") == origin.content)
  }

  @Test("A disk that is full from the start leaves nothing behind")
  func fullAtOnce() async throws {
    let files = SimulatedFiles(capacity: 100)
    #expect(
      await Self.words { try await RangeOrigin(bytes: 10_000).download(to: "/d/file", in: files) }
        == "response/disk_full")
    #expect(files.names.isEmpty)
  }

  @Test("One download at a time writes to a path")
  func twoAtATime() async throws {
    let files = SimulatedFiles()
    let file = try files.open("/d/file.part", .keeping)
    #expect(try file.lock())
    let origin = RangeOrigin(bytes: 10)
    #expect(
      await Self.words { try await origin.download(to: "/d/file", in: files) } == "request/download_in_progress")
    #expect(origin.requests.isEmpty)
  }

  @Test("An existing file is replaced only if configured, and then atomically")
  func replacing() async throws {
    let origin = RangeOrigin(bytes: 10)
    let files = SimulatedFiles()
    files.put(Data("old".utf8), at: "/d/file")
    #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "request/file_exists")
    #expect(origin.requests.isEmpty && files.names == ["/d/file"])
    try await origin.download(to: "/d/file", in: files) { $0.replaces = true }
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  @Test("A file that appears meanwhile is not replaced")
  func appearing() async throws {
    let files = SimulatedFiles()
    let origin = RangeOrigin(
      bytes: 10,
      [
        .answer { request, origin in
          files.put(Data("other".utf8), at: "/d/file")
          return origin.serve(request)
        }
      ])
    #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "response/file_exists")
    #expect(files.content("/d/file") == Data("other".utf8))
  }

  @Test("More bytes than allowed are not written, announced or not", arguments: [true, false])
  func limit(isAnnounced: Bool) async throws {
    let origin = RangeOrigin(
      bytes: 10_000,
      [
        .answer { request, origin in
          origin.serve(request) { if !isAnnounced { $0.headerFields[.contentLength] = nil } }
        }
      ])
    let files = SimulatedFiles()
    let words = await Self.words { try await origin.download(to: "/d/file", in: files) { $0.maximumBytes = 9_999 } }
    #expect(words == "limit/body_too_large" && files.names.isEmpty)
  }

  @Test("Redirects are followed before and after a resume, with the condition")
  func redirects() async throws {
    let redirect = RangeOrigin.Deed.answer { _, _ in .redirect(302, to: "https://example.org/mirror") }
    let origin = RangeOrigin(bytes: 10_000, [redirect, .cut(after: 6_000), redirect])
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(files.content("/d/file") == origin.content && file.requests == 2)
    #expect(origin.requests.map(\.head.path) == ["/file?token=s3cr3t", "/mirror", "/file?token=s3cr3t", "/mirror"])
    let last = try #require(origin.requests.last).head.headerFields
    #expect(last[.range] == "bytes=6000-" && last[.ifRange] == "\"v1\"")
  }

  @Test(
    "A request for less than the whole is refused", arguments: ["Range", "If-Range", "If-Match"])
  func otherFields(name: String) async throws {
    let origin = RangeOrigin(bytes: 10)
    let stack = TransportNetworkStack(origin.transport)
    var options = DownloadOptions()
    options.files = SimulatedFiles()
    var request = try ResourceRequest(url: "https://example.org/")
    try request.setHeader(name, "bytes=0-")
    let post = try ResourceRequest(method: .post, url: "https://example.org/")
    for (request, code) in [(request, "request/invalid_header"), (post, "request/invalid_method")] {
      let words = await Self.words { [options] in
        try await stack.download(RawHTTPResource.raw(request), to: "/f", options: options)
      }
      #expect(words == code)
    }
    #expect(origin.requests.isEmpty)
  }

  @Test("A cancelled download keeps the received bytes")
  func cancelled() async throws {
    let files = SimulatedFiles()
    let origin = RangeOrigin(bytes: 10_000, [.answer { request, origin in origin.serve(request, hangs: 6_000) }])
    let task = Task { try await origin.download(to: "/d/file", in: files) }
    #expect(await eventually { origin.sent == 6_000 })
    task.cancel()
    #expect(await Self.words { try await task.value } == "cancelled/cancelled")
    #expect(files.content("/d/file.part")?.count == 6_000)
    #expect(try await origin.download(to: "/d/file", in: files).resumedFrom == 6_000)
  }

  @Test("Progress counts the bytes of the file across losses")
  func progress() async throws {
    let reporter = TransferProgressReporter()
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
    try await origin.download(to: "/d/file", in: SimulatedFiles()) { $0.progress = reporter }
    #expect(reporter.current.bytesReceived == 10_000 && reporter.current.totalBytesToReceive == 10_000)
    var last: TransferProgress?
    for await step in reporter.updates { last = step }
    #expect(last?.bytesReceived == 10_000)
  }

  @Test("Invalid options are refused before anything is sent")
  func options() async throws {
    let origin = RangeOrigin(bytes: 10)
    let edits: [(inout DownloadOptions) -> Void] = [
      { $0.segments = 0 }, { $0.segments = 5 }, { $0.maximumRestarts = -1 }, { $0.maximumBytes = -1 },
      { $0.sha256 = "12" }, { $0.sha512 = String(repeating: "z", count: 128) },
    ]
    for edit in edits {
      #expect(
        await Self.words { try await origin.download(to: "/f", in: SimulatedFiles(), edit) } == "request/invalid_option"
      )
    }
    #expect(origin.requests.isEmpty)
  }
}
