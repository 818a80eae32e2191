// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Segments", .timeLimit(.minutes(15)))
struct SegmentTests {
  typealias ByteRange = DownloadRecord.ByteRange

  @Test("The missing ranges are divided, and no segment is smaller than the minimum")
  func plan() {
    let whole = SegmentPlan(total: 100, done: [], count: 4, least: 10)
    #expect(whole.segments.map(\.rest).reduce(0, +) == 100 && whole.segments.count == 4)
    #expect(SegmentPlan(total: 100, done: [], count: 4, least: 40).segments.count == 2)
    #expect(SegmentPlan(total: 19, done: [], count: 4, least: 10).segments.count == 1)
    #expect(SegmentPlan(total: 0, done: [], count: 4, least: 10).segments.isEmpty)
    let gaps = SegmentPlan(total: 100, done: [.init(from: 50, to: 60), .init(from: 0, to: 20)], count: 2, least: 10)
    #expect(gaps.segments == [.init(next: 20, end: 50), .init(next: 60, end: 100)])
    #expect(gaps.count == 30)
  }

  @Test("More gaps than segments wait, in order, until a segment is complete")
  func waitingGaps() {
    let done = [ByteRange(from: 10, to: 20), .init(from: 30, to: 40), .init(from: 50, to: 60)]
    var plan = SegmentPlan(total: 70, done: done, count: 2, least: 100)
    #expect(plan.segments == [.init(next: 0, end: 10), .init(next: 20, end: 30)])
    var refills = [plan.refill(0)]
    plan.recordWritten(10, of: 1)
    refills.append(plan.refill(1))
    #expect(plan.segments == [.init(next: 0, end: 10), .init(next: 40, end: 50)])
    plan.recordWritten(10, of: 0)
    refills.append(plan.refill(0))
    #expect(plan.segments == [.init(next: 60, end: 70), .init(next: 40, end: 50)])
    plan.recordWritten(10, of: 0)
    plan.recordWritten(10, of: 1)
    refills += [plan.refill(0), plan.refill(1)]
    #expect(refills == [false, true, true, false, false] && plan.isComplete)
  }

