// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro
import LastroSupport
import Testing

@testable import LastroCurl

/// Key log lines, written to pipes that are not read for a while.
@Suite("Trust: writing the key log", .timeLimit(.minutes(15)))
struct KeyLogFileTests {
  /// A pipe whose writing end blocks, as a file on a network file system may.
  private struct Pipe {
    let reading: Int32
    let writing: Int32
    /// The number of bytes that fill the pipe (pipe(7)).
    static let capacity = 65_536

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }

    /// Reads until the writing end is closed, and returns the text.
    func text() async -> String {
      await withCheckedContinuation { continuation in
        let code = DetachedThread.start {
          var bytes: [UInt8] = []
          var buffer = [UInt8](repeating: 0, count: 65_536)
          while case let count = read(reading, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
          close(reading)
          continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
        }
        if code != 0 { continuation.resume(returning: "no thread: \(code)") }
      }
    }
  }

  @Test("Appending does not wait for a write that blocks, and lines keep their order")
  func blockedWrite() async throws {
    let pipe = try Pipe()
    let lines = (0..<Pipe.capacity / 50).map { "CLIENT_RANDOM \($0) \(String(repeating: "a", count: 60))" }
    do {
      let log = KeyLogFile(descriptor: pipe.writing)
      for line in lines { log.append(line) }
    }
    #expect(await pipe.text() == lines.map { "\($0)\n" }.joined())
  }

  @Test("Lines beyond the limit are dropped, and a comment counts them")
  func dropped() async throws {
    let pipe = try Pipe()
    let line = String(repeating: "a", count: 1_023)
    let count = 4 * KeyLogFile.maximumWaitingBytes / 1_024
    do {
      let log = KeyLogFile(descriptor: pipe.writing)
      for _ in 0..<count { log.append(line) }
    }
    let lines = await pipe.text().split(separator: "\n")
    let kept = lines.count { $0 == line }
    #expect(kept < count && kept >= count / 4)
    let comments = lines.filter { $0.hasPrefix("# ") && $0.hasSuffix(" lines were dropped") }
    #expect(kept + comments.count == lines.count)
    #expect(comments.compactMap { Int($0.split(separator: " ")[1]) }.reduce(0, +) == count - kept)
  }

  @Test("A pipe whose reader is gone ends neither the process nor the log")
  func closedPipe() async throws {
    let pipe = try Pipe()
    close(pipe.reading)
    let log = KeyLogFile(descriptor: pipe.writing)
    log.append("CLIENT_RANDOM")
    await KeyLogFile.flush()
    log.append("CLIENT_RANDOM")
    // The writer serves other files as before.
    let other = try Pipe()
    do {
      let log = KeyLogFile(descriptor: other.writing)
      log.append("CLIENT_RANDOM 2")
    }
    #expect(await other.text() == "CLIENT_RANDOM 2\n")
  }
}
