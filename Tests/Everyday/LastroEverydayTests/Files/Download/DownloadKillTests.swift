// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Downloads that are killed or lose power", .ownThread, .timeLimit(.minutes(15)))
struct DownloadKillTests {
  private static let syncBytes: Int64 = 2_048
  private static let chunk = 512

  /// Runs a download that is killed at random file operations, again and again, until a process completes it.
  ///
  /// - Returns: the number of kills, and the problem that was found, if any.
  private static func run(seed: UInt64) async -> (kills: Int, problem: String?) {
    var generator = SeededGenerator(seed: seed)
    let replaces = Bool.random(using: &generator)
    let origin = RangeOrigin(bytes: Int.random(in: 0...12_000, using: &generator), chunk: chunk)
    let files = SimulatedFiles(seed: seed)
    let old = Data("what was there before".utf8)
    if replaces { files.put(old, at: "/d/file") }
    var kills = 0
    runs: while true {
      let limit = kills < 12 ? Int.random(in: 1...60, using: &generator) : nil
      files.restart(afterLossOfPower: kills > 0 && Bool.random(using: &generator), killedAt: limit)
      let isWhole = files.content("/d/file") == origin.content
      if let found = files.content("/d/file"), !isWhole, !(replaces && found == old) {
        return (kills, "seed \(seed): after \(kills) kills the file is wrong")
      }
      // The download was complete, and the process was killed before it reported that.
      if isWhole, !files.names.contains("/d/file.part.json") { break runs }
      do {
        let file = try await origin.download(to: "/d/file", in: files) {
          $0.bytesPerSync = syncBytes
          $0.replaces = replaces
        }
        guard file.length == origin.content.count, files.content("/d/file") == origin.content else {
          return (kills, "seed \(seed): a wrong file was reported as complete")
        }
        break runs
      } catch {
        if limit == nil { return (kills, "seed \(seed): \(error)") }
        kills += 1
      }
    }
    files.restart(afterLossOfPower: true)
    guard files.content("/d/file") == origin.content else {
      return (kills, "seed \(seed): a loss of power took the file")
    }
    // A process that is killed costs only the bytes received since its last sync.
    let most = origin.content.count + kills * (Int(syncBytes) + 2 * chunk)
    guard origin.sent > most else { return (kills, nil) }
    return (kills, "seed \(seed): \(origin.sent) bytes came in \(kills) kills, \(most) are allowed")
  }

  @Test(
    "After over a thousand kills at random points no file is wrong, and only bytes since the last sync are lost")
  func kills() async {
    var kills = 0
    for seed in SeedStride.some(of: Array(0..<700 as Range<UInt64>)) {
      let (count, problem) = await Self.run(seed: seed)
      kills += count
      if let problem { Issue.record("\(problem)") }
    }
    #expect(kills > 1_000 / SeedStride.value)
  }

  @Test("Each operation of a new or resumed download may be the last", arguments: [false, true])
  func eachOperation(replaces: Bool) async throws {
    let origin = RangeOrigin(bytes: 5_000, chunk: Self.chunk)
    for operation in SeedStride.some(of: Array(1...200)) {
      for losesPower in [false, true] {
        let files = SimulatedFiles(seed: UInt64(operation), killedAt: operation)
        if replaces { files.put(Data("old".utf8), at: "/d/file") }
        @Sendable func edit(_ options: inout DownloadOptions) {
          options.bytesPerSync = Self.syncBytes
          options.replaces = true
        }
        let first = try? await origin.download(to: "/d/file", in: files, edit)
        files.restart(afterLossOfPower: losesPower)
        if first != nil { #expect(files.content("/d/file") == origin.content, "operation \(operation)") }
        try await origin.download(to: "/d/file", in: files, edit)
        #expect(files.content("/d/file") == origin.content, "operation \(operation), \(losesPower)")
        #expect(files.names == ["/d/file"], "operation \(operation), \(losesPower)")
      }
    }
  }

  @Test("A process that is killed in the first seconds leaves its first bytes, even after a loss of power")
  func killedEarly() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.answer { request, origin in origin.serve(request, hangs: 6_000) }])
    let files = SimulatedFiles()
    let task = Task { try await origin.download(to: "/d/file", in: files) }
    #expect(await eventually { origin.sent == 6_000 })
    files.restart(afterLossOfPower: true)
    task.cancel()
    _ = try? await task.value
    let file = try await origin.download(to: "/d/file", in: files)
    // The test's clock has not moved: only the first chunk was synced.
    #expect(file.resumedFrom == 1_000 && file.requests == 1)
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }

  /// Returns the files of a process that was killed after it named its file and before it ended.
  private static func placed(by origin: RangeOrigin) async throws -> SimulatedFiles {
    let plain = SimulatedFiles()
    try await origin.download(to: "/d/file", in: plain)
    for seed in 0..<20 as Range<UInt64> {
      // The last operation removes the state. It may or may not be performed before the kill.
      let files = SimulatedFiles(seed: seed, killedAt: plain.operations)
      _ = try? await origin.download(to: "/d/file", in: files)
      files.restart(afterLossOfPower: false)
      if files.names == ["/d/file", "/d/file.part.json"] { return files }
    }
    throw TestFailure("no seed kills it before the state is gone")
  }

  private static func proven(_ content: Data) throws -> Digest {
    Digest(algorithm: .sha256, value: try MessageDigest(of: content))
  }

  @Test("A download killed between placing and cleaning up is complete without a request")
  func placed() async throws {
    let origin = RangeOrigin(bytes: 3_000)
    let digest = try Self.proven(origin.content)
    origin.add([.reprDigest: DigestField.field(digest)])
    let files = try await Self.placed(by: origin)
    let asked = origin.requests.count
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(origin.requests.count == asked)
    #expect(file.requests == 0 && file.resumedFrom == 3_000 && file.length == 3_000 && files.names == ["/d/file"])
    #expect(file.verified == ["SHA-256 \(digest.value)"])
  }

  @Test(
    "A previously placed file is not reused with another digest, after a change, or if resuming is not allowed",
    arguments: ["digest", "written", "anew", "limit"], [false, true])
  func placedOther(what: String, replaces: Bool) async throws {
    let origin = RangeOrigin(bytes: 3_000)
    origin.add([.reprDigest: DigestField.field(try Self.proven(origin.content))])
    let files = try await Self.placed(by: origin)
    if what == "digest" || what == "limit" { origin.replace(by: RangeOrigin(bytes: 2_000).content) }
    if what == "written" { try files.open("/d/file", .keeping).write(Data("other".utf8), at: 5) }
    let (asked, before) = (origin.requests.count, files.content("/d/file"))
    let digest = try Self.proven(origin.content).value.hexadecimal
    let download = {
      try await origin.download(to: "/d/file", in: files) {
        $0.replaces = replaces
        if what == "digest" { $0.sha256 = digest }
        $0.resumes = what != "anew"
        $0.maximumBytes = what == "limit" ? 2_999 : nil
      }
    }
    guard replaces else {
      let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await download() }
      #expect(error?.words == "request/file_exists" && origin.requests.count == asked)
      #expect(files.content("/d/file") == before)
      return
    }
    let file = try await download()
    #expect(file.requests == 1 && file.resumedFrom == 0)
    #expect(files.content("/d/file") == origin.content && files.names == ["/d/file"])
  }
}