  @Test("Whatever is on disk, the segments complete the file, request no byte twice, and are never too many")
  func model() {
    for seed in 0..<500 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let total = Int64.random(in: 0...2_000, using: &generator)
      var taken = [Int](repeating: 0, count: Int(total))
      var done: [ByteRange] = []
      for _ in 0..<Int.random(in: 0...6, using: &generator) {
        let from = Int64.random(in: 0...total, using: &generator)
        done.append(.init(from: from, to: min(total, from + Int64.random(in: 0...200, using: &generator))))
      }
      for range in done {
        for byte in range.from..<range.to { taken[Int(byte)] = 1 }
      }
      let most = Int.random(in: 1...4, using: &generator)
      var plan = SegmentPlan(total: total, done: done, count: most, least: 16)
      while let index = plan.segments.indices.filter({ plan.segments[$0].rest > 0 }).randomElement(using: &generator) {
        let segment = plan.segments[index]
        let count = Int64.random(in: 1...64, using: &generator)
        for byte in segment.next..<min(segment.end, segment.next + count) { taken[Int(byte)] += 1 }
        plan.recordWritten(count, of: index)
        if plan.segments[index].rest == 0 { _ = plan.refill(index) }
        #expect(zip(plan.done, plan.done.dropFirst()).allSatisfy { $0.to < $1.from })
        #expect(plan.segments.count <= most)
      }
      #expect(taken.allSatisfy { $0 == 1 } && plan.isComplete && plan.count == total)
    }
  }

  private static func segmented(_ count: Int) -> (inout DownloadOptions) -> Void {
    { options in
      options.segments = count
      options.leastSegmentBytes = 1_000
      options.bytesPerSync = 2_000
    }
  }

  @Test("Segments arrive concurrently, each on condition that nothing changed", arguments: [2, 3, 4])
  func parallel(count: Int) async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100)
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files, Self.segmented(count))
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
    #expect(file.segments == count && file.resumedFrom == 0)
    #expect(origin.requests.first?.head.headerFields[.range] == "bytes=0-")
    #expect(origin.requests.dropFirst().allSatisfy { $0.head.headerFields[.ifRange] == "\"v1\"" })
    #expect(origin.requests.count >= count && file.requests == origin.requests.count)
  }

  @Test("The requests of segments that resume a download are counted")
  func countOfRequests() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100, [.cut(after: 6_000)])
    let files = SimulatedFiles()
    await #expect(throws: (any Error).self) {
      try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
    }
    let before = origin.requests.count
    let file = try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    #expect(file.requests == origin.requests.count - before && file.requests >= 3 && file.resumedFrom == 6_000)
  }

  @Test("A single segment is used without proof that ranges are served, and for small files")
  func single() async throws {
    for (fields, bytes) in [(["ETag": "W/\"v1\""], 20_000), (["ETag": ""], 20_000), ([:], 3_999)]
      as [([String: String], Int)]
    {
      let edit: @Sendable (inout HTTPResponse) -> Void = { head in
        for (name, value) in fields { HTTPField.Name(name).map { head.headerFields[$0] = value.isEmpty ? nil : value } }
      }
      let origin = RangeOrigin(bytes: bytes, [.answer { request, origin in origin.serve(request, edit: edit) }])
      let files = SimulatedFiles()
      let file = try await origin.download(to: "/d/file", in: files, Self.segmented(4))
      #expect(files.content("/d/file") == origin.content && file.segments == 1 && file.requests == 1)
    }
    // A server without ranges, and an empty file.
    let whole = RangeOrigin(
      bytes: 20_000,
      [
        .answer { request, origin in
          var request = request
          request.head.headerFields[.range] = nil
          return origin.serve(request)
        }
      ])
    for origin in [whole, RangeOrigin(bytes: 0)] {
      let files = SimulatedFiles()
      #expect(try await origin.download(to: "/d/file", in: files, Self.segmented(4)).segments == 1)
      #expect(files.content("/d/file") == origin.content)
    }
  }

  @Test("A lost segment is resumed, and a killed process leaves all synced bytes")
  func losses() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100, [.cut(after: 300), .cut(after: 1_500), .cut(after: 100)])
    let files = SimulatedFiles()
    _ = try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    #expect(files.content("/d/file") == origin.content)
    for seed in SeedStride.some(of: Array(0..<60 as Range<UInt64>)) {
      var generator = SeededGenerator(seed: seed)
      let origin = RangeOrigin(bytes: 20_000, chunk: 100)
      let files = SimulatedFiles(seed: seed)
      for kill in 0..<6 {
        files.restart(
          afterLossOfPower: kill > 0 && Bool.random(using: &generator),
          killedAt: kill == 5 ? nil : Int.random(in: 1...250, using: &generator))
        let found = files.content("/d/file")
        #expect(found == nil || found == origin.content, "seed \(seed)")
        if found != nil { break }
        // One segment resumes the parts that several segments left, and several segments resume the part that one left.
        _ = try? await origin.download(
          to: "/d/file", in: files, Self.segmented(Int.random(in: 1...4, using: &generator)))
      }
      if files.content("/d/file") == nil {
        files.restart(afterLossOfPower: false)
        _ = try await origin.download(to: "/d/file", in: files, Self.segmented(2))
      }
      #expect(files.content("/d/file") == origin.content, "seed \(seed)")
    }
  }

  @Test("A process that is killed in the first seconds leaves the first bytes of its segments")
  func killedEarly() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100)
    origin.answerRanges(by: .answer { request, origin in origin.serve(request, hangs: 300) })
    let files = SimulatedFiles()
    let options: @Sendable (inout DownloadOptions) -> Void = { ($0.segments, $0.leastSegmentBytes) = (2, 1_000) }
    let task = Task { try await origin.download(to: "/d/file", in: files, options) }
    #expect(await eventually { origin.sent == 600 })
    files.restart(afterLossOfPower: true)
    task.cancel()
    _ = try? await task.value
    origin.answerRanges(by: nil)
    let file = try await origin.download(to: "/d/file", in: files, options)
    #expect(file.resumedFrom >= 100 && files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  @Test("A changed representation ends all segments and arrives in one")
  func changed() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100)
    let other = RangeOrigin(bytes: 15_000).content
    origin.script(
      .answer { request, origin in
        let answer = origin.serve(request)
        origin.change(to: other, tag: "\"v2\"")
        return answer
      })
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    #expect(files.content("/d/file") == other && file.restarts == 1 && file.segments == 1)
  }

  @Test("A disk without room for the whole file is reported before segments arrive")
  func fullDisk() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100)
    let files = SimulatedFiles(capacity: 10_000)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    }
    #expect(error?.words == "response/disk_full" && origin.sent == 0)
    #expect(files.names.isEmpty)
  }

  @Test("If the rest does not fit, the earlier part stays and takes no more space")
  func fullDiskForTheRest() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100, [.cut(after: 6_000)])
    let files = SimulatedFiles(capacity: 10_000)
    await #expect(throws: (any Error).self) {
      try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) }
    }
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    }
    #expect(error?.words == "response/disk_full" && origin.requests.count == 1)
    #expect(files.content("/d/file.part") == origin.content.prefix(6_000))
    files.state.withLock { $0.capacity = .max }
    let file = try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    #expect(file.resumedFrom == 6_000 && files.content("/d/file") == origin.content)
  }

  @Test("An unusable part ends all segments, and the file is downloaded as a whole")
  func misfit() async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100)
    let wrong = RangeOrigin.Deed.answer { request, origin in
      origin.serve(request) { $0.headerFields[.contentRange] = "bytes 1-2/20000" }
    }
    origin.script(.serve, wrong, wrong, wrong, wrong, wrong, wrong)
    let files = SimulatedFiles()
    let file = try await origin.download(to: "/d/file", in: files, Self.segmented(2))
    #expect(file.segments == 1 && origin.requests.count <= 4)
    #expect(origin.requests.last?.head.headerFields[.range] == nil)
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  @Test("Each segment is compared with its Content-Digest, and damaged ones are discarded", arguments: [true, false])
  func contentDigest(isRight: Bool) async throws {
    let origin = RangeOrigin(bytes: 20_000, chunk: 100)
    origin.script(.serve)
    for _ in 0..<20 {
      origin.script(
        .answer { request, origin in
          origin.serve(request) { head in
            guard let range = head.headerFields[.contentRange].flatMap(ContentRange.init)?.bytes,
              let digest = try? MessageDigest(
                of: origin.content[Int(range.lowerBound)..<Int(range.upperBound) - (isRight ? 0 : 1)])
            else { return }
            head.headerFields[.contentDigest] = DigestField.field(Digest(algorithm: .sha256, value: digest))
          }
        })
    }
    let files = SimulatedFiles()
    guard !isRight else {
      _ = try await origin.download(to: "/d/file", in: files, Self.segmented(3))
      #expect(files.content("/d/file") == origin.content)
      return
    }
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await origin.download(to: "/d/file", in: files, Self.segmented(3))
    }
    #expect(error?.words == "response/digest_mismatch" && files.names.isEmpty)
  }

  @Test("After a power loss at any operation among segmented downloads, no zeros are taken for data")
  func severalOneSeveral() async throws {
    let origin = RangeOrigin(bytes: 12_000, chunk: 1_000)
    let named: (inout DownloadOptions) -> Void = { $0.identity = "f" }
    for operation in SeedStride.some(of: Array(10...40)) {
      let files = SimulatedFiles(seed: UInt64(operation))
      try Self.leaveGap(of: origin, in: files)
      files.restart(afterLossOfPower: false, killedAt: operation)
      _ = try? await origin.download(to: "/d/file", in: files, named)
      files.restart(afterLossOfPower: true)
      if files.content("/d/file") == nil {
        try await origin.download(to: "/d/file", in: files) {
          named(&$0)
          ($0.segments, $0.leastSegmentBytes) = (3, 1_000)
        }
      }
      #expect(files.content("/d/file") == origin.content, "operation \(operation)")
    }
  }

  /// Leaves the parts that several segments would: the first 2,000 bytes, and those from 5,000 to 9,000.
  private static func leaveGap(of origin: RangeOrigin, in files: SimulatedFiles) throws {
    let source = try DownloadSource(ResourceRequest(url: "https://example.org/"), RequestOptions(), identity: "f").hash
    let part = try PartFile("/d/file", source: source, replaces: false, in: files)
    defer { part.release() }
    try part.reserve(Int64(origin.content.count))
    let done = [ByteRange(from: 0, to: 2_000), ByteRange(from: 5_000, to: 9_000)]
    for range in done { try part.write(origin.content[Int(range.from)..<Int(range.to)], at: range.from) }
    try part.sync()
    let fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "\(origin.content.count)"]
    let representation = RangeAnswer(HTTPResponse(status: .ok, headerFields: fields)).representation
    try part.save(
      DownloadRecord(
        url: "https://example.org/", source: source, representation: representation, done: done, file: part.identity))
  }

  @Test("A sparse file of 5 GiB is resumed near its end, at offsets beyond 32 bits")
  func large() async throws {
    let total: Int64 = 5 << 30
    let plan = SegmentPlan(total: total, done: [.init(from: 0, to: total - 400)], count: 4, least: 100)
    #expect(plan.segments.map(\.rest) == [100, 100, 100, 100] && plan.segments.map(\.end).max() == total)
    let (folder, start) = (try TemporaryFolder(), total - 3_000)
    let request = try ResourceRequest(url: "https://example.org/")
    let source = try DownloadSource(request, RequestOptions(), identity: nil).hash
    let head = HTTPResponse(status: .ok, headerFields: [.eTag: "\"v1\"", .contentLength: "\(total)"])
    do {
      let part = try PartFile(folder.file("f"), source: source, replaces: false, in: SystemFiles())
      defer { part.release() }
      try part.cut(to: start)
      let record = DownloadRecord(
        url: "", source: source, representation: RangeAnswer(head).representation, done: [.init(from: 0, to: start)],
        file: part.identity)
      try part.save(record)
    }
    let asked = Lock<[String]>([])
    let transport = ScriptedTransport { (request, _) throws(TransportError) in
      let range = request.head.headerFields[.range] ?? ""
      asked.withLock { $0.append(range) }
      let from = Int64(range.dropFirst("bytes=".count).dropLast()) ?? 0
      // The response covers less than the requested range, so that a second part is needed.
      let end = min(from + 2_000, total)
      let fields: HTTPFields = [.contentRange: "bytes \(from)-\(end - 1)/\(total)", .eTag: "\"v1\""]
      return .answer(206, fields: fields, body: String(repeating: "x", count: Int(end - from)))
    }
    let file = try await TransportNetworkStack(transport).download(
      RawHTTPResource.raw(request), to: folder.file("f"))
    #expect(file.length == total && file.resumedFrom == start)
    #expect(asked.withLock { $0 } == ["bytes=\(start)-", "bytes=\(start + 2_000)-"])
    let whole = try SystemFiles().open(folder.file("f"), .reading)
    #expect(try whole.status().length == total)
    #expect(try whole.read(upTo: 5_000, at: start - 1) == Data([0]) + Data(repeating: 0x78, count: 3_000))
  }
}
